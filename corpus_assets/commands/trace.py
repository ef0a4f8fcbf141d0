"""`corpus trace ID_OR_URL`: from a document back to its raw line, URL, file and ledger row, kept or not; and
`corpus trace --source|--domain|--prefix`: from there to every shard that holds some of it.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from corpus_assets.plans import tracing, tracing_back
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.published_version import published_versions
from corpus_assets.plans.tracing import FetchedFile, LedgerSource, Trace, TracedDocument, TracedReject
from corpus_assets.plans.tracing_back import Holdings
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.reasons import Reason

EXCERPT_CHARS = 200
Line = tuple[str, str]


def add_parser(subparsers: Any) -> None:
    """Add `trace` to the command line."""
    parser = subparsers.add_parser(
        "trace", help="where a document came from and what became of it; or which shards hold a source or domain"
    )
    parser.set_defaults(run=run)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("target", nargs="?", metavar="ID_OR_URL", help="<source>:<k>, or the URL of a document")
    what.add_argument("--source", metavar="NAME", help="which shards hold documents of this source")
    what.add_argument("--domain", metavar="HOST", help="which shards hold documents of this host, or of one below it")
    what.add_argument("--prefix", metavar="URL", help="which shards hold documents whose URL begins so")
    parser.add_argument("--version", metavar="VERSION", help="<dataset>.<version> (default: every published one)")
    parser.add_argument("--text", action="store_true", help=f"print the whole raw text, not {EXCERPT_CHARS} characters")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(args: argparse.Namespace) -> int:
    """0: found; 1: not found, with what was searched. Raises ConfigError, CorruptDataError."""
    keys = _versions(args.layout, args.version)
    if args.target is not None:
        result: Trace | Holdings = tracing.trace(args.layout, args.target, keys)
    elif args.source is not None:
        result = tracing_back.of_source(args.layout, args.source, keys)
    elif args.domain is not None:
        result = tracing_back.of_domain_name(args.layout, args.domain, keys)
    else:
        result = tracing_back.of_prefix(args.layout, args.prefix, keys)
    if args.json:
        print(json.dumps({"found": result.found, **_as_json(result, args.text)}, indent=2, ensure_ascii=False))
    else:
        print("\n".join(_trace_words(result, args.text) if isinstance(result, Trace) else _holdings_words(result)))
    return 0 if result.found else 1


def _versions(layout: Layout, named: str | None) -> list[VersionKey]:
    keys = [VersionKey.parse(named)] if named else published_versions(layout)
    if not keys:
        raise ConfigError(f"no version is published below {layout.root}; build one with: corpus build VERSION")
    return keys


def _as_json(result: Trace | Holdings, whole_text: bool) -> dict[str, Any]:
    value = asdict(result)
    for document in value.get("documents", ()):
        if document["raw"] and not whole_text:
            document["raw"]["text"] = document["raw"]["text"][:EXCERPT_CHARS]
    return value


def plain(text: str) -> str:
    """Text from outside for a terminal: control characters as escapes, so that none of them acts."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def _lines(lines: Iterator[Line]) -> Iterator[str]:
    for name, words in lines:
        yield f"  {name:11} {plain(words)}".rstrip()


def _trace_words(result: Trace, whole_text: bool) -> Iterator[str]:
    for document in result.documents:
        fate = "kept" if document.verdict == Reason.KEPT else f"dropped: {document.verdict}"
        yield f"{document.version}  {document.id}  {fate}"
        yield from _lines(_document(document, whole_text))
    for reject in result.rejects:
        yield f"{reject.version}  a record of {reject.source_id}  rejected: {reject.reason}"
        yield from _lines(_reject(reject))
    if result.more:
        yield f"and {result.more:,} more documents; name a version with --version, or count them with --prefix"
    yield from _ending(result, result.target)


