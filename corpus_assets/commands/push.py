"""`corpus push KEY`: publish a version or a snapshot in the object store, too."""

import argparse
import json
import sys
from typing import Any

from corpus_assets.commands.words import counted
from corpus_assets.commands.yank import tell
from corpus_assets.plans import yanking
from corpus_assets.plans.for_people import num_bytes
from corpus_assets.plans.push import push
from resources.remote.address import VARIABLE, named
from resources.remote.s3 import S3Store


def add_parser(subparsers: Any) -> None:
    """Add `push` to the command line."""
    parser = subparsers.add_parser("push", help="publish a version or a snapshot in an object store, too")
    parser.set_defaults(run=run)
    parser.add_argument(
        "key",
        metavar="KEY",
        help="a version, such as starter.v1; or a snapshot: its id (sha256:…), or the token set it was made of",
    )
    add_store_option(parser)
    parser.add_argument(
        "--replace-unfinished",
        action="store_true",
        help="remove what a killed publisher of other bytes left there under this name, and was never published",
    )
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def add_store_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help=f"s3://BUCKET/PREFIX (default: {VARIABLE})")


def run(args: argparse.Namespace) -> int:
    """0: it is published there. Raises as `push` does."""
    store = S3Store(named(args.store))
    done = push(store, args.layout, args.key, replace_unfinished=args.replace_unfinished, say=progress("put"))
    tell(yanking.of_named(args.layout, done.of))
    if args.json:
        print(json.dumps({**vars(done), "store": store.address.url}, indent=2))
        return 0
    sent = f"{counted(done.put, 'file')} put ({num_bytes(done.num_bytes)})"
    print(f"{done.of} is published in {store.address.url}: {sent}, {done.found:,} there before")
    if done.kept_evidence:
        print("note: the evidence there is that of its publication; the one here was made again since, and stays here")
    return 0


def progress(verb: str) -> Any:
    """Says each file on a terminal; nobody elsewhere."""
    return (lambda name: print(f"{verb} {name}", file=sys.stderr)) if sys.stderr.isatty() else None
