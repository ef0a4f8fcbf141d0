"""`corpus ledger add` measures files and appends a row; `corpus ledger check` names every violation of the ledger."""

import argparse
import json
import re
import sys
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from corpus_assets.commands import measure
from corpus_assets.commands.found_files import expand, is_remote, named
from corpus_assets.commands.unmapped_urls import unmapped_url
from corpus_assets.commands.words import counted
from corpus_assets.plans.fetch_access import access_of
from corpus_assets.validation import spdx
from corpus_assets.validation.ledger import check_ledger
from formats import ledger
from formats.errors import ConfigError
from formats.ledger import CONTAINERS, KINDS, FieldMapping, LedgerFile, LedgerRow
from formats.reasons import PROFILES
from resources.download.progress import in_units
from resources.download.settings import FetchSettings
from resources.download.sources import Sources

_ONE_DOCUMENT = ("text", "markdown", "html")
"""Kinds of which a file is one document, an empty one too."""


def add_parser(subparsers: Any) -> None:
    """Add `ledger add` and `ledger check` to the command line."""
    parser = subparsers.add_parser("ledger", help="add a source to the ledger, or check the ledger")
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    add = verbs.add_parser("add", help="measure files and append one row")
    add.add_argument("source", metavar="SOURCE", help="the new source's name")
    add.add_argument("files", metavar="PATH_OR_URL", nargs="+", help="files, folders, patterns or URLs (http, s3, …)")
    add.add_argument("--license", required=True, metavar="SPDX", help="an SPDX expression, such as CC-BY-4.0")
    add.add_argument("--kind", choices=KINDS, help="what the files hold (default: as their suffixes say)")
    add.add_argument("--container", choices=CONTAINERS, help="archives of such files (default: as the suffixes say)")
    add.add_argument("--title", help="default: SOURCE")
    add.add_argument("--evidence", help="where the licence is stated: a URL, or words")
    add.add_argument("--attribution", help="whom to name (default: the title)")
    add.add_argument("--retrieved", metavar="YYYY-MM-DD", help="when the files were served (default: today)")
    add.add_argument("--bucket", help="mixture bucket (default: SOURCE)")
    add.add_argument("--profile", choices=PROFILES, default="prose", help="which filter thresholds apply")
    add.add_argument("--rank", type=int, help="smaller keeps its copy of a duplicate (default: 100)")
    for name in ("text", "url", "date", "license"):
        add.add_argument(f"--{name}-field", metavar="FIELD", help=f"jsonl, parquet: the field with the {name}")
    check = verbs.add_parser("check", help="name every violation with line and field; exit code 1 if there is one")
    check.add_argument("--json", action="store_true", help="print {ok, rows, violations} as JSON")


def run(args: argparse.Namespace) -> int:
    """0: done; 1: the ledger has violations. Raises ConfigError, TransientError."""
    return _add(args) if args.verb == "add" else _check(args)


def _add(args: argparse.Namespace) -> int:
    license_spdx = spdx.normalized(args.license)
    access = access_of(args.layout, args.source)
    with Sources(FetchSettings(), access) as sources:
        return _add_measured(args, license_spdx, sources)


def _add_measured(args: argparse.Namespace, license_spdx: str, sources: Sources) -> int:
    names = expand(args.files, sources, lambda path, words: print(f"note: {path}: {words}", file=sys.stderr))
    draft = _draft(args, names, license_spdx)
    in_row = sorted(names, key=lambda name: measure.url_in_ledger(name, args.layout))  # as the row has its files
    wrong = [_in_words(field, message, in_row) for field, message in ledger.problems(ledger.to_json(draft))]
    if wrong:  # before a long measurement, not after it
        raise ConfigError("\n".join(wrong))
    if args.layout.ledger.exists() and any(row.source_id == args.source for row in ledger.read(args.layout.ledger)):
        raise ConfigError(f"the ledger has a source {args.source} already; edit its row or choose another name")
    progress = measure.Counter(sys.stderr, len(names))
    with closing(progress):
        files = tuple(measure.measure(name, args.layout, sources, progress) for name in names)
    row = LedgerRow(**{**vars(draft), "files": files})
    ledger.append(args.layout.ledger, row)
    measured = f"{counted(len(files), 'file')}, {in_units(row.num_bytes)}"
    print(f"added {row.source_id}: {measured}, {row.license_spdx}, row {row.digest}")
    for file in files:
        if not file.num_bytes:
            holds = "one document without text" if row.kind in _ONE_DOCUMENT else "no record"
            print(f"note: {named(file.url)} has 0 bytes, and so holds {holds}", file=sys.stderr)
    if name := unmapped_url(args.layout, row):
        print(
            f"note: the records hold web addresses in {named(name)}, which is not mapped, so that no site list, cap of "
            f"domains or takedown by URL can meet them; write `url: {named(name)}` in the row's fields (--url-field)",
            file=sys.stderr,
        )
    if not args.evidence:
        print("note: no --evidence; say in the row where the licence is stated", file=sys.stderr)
    return 0


def _in_words(field: str, message: str, names: list[str]) -> str:
    """What is wrong with the row; where it is a file's name, of which one, letter for letter."""
    if not (found := re.fullmatch(r"files\[(\d+)\]\.url", field)):
        return f"field {field}: {message}"
    name = names[int(found[1])]
    if is_remote(name):
        return f"{named(name)}: cannot stand in the ledger: {message}"
    why = "has a character that cannot be printed" if message.startswith("expected") else message.partition(";")[0]
    return f"{named(name)}: its name cannot stand in the ledger ({why}); rename the file"


def _draft(args: argparse.Namespace, names: list[str], license_spdx: str) -> LedgerRow:
    """The row with every field but what is to be measured."""
    kind, container = measure.guess(names)
    kind, container = args.kind or kind, args.container or container
    if not kind:
        raise ConfigError(f"what {named(names[0])} holds cannot be told from its suffix; say --kind {'|'.join(KINDS)}")
    title = args.title or args.source
    mapped = {name: value for name in ("text", "url", "date", "license") if (value := getattr(args, f"{name}_field"))}
    return LedgerRow(
        source_id=args.source,
        title=title,
        kind=kind,
        container=container,
        files=tuple(LedgerFile(measure.url_in_ledger(name, args.layout), "0" * 64, 0) for name in names),
        license_spdx=license_spdx,
        license_evidence=args.evidence or "stated by whoever added this row; not looked up",
        attribution=args.attribution or title,
        retrieved=args.retrieved or datetime.now(UTC).date().isoformat(),
        bucket=args.bucket or args.source,
        profile=args.profile,
        fields=FieldMapping(**mapped),
        **({} if args.rank is None else {"source_rank": args.rank}),
    )


def _check(args: argparse.Namespace) -> int:
    path = args.layout.ledger
    found = check_ledger(path)
    rows = len(ledger.scan(path)[0])
    if args.json:
        violations = [vars(violation) for violation in found]
        print(json.dumps({"ok": not found, "rows": rows, "violations": violations}, indent=2, ensure_ascii=False))
    else:
        for violation in found:
            print(f"{path.name} {violation}")
        print(f"{path}: {counted(len(found), 'violation')}" if found else f"{path}: {counted(rows, 'row')} in order")
    return 1 if found else 0
