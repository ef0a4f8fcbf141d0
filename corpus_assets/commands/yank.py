"""`corpus yank KEY`: mark a published version or a snapshot that nobody should take up any more; its bytes stay."""

import argparse
from typing import Any

from corpus_assets.plans import yanking
from formats.errors import ConfigError


def add_parser(subparsers: Any) -> None:
    """Add `yank` to the command line."""
    parser = subparsers.add_parser("yank", help="mark a published version or snapshot not to be used any more")
    parser.set_defaults(run=run)
    parser.add_argument(
        "key",
        metavar="KEY",
        help="a version, such as starter.v1; or a snapshot: its id (sha256:…), or the token set it was made of",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--reason", metavar="TEXT", help="why, in one line, for whoever meets it later")
    what.add_argument("--undo", action="store_true", help="take the mark away")


def run(args: argparse.Namespace) -> int:
    """0: done. Raises ConfigError for what is not published, or yanked already."""
    if args.undo:
        print(f"{yanking.take_away(args.layout, args.key)} is not yanked any more")
        return 0
    if not args.reason.strip():
        raise ConfigError("--reason is empty; say why, for whoever meets it later")
    print(yanking.set_mark(args.layout, args.key, args.reason))
    print("its bytes stay as they are; no tokens are made of it and the loader refuses it, unless told to go on")
    return 0
