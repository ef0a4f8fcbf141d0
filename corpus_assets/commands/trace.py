"""`corpus trace ID_OR_URL`: from a document back to its raw line, URL, file and ledger row, kept or not; and
`corpus trace --source|--domain|--prefix`: from there to every shard that holds some of it. Tokens of snapshots:
`trace_tokens`.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpus_assets.commands import trace_tokens
from corpus_assets.commands.trace_words import EXCERPT_CHARS, holdings_words, trace_words
from corpus_assets.plans import named_snapshot, tracing, tracing_back, yanking
from corpus_assets.plans.published_version import published_versions
from corpus_assets.plans.traced import Trace
from corpus_assets.plans.tracing_back import Holdings
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey


def add_parser(subparsers: Any) -> None:
    """Add `trace` to the command line."""
    parser = subparsers.add_parser(
        "trace", help="where a document came from and what became of it; or which shards hold a source or domain"
    )
    parser.set_defaults(run=run)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("target", nargs="?", metavar="ID_OR_URL", help="<source>:<k>, or the URL of a document")
    what.add_argument("--source", metavar="NAME", help="which shards hold documents of this source")
    what.add_argument("--domain", metavar="HOST", help="which shards hold documents of this host, or of one below it")
    what.add_argument("--prefix", metavar="URL", help="which shards hold documents whose URL begins so")
    what.add_argument("--shard", metavar="NAME", help="with --snapshot and --offset: the document of a token")
    parser.add_argument("--offset", type=int, metavar="N", help="which token of the shard, from 0")
    parser.add_argument("--snapshot", metavar=named_snapshot.METAVAR, help=f"to look in: {named_snapshot.HELP}")
    parser.add_argument("--snapshots", action="store_true", help="which rows of all snapshots hold what is asked for")
    parser.add_argument("--run", type=Path, dest="record", metavar="RECORD", help="and at which steps they were served")
    parser.add_argument("--version", metavar="VERSION", help="<dataset>.<version> (default: every published one)")
    parser.add_argument("--text", action="store_true", help=f"print the whole raw text, not {EXCERPT_CHARS} characters")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(args: argparse.Namespace) -> int:
    """0: found; 1: not found, with what was searched. Raises ConfigError, CorruptDataError."""
    if (args.target, args.source, args.domain, args.prefix, args.shard) == (None,) * 5 and args.offset is None:
        raise ConfigError("expected ID_OR_URL, --source, --domain, --prefix, or --shard with --snapshot and --offset")
    if trace_tokens.is_asked(args):
        return trace_tokens.run(args)
    keys = _versions(args.layout, args.version)
    if args.target is not None:
        result: Trace | Holdings = tracing.trace(args.layout, args.target, keys)
    elif args.source is not None:
        result = tracing_back.of_source(args.layout, args.source, keys)
    elif args.domain is not None:
        result = tracing_back.of_domain_name(args.layout, args.domain, keys)
    else:
        result = tracing_back.of_prefix(args.layout, args.prefix, keys)
    result.notes += [str(record) for key in keys if (record := yanking.of_version(args.layout, key))]
    if args.json:
        print(json.dumps({"found": result.found, **_as_json(result, args.text)}, indent=2, ensure_ascii=False))
    else:
        print("\n".join(trace_words(result, args.text) if isinstance(result, Trace) else holdings_words(result)))
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