def _ending(result: Trace | Holdings, asked: str) -> Iterator[str]:
    yield from (f"note: {note}" for note in result.notes)
    if not result.found:
        yield f"{plain(asked)}: not found; searched:"
        yield from (f"  {searched}" for searched in result.searched)


def _document(document: TracedDocument, whole_text: bool) -> Iterator[Line]:
    yield "url", document.url
    if document.verdict != Reason.KEPT:
        yield "reason", document.reason
    for rule in document.rules_failed:
        if rule.reason != document.verdict:
            yield "fails too", f"{rule.reason}: {rule.words}"
    score = "" if document.lang_score is None else f" ({document.lang_score})"
    yield "document", f"doc_id {document.doc_id}, {document.n_chars:,} characters, {document.n_words:,} words"
    yield "language", f"{document.lang}{score}"
    if row := document.published:
        yield "shard", f"{row.shard} row {row.row:,} (row {row.row_of_version:,} of the version), split {row.split}"
        yield "", f"licence {row.license_spdx}, sha256 of the text {row.sha256}"
        yield "", f"sha256 of the shard {row.shard_sha256}"
    if keeper := document.keeper:
        jaccard = "equal text" if keeper.jaccard is None else f"Jaccard {keeper.jaccard}"
        lies = f"{keeper.shard} (row {keeper.row_of_version:,} of the version)" if keeper.shard else keeper.verdict
        yield "keeper", f"{keeper.id}, {jaccard}, {lies}"
        yield "", keeper.url
    if cluster := document.cluster:
        distance = f"weakest link {round(1 - cluster.largest_distance, 6)}"
        yield "cluster", f"of {cluster.root}: {cluster.size:,} documents, {cluster.keepers:,} kept, {distance}"
    if met := document.contamination:
        yield "eval item", f"{met.eval_set}:{met.eval_item}, characters {met.span_start:,} to {met.span_end:,}"
        if met.text is not None:
            yield "", f"“{_excerpt(met.text)}”"
    if document.pii and any(document.pii.values()):
        yield "PII", ", ".join(f"{kind} {n:,}" for kind, n in document.pii.items() if n)
    if raw := document.raw:
        yield "raw line", f"{raw.part} line {raw.line:,} (from 0), crawled {raw.fetched_at}"
        yield "raw text", raw.text if whole_text else _excerpt(raw.text)
    yield from _origin(document.file, document.ledger)


def _reject(reject: TracedReject) -> Iterator[Line]:
    yield "url", reject.url
    yield "reason", f"{reject.reason.replace('_', ' ')}, at position {reject.position:,} of its file"
    yield "listed in", reject.rejects_file
    yield from _origin(reject.file, reject.ledger)


def _origin(file: FetchedFile | None, row: LedgerSource) -> Iterator[Line]:
    if file:
        yield "file", f"{file.url} ({file.num_bytes:,} bytes)"
        yield "", f"sha256 {file.sha256}"
    yield "ledger row", f"{row.source_id}: {row.license_spdx}; retrieved {row.retrieved}; digest {row.digest}"
    yield "evidence", row.license_evidence
    yield "attribution", row.attribution


def _excerpt(text: str) -> str:
    """The beginning, on one line."""
    cut = " ".join(text[:EXCERPT_CHARS].split())
    return f"{cut} …" if len(text) > EXCERPT_CHARS else cut


def _holdings_words(result: Holdings) -> Iterator[str]:
    for holding in result.versions:
        yield f"{holding.version}  {plural(holding.documents, 'document')}, {holding.kept:,} kept"
        for shard in holding.shards:
            yield f"  {shard.shard}  {plural(shard.rows, 'row')} of {shard.source_id} ({shard.license_spdx})"
        for reason, n in holding.dropped.items():
            yield f"  dropped: {n:,} {reason}"
        for source, reasons in holding.rejects.items():
            yield from (f"  rejected: {plural(n, 'record')} of {source}, {reason}" for reason, n in reasons.items())
    yield from _ending(result, result.asked)
