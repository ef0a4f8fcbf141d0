"""`corpus export NAME --to huggingface|megatron|mds OUT`: a version as a data set with its card, or a snapshot in the
form of another trainer.
"""

import argparse
import json
from dataclasses import asdict
from typing import Any

from corpus_assets.commands.new_files import local_path
from corpus_assets.commands.yank import tell_or_refuse
from corpus_assets.plans import named_snapshot, yanking
from corpus_assets.plans.for_people import plural
from formats import yank
from formats.errors import ConfigError
from formats.naming import VersionKey
from formats.snapshot import manifest
from formats.snapshot.manifest import SPLITS

OF_VERSIONS, OF_SNAPSHOTS = ("huggingface",), ("megatron", "mds")


def add_parser(subparsers: Any) -> None:
    """Add `export` to the command line."""
    parser = subparsers.add_parser(
        "export", help="a version as a Hugging Face data set with its card and Croissant; a snapshot as Megatron or MDS"
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "name", metavar="NAME", help=f"for huggingface <dataset>.<version>; for the others {named_snapshot.HELP}"
    )
    parser.add_argument("--to", required=True, choices=(*OF_VERSIONS, *OF_SNAPSHOTS), help="the form")
    parser.add_argument(
        "out",
        type=local_path,
        metavar="OUT",
        help="a new folder: of a version its rows by split and the pages about them, of a snapshot a data set a split "
        "and bucket",
    )
    parser.add_argument("--split", choices=SPLITS, help="only this one, of a snapshot (default: both)")
    parser.add_argument(yanking.FORCE, action="store_true", help="export it although it is yanked, and say so")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(args: argparse.Namespace) -> int:
    """0: written, whole. Raises ConfigError, also for what is yanked; CorruptDataError."""
    return _version(args) if args.to in OF_VERSIONS else _snapshot(args)


def _version(args: argparse.Namespace) -> int:
    from corpus_assets.plans.export_dataset import export_dataset

    if named_snapshot.is_meant(args.name):
        raise ConfigError(f"{args.name} is a snapshot; --to {args.to} takes a version, <dataset>.<version>")
    if args.split:
        raise ConfigError(f"--split is for snapshots; --to {args.to} writes every split to files of its own")
    key = VersionKey.parse(args.name)
    tell_or_refuse(yanking.of_version(args.layout, key), f"{key} is not exported", allowed=args.allow_yanked)
    files = export_dataset(args.layout, key, args.out)
    if args.json:
        print(json.dumps([asdict(one) for one in files], indent=2))
        return 0
    for split in dict.fromkeys(one.split for one in files):
        mine = [one for one in files if one.split == split]
        docs = plural(sum(one.num_docs for one in mine), "document")
        print(f"{args.out / mine[0].path.partition('/')[0]}  {split}: {docs} in {plural(len(mine), 'file')}")
    print(f"{args.out / 'README.md'}  the card; beside it the licences, the datasheet and Croissant")
    return 0


def _snapshot(args: argparse.Namespace) -> int:
    from corpus_assets.plans.export import export

    if not named_snapshot.is_meant(args.name) and "." in args.name:
        raise ConfigError(
            f"{args.name} is a version; --to {args.to} takes a snapshot: sha256:… or the token set it was made of, "
            f"<dataset>.<version>.<tokens>; make one with `corpus tokenize`"
        )
    snapshot = manifest.read(args.layout.root, named_snapshot.id_of(args.layout, args.name))
    record = yank.of_snapshot(args.layout.root, snapshot)
    tell_or_refuse(record, f"snapshot {snapshot.snapshot_id} is not exported", allowed=args.allow_yanked)
    done = export(snapshot, args.to, args.out, [args.split] if args.split else SPLITS, record)
    if args.json:
        print(json.dumps([asdict(one) for one in done], indent=2))
        return 0
    for one in done:
        thing = "document" if args.to == "megatron" else "sequence"
        print(f"{args.out / one.path}  {plural(one.samples, thing)}, {plural(one.tokens, 'token')}")
    return 0
