"""`corpus pull KEY`: bring a published version or a snapshot from the object store into this root, verified."""

import argparse
import json
from typing import Any

from corpus_assets.commands.push import add_store_option, progress
from corpus_assets.commands.words import counted
from corpus_assets.commands.yank import tell
from corpus_assets.plans import yanking
from corpus_assets.plans.pull import pull
from resources.remote.address import named
from resources.remote.s3 import S3Store


def add_parser(subparsers: Any) -> None:
    """Add `pull` to the command line."""
    parser = subparsers.add_parser("pull", help="bring a version or a snapshot from an object store here, verified")
    parser.set_defaults(run=run)
    parser.add_argument(
        "key",
        metavar="KEY",
        help="a version, such as starter.v1; or a snapshot: its id (sha256:…), or the token set it was made of",
    )
    add_store_option(parser)
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def run(args: argparse.Namespace) -> int:
    """0: it is here. Raises as `pull` does."""
    store = S3Store(named(args.store))
    done = pull(store, args.layout, args.key, say=progress("fetched"))
    tell(yanking.of_named(args.layout, done.of))
    if args.json:
        print(json.dumps({**vars(done), "store": store.address.url}, indent=2))
        return 0
    fetched = counted(done.fetched, "file")
    print(f"{done.of} is here: {fetched} fetched from {store.address.url}, {done.found:,} here before")
    for words in done.taken_over:
        print(f"taken over: {words}")
    return 0
