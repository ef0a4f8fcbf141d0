"""`corpus yank KEY`: mark a published version or a snapshot that nobody should take up any more; its bytes stay.

Commands that read what is marked say so by `tell`; those that hand it on refuse it by `tell_or_refuse`.
"""

import argparse
import sys
from typing import Any

from corpus_assets.plans import yanking
from formats import yank
from formats.errors import ConfigError
from formats.yank import Yank


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
    print("its bytes stay as they are; unless told to go on, no tokens and no exports are made of it, and the loader")
    print("refuses it")
    return 0


def tell(*records: Yank | None) -> None:
    """Say on stderr what is yanked of that which a command reads."""
    for one in dict.fromkeys(record for record in records if record is not None):
        print(f"note: {one}", file=sys.stderr)


def tell_or_refuse(record: Yank | None, what: str, *, allowed: bool) -> None:
    """Say it where that is `allowed`, else raise ConfigError: `what` a yanked thing is not handed on for."""
    if record is not None and not allowed:
        raise yank.refusal(record, what, yanking.FORCE)
    tell(record)
