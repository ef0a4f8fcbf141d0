"""`corpus tokenize KEY`: the snapshot of a token set, with its checks; its version first, if it is not published."""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

from corpus_assets.commands.build import (
    add_machine_options,
    build,
    open_engine,
    run_layer,
    take_machine_options,
)
from corpus_assets.commands.builder import opened
from corpus_assets.plans import yanking
from corpus_assets.plans.for_people import plural, share
from corpus_assets.plans.pinned import Build, load_version
from corpus_assets.plans.snapshot import last_snapshot
from corpus_assets.plans.token_build import load_checked, open_build
from formats.layout import Layout
from formats.naming import TokensKey
from formats.snapshot.manifest import Snapshot

ASSETS = ("token_shards", "snapshot")
"""What is keyed by token set, in one run: nothing comes between."""


def add_parser(subparsers: Any) -> None:
    """Add `tokenize` to the command line."""
    parser = subparsers.add_parser("tokenize", help="make the snapshot of a token set: tokenize, pack, check")
    parser.set_defaults(run=run)
    parser.add_argument("tokens", metavar="KEY", help="<dataset>.<version>.<tokens>, such as starter.v1.bpe-512")
    add_machine_options(parser)
    parser.add_argument(
        yanking.FORCE, action="store_true", help="make tokens of a version although it is yanked, and say so"
    )
    parser.add_argument("--json", action="store_true", help="print the snapshot's id, folder and counts as JSON")


def run(args: argparse.Namespace) -> int:
    """0: made, every check passed; 1: a run or check failed. Raises ConfigError before any work."""
    key = TokensKey.parse(args.tokens)
    take_machine_options(args)
    if args.allow_yanked:
        os.environ[yanking.ALLOWED] = "1"  # for the assets
    yanking.hold_not_yanked(args.layout, key.version, allowed=args.allow_yanked)
    if not args.json:
        return tokenize(args.layout, key, verbose=args.verbose)
    with redirect_stdout(sys.stderr):  # progress
        failed = tokenize(args.layout, key, verbose=args.verbose)
    if not failed:
        made = last_snapshot(args.layout, key)
        value = {"snapshot_id": made.snapshot_id, "folder": str(made.folder), "counts": made.document["counts"]}
        print(json.dumps(value, indent=2, ensure_ascii=False))
    return failed


def tokenize(layout: Layout, key: TokensKey, *, verbose: bool = False) -> int:
    """Make the snapshot with progress; its version is built first where it is not published."""
    load_checked(layout, key)  # what a person has to mend stops here, before any work
    version = load_version(layout, key.version)
    if not layout.lock(key.version).exists() and (failed := build(layout, key.version, verbose=verbose)):
        return failed
    engine = open_engine(layout)
    tokens = open_build(layout, engine, key)
    began = time.monotonic()
    with opened(layout, verbose=verbose) as (builder, checks):
        from corpus_assets.commands.unchanged import UnchangedTokens

        unchanged = UnchangedTokens(Build(layout, engine), version, builder.instance, checks, tokens=tokens)
        if not unchanged.observed():
            builder.observe("token_config")
        print(f"tokens: {', '.join(ASSETS)}")
        stopped = run_layer(builder, unchanged, [str(key)], ASSETS)
        if stopped or not builder.store_too(str(key), "stored_snapshot"):
            print(f"{key} stopped; mend what is named above and run again", file=sys.stderr)
            return 1
    builder.tell_failed(str(key))
    made = last_snapshot(layout, key)
    tokens_made = made.document["counts"]["tokens"]
    print(f"{key} has {tokens_made:,} tokens, in {time.monotonic() - began:.1f} s: {made.folder}")
    print(*packing_of(made), made.snapshot_id, sep="\n")
    return 0


def packing_of(made: Snapshot) -> Iterator[str]:
    """How the documents fit into the sequences, in a line; a second one where that is mostly padding."""
    counts = made.document["counts"]
    cut, padding, places = counts["cut_documents"], counts["padding"], counts["padding"] + counts["tokens"]
    of_places = f"{padding:,} of {plural(places, 'place')} ({share(padding, places)})"
    yield f"cut: {cut:,} of {plural(counts['documents'], 'document')}; padding: {of_places}"
    if 2 * padding > places:
        less = "a shorter seq_len" if made.document["packing"] == "concat" else "a shorter seq_len or packing: concat"
        yield f"note: more than half of the snapshot is padding; {less} leaves less, larger shard_tokens may too"
