"""Tokens of snapshots in `corpus trace`: `--snapshot ID --shard NAME --offset N` from a token to its document, and
`--snapshots`, `--snapshot ID` or `--run RECORD` with a document, source, domain or prefix back to rows and steps.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, replace

from corpus_assets.commands.trace_words import EXCERPT_CHARS, Line, document_lines, lines, plain
from corpus_assets.plans import named_snapshot, yanking
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.snapshot_corpus import snapshots_below
from corpus_assets.plans.token_trace import TokenTrace, trace_token
from corpus_assets.plans.token_trace_back import SnapshotHolding, SnapshotHoldings, Wanted, trace_back
from formats import run_record
from formats.errors import ConfigError
from formats.run_record import RunRecord

SHOWN_PIECES = 20
_TOKEN = "a token is asked for with --snapshot SNAPSHOT --shard NAME --offset N"


def is_asked(args: argparse.Namespace) -> bool:
    """Whether tokens are asked for, not the corpus."""
    return bool(args.shard is not None or args.offset is not None or args.snapshot or args.snapshots or args.record)


def run(args: argparse.Namespace) -> int:
    """0: found; 1: not found, with what was searched. Raises ConfigError, OrderError, CorruptDataError."""
    if args.version is not None:
        raise ConfigError("--version goes with the corpus; a snapshot is of one version, which it names")
    if args.shard is not None:
        return _token(args)
    if args.offset is not None:
        raise ConfigError(f"--shard is missing, without which --offset says nothing; {_TOKEN}")
    if args.snapshot and args.snapshots:
        raise ConfigError("--snapshot and --snapshots: expected one of them")
    record = run_record.read(args.record) if args.record else None
    searched = _snapshots(args, record)
    result = trace_back(args.layout, _wanted(args), searched, record)
    result.notes += [str(mark) for one in searched if (mark := yanking.of_snapshot(args.layout, one))]
    if args.json:
        print(json.dumps({"found": result.found, **asdict(result)}, indent=2, ensure_ascii=False))
    else:
        print("\n".join([*_holdings_words(result), *_hint(args, result)]))
    return 0 if result.found else 1


def _token(args: argparse.Namespace) -> int:
    missing = [f"--{name}" for name in ("snapshot", "offset") if getattr(args, name) is None]
    if missing:
        raise ConfigError(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; {_TOKEN}")
    if args.snapshots or args.record:
        raise ConfigError(f"--snapshots and --run do not go with --shard; {_TOKEN}")
    snapshot_id = named_snapshot.id_of(args.layout, args.snapshot)
    result = trace_token(args.layout, snapshot_id, args.shard, args.offset)
    if record := yanking.of_snapshot(args.layout, snapshot_id):
        result = replace(result, notes=(*result.notes, str(record)))
    if args.json:
        value = {"found": result.span is not None, **asdict(result), "crawl_date": result.crawl_date}
        if result.document and result.document.raw and not args.text:
            value["document"]["raw"]["text"] = result.document.raw.text[:EXCERPT_CHARS]
        print(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        print("\n".join(_token_words(result, args.text)))
    return 0 if result.span else 1


def _wanted(args: argparse.Namespace) -> Wanted:
    if args.target is not None:
        return Wanted.document(args.target)
    if args.source is not None:
        return Wanted.source(args.source)
    if args.domain is not None:
        return Wanted.domain(args.domain)
    return Wanted.prefix(args.prefix)


def _snapshots(args: argparse.Namespace, record: RunRecord | None) -> list[str]:
    if record is not None:
        named_snapshot.id_in_record(args.layout, record, args.record)
        asked = None if args.snapshot is None else named_snapshot.id_of(args.layout, args.snapshot)
        if args.snapshots or asked not in (None, record.snapshot_id):
            raise ConfigError(f"--run is of snapshot {plain(record.snapshot_id)}; leave --snapshot and --snapshots out")
        return [record.snapshot_id]
    if args.snapshot is not None:
        return [named_snapshot.id_of(args.layout, args.snapshot)]
    found = snapshots_below(args.layout)
    if not found:
        raise ConfigError(f"there is no snapshot below {args.layout.root}; make one, or name another --root")
    return found


def _token_words(result: TokenTrace, whole_text: bool) -> Iterator[str]:
    place = result.place
    yield f"snapshot {place.snapshot_id} of {result.version}"
    yield f"{place.shard} token {place.offset:,}: token {place.token_of_row:,} of row {place.row:,}"
    yield f"  which is row {place.bucket_row:,} of bucket {place.bucket}, split {place.split}"
    if span := result.span:
        yield f"{plain(span.id)}: its token {span.token:,}; here lie its tokens {span.first:,} to {span.end:,}"
        yield from lines(_chain(result, whole_text))
    yield from (f"note: {note}" for note in result.notes)


def _chain(result: TokenTrace, whole_text: bool) -> Iterator[Line]:
    if result.document is not None:
        yield "crawl date", result.crawl_date or "not known here"
        yield from document_lines(result.document, whole_text)
    elif result.ledger_row_digest is not None and result.span is not None:
        yield "ledger row", f"{result.span.source_id}; digest {result.ledger_row_digest}"


def _holdings_words(result: SnapshotHoldings) -> Iterator[str]:
    for holding in result.snapshots:
        held = f"{plural(holding.documents, 'document')}, {plural(holding.tokens, 'token')}"
        yield f"{holding.snapshot_id} of {holding.version}: {held} in {plural(len(holding.shards), 'shard')}"
        yield from _pieces(holding)
        yield from _steps(holding)
    yield from (f"note: {note}" for note in result.notes)
    if not result.found:
        yield f"{plain(result.asked)}: not found; searched:"
        yield from (f"  {searched}" for searched in result.searched)


def _hint(args: argparse.Namespace, result: SnapshotHoldings) -> Iterator[str]:
    """A document that was dropped is in no snapshot, and the corpus says why."""
    if args.target is not None and not result.found:
        yield f"hint: `corpus trace {plain(args.target)}` says what became of it: what was dropped is in no snapshot"


def _pieces(holding: SnapshotHolding) -> Iterator[str]:
    for piece in holding.listed[:SHOWN_PIECES]:
        many = f"rows {piece.first_row:,} to {piece.last_row:,}"
        rows = many if piece.last_row > piece.first_row else f"row {piece.first_row:,}"
        yield f"  {piece.shard} {rows}: {plain(piece.id)} tokens {piece.first:,} to {piece.end:,}"
    if more := holding.pieces - min(holding.pieces, SHOWN_PIECES):
        yield f"  and {plural(more, 'piece')} more; --json lists them"


def _steps(holding: SnapshotHolding) -> Iterator[str]:
    for row in holding.served or ():
        for one in row.servings:
            rank = "" if one.rank is None else f", rank {one.rank} of {one.dp_world}"
            yield f"  {row.shard} row {row.row:,}: step {one.step:,}{rank} (position {one.position:,})"
        if not row.servings:
            yield f"  {row.shard} row {row.row:,}: not served up to the saved state"
