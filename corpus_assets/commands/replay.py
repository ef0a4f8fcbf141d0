"""`corpus replay STATE --step S --rank R`: the sequences that a rank was served at a step, with their documents."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus_assets.commands.trace_words import plain
from corpus_assets.plans import named_snapshot
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.replay import NamedStep, replay
from formats import run_record
from formats.errors import ConfigError, OrderError


def add_parser(subparsers: Any) -> None:
    """Add `replay` to the command line."""
    parser = subparsers.add_parser("replay", help="what a rank was served at a step, from a run record or loader state")
    parser.set_defaults(run=run)
    parser.add_argument("state", type=Path, metavar="STATE", help="the run record, or the loader's state, as a file")
    parser.add_argument("--step", type=int, required=True, metavar="S", help="from 0")
    parser.add_argument("--rank", type=int, required=True, metavar="R", help="the data-parallel rank, from 0")
    parser.add_argument("--world", type=int, metavar="W", help="the number of ranks, where the record does not say it")
    parser.add_argument("--uneven", action="store_true", help="with --world: some ranks served one sequence more")
    parser.add_argument("--split", metavar="NAME", help="of a bare state (default: train)")
    parser.add_argument("--tokens", action="store_true", help="the token ids, too; reads and verifies the shards")
    parser.add_argument("--json", action="store_true", help="print the sequences as JSON")


def run(args: argparse.Namespace) -> int:
    """0: done. Raises OrderError for a state, step or rank that is not of the snapshot; CorruptDataError."""
    record = run_record.read(args.state)
    if args.split is not None:
        record = _of_split(record, args.split)
    if args.uneven and args.world is None:
        raise ConfigError("--uneven goes with --world")
    for name, number in (("step", args.step), ("rank", args.rank)):
        if number < 0:
            raise OrderError(f"--{name} is {number}, expected 0 or more: {name}s count from 0")
    named_snapshot.id_in_record(args.layout, record, args.state)
    step = replay(
        args.layout,
        record,
        args.step,
        args.rank,
        dp_world=args.world,
        uneven=args.uneven,
        tokens=args.tokens,
    )
    print(json.dumps(step.as_json(), indent=2, ensure_ascii=False) if args.json else "\n".join(_words(step)))
    return 0


def _of_split(record: run_record.RunRecord, split: str) -> run_record.RunRecord:
    if record.ranks and split != record.split:
        raise ConfigError(f"--split is {split}, expected {record.split}, which the run record says; leave it out")
    return run_record.RunRecord(record.state, record.ranks, split)


def _words(step: NamedStep) -> Iterator[str]:
    served, seq_len = step.served, step.served.snapshot.seq_len
    yield f"snapshot {served.snapshot.snapshot_id}"
    share = f"{plural(len(served.sequences), 'sequence')} of {seq_len:,} tokens"
    yield f"step {served.step:,}, rank {served.rank} of {served.ranks.dp_world}: {share}"
    for one in served.sequences:
        yield f"position {one.position:,}: row {one.row:,} of {one.bucket}; {one.shard} row {one.shard_row:,}"
        for piece in one.documents:
            name = step.names[piece.id]
            begins = f" (from its token {piece.first:,} on)" if piece.first else ""
            facts = "" if name.doc_id is None else f"  doc_id {name.doc_id}  {plain(name.url or '')}"
            yield f"  tokens {piece.begin:,} to {piece.end:,}  {plain(piece.id)}{begins}{facts}"
        if padding := seq_len - sum(piece.end - piece.begin for piece in one.documents):
            yield f"  {plural(padding, 'token')} of padding"
        if one.tokens is not None:
            yield f"  ids {' '.join(map(str, one.tokens.tolist()))}"
    yield from (f"note: {note}" for note in step.notes)
