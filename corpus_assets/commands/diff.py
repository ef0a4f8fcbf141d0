"""`corpus diff A B`: what differs between two versions, token sets or snapshots, from metadata, in seconds; with
`--documents` also which documents; with `--out` as a page with pictures.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpus_assets.commands.new_files import check_place
from corpus_assets.commands.trace_words import plain
from corpus_assets.commands.yank import tell
from corpus_assets.plans import differences_page, named_snapshot, yanking
from corpus_assets.plans.differences import Difference, Differences, compare
from corpus_assets.plans.differences_documents import documents_of_snapshots, documents_of_versions
from corpus_assets.plans.differences_facts import Facts, facts_of_snapshot, facts_of_version
from corpus_assets.plans.differences_scores import in_words
from corpus_assets.plans.published_version import PublishedVersion, open_published
from corpus_assets.plans.snapshot_corpus import corpus_of
from formats import durable, yank
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.snapshot import manifest
from formats.snapshot.manifest import Snapshot
from formats.yank import Yank

MAX_VALUE, MAX_DIGEST = 100, 16
"""Characters of a value that are shown to people; --json has all."""
SHOWN_EXAMPLES = 5


def add_parser(subparsers: Any) -> None:
    """Add `diff` to the command line."""
    parser = subparsers.add_parser("diff", help="what differs between two versions or snapshots, and why")
    parser.set_defaults(run=run)
    for name in ("left", "right"):
        parser.add_argument(
            name, metavar=name[0].upper(), help="<dataset>.<version>, <dataset>.<version>.<tokens>, or a snapshot's id"
        )
    parser.add_argument("--documents", action="store_true", help="compare the documents' indexes, too: reads them all")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write it as an HTML page with pictures")
    parser.add_argument("--json", action="store_true", help="print what differs as JSON")


def run(args: argparse.Namespace) -> int:
    """0: nothing differs; 1: something does. Raises ConfigError, CorruptDataError."""
    if args.out is not None:
        check_place(args.layout, args.out)
    result, (left, right) = compared(args.layout, args.left, args.right, documents=args.documents)
    if args.out is not None:
        durable.write_file(args.out.absolute(), differences_page.render(result, left, right).encode("utf-8"))
        print(f"{args.out}: the page", file=sys.stderr)
    if args.json:
        print(json.dumps({"same": result.same, **asdict(result)}, indent=2, ensure_ascii=False))
    else:
        print("\n".join(_words(result)))
    return 0 if result.same else 1


def differences(layout: Layout, left: str, right: str, *, documents: bool = False) -> Differences:
    """Compare what two names stand for. Raises ConfigError where they are of two kinds, or name nothing."""
    return compared(layout, left, right, documents=documents)[0]


def compared(
    layout: Layout, left: str, right: str, *, documents: bool = False
) -> tuple[Differences, tuple[Facts, Facts]]:
    """As `differences`, with the facts of either side."""
    one, other = _named(layout, left), _named(layout, right)
    tell(_yanked(layout, one), _yanked(layout, other))
    if isinstance(one, PublishedVersion) and isinstance(other, PublishedVersion):
        facts = facts_of_version(one), facts_of_version(other)
        result = compare(*facts)
        if documents:
            result.documents = documents_of_versions(one, other)
    elif isinstance(one, Snapshot) and isinstance(other, Snapshot):
        facts = facts_of_snapshot(one), facts_of_snapshot(other)
        result = compare(*facts)
        if documents:
            sides = [(s, corpus_of(layout, s), f.raw_sets) for s, f in zip((one, other), facts, strict=True)]
            result.documents = documents_of_snapshots(*sides)
    else:
        raise ConfigError(f"{left} and {right} are a version and a snapshot, expected two of one kind")
    return result, facts


def _named(layout: Layout, name: str) -> PublishedVersion | Snapshot:
    if named_snapshot.is_meant(name):
        return manifest.read(layout.root, named_snapshot.id_of(layout, name))
    return open_published(layout, VersionKey.parse(name))


def _yanked(layout: Layout, one: PublishedVersion | Snapshot) -> Yank | None:
    return yank.of_snapshot(layout.root, one) if isinstance(one, Snapshot) else yanking.of_version(layout, one.key)


def _words(result: Differences) -> Iterator[str]:
    yield f"A {result.left}"
    yield f"B {result.right}"
    section = None
    for one in result.found:
        if one.section != section:
            section = one.section
            yield section
        yield f"  {plain(_line(one))}"
    if result.documents is not None:
        told = result.documents
        yield f"documents by index: {told.num_same:,} the same"
        if told.kept:
            yield "  published by " + ", ".join(f"{name} {n:,}" for name, n in told.kept.items())
        for lang, of_lang in told.languages.items():
            if of_lang["A alone"] or of_lang["B alone"]:
                yield f"    {plain(lang)}: " + ", ".join(f"{name} {n:,}" for name, n in of_lang.items())
        for source, changes in told.changes.items():
            for change, n in changes.items():
                yield f"  {plain(source)}: {n:,} {change}"
        yield from _examples(result)
        yield from (f"note: {note}" for note in told.notes)
    yield from (f"note: {note}" for note in result.notes)
    if result.same:
        yield "nothing differs"


def _examples(result: Differences) -> Iterator[str]:
    shown: dict[str, int] = {}
    for one in result.documents.examples if result.documents else ():
        shown[one.change] = shown.get(one.change, 0) + 1
        if shown[one.change] <= SHOWN_EXAMPLES:
            names = " = ".join(plain(name) for name in dict.fromkeys((one.left, one.right)) if name is not None)
            sides = (("A", one.left_scores), ("B", one.right_scores))
            scores = "; ".join(f"{side}: {in_words(said)}" for side, said in sides if said)
            yield f"    {names}: {one.change}{f' ({scores})' if scores else ''}"


def _line(one: Difference) -> str:
    of_sources = f"  ({', '.join(one.sources)})" if one.sources else ""
    return f"{one.name}: {_value(one.left)} -> {_value(one.right)}{of_sources}"


def _value(value: Any) -> str:
    if value is None:
        return "–"
    text = f"{value:,}" if type(value) is int else value if isinstance(value, str) else json.dumps(value)
    most = MAX_DIGEST if re.fullmatch("[0-9a-f]{64}", text) else MAX_VALUE
    return text if len(text) <= most else f"{text[:most]}…"
