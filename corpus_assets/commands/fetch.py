"""`corpus fetch SOURCE`: bring a source's files into the cache, or say what that would take."""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpus_assets.commands.words import counted
from corpus_assets.plans.fetch_access import access_of
from corpus_assets.validation.ledger import check_ledger
from formats import ledger, ledger_urls
from formats.errors import ConfigError
from formats.fetch_rules import AccessRules
from formats.ledger import LedgerRow
from resources.download.fetcher import Fetcher
from resources.download.progress import TerminalProgress, in_units
from resources.download.settings import FetchSettings
from resources.download.wanted import Planned, Wanted


def add_parser(subparsers: Any) -> None:
    """Add `fetch` to the command line."""
    parser = subparsers.add_parser("fetch", help="download a source's files into the cache, verified")
    parser.set_defaults(run=run)
    parser.add_argument("source", metavar="SOURCE", help="a source of the ledger")
    parser.add_argument("--dry-run", action="store_true", help="list files with state and bytes, and limits in force")
    parser.add_argument("--resume-only", action="store_true", help="refuse to start a file that has no checkpoint")
    # Without a default here, `corpus --cache DIR fetch` keeps its meaning.
    parser.add_argument("--cache", type=Path, default=argparse.SUPPRESS, help="where fetched bytes lie")
    parser.add_argument(
        "--parallel", type=int, metavar="N", default=FetchSettings.parallel_files, help="files at once (%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print {source, files, num_bytes, verified_bytes} as JSON")


def run(args: argparse.Namespace) -> int:
    """0: all files are here and verified (or listed). Raises ConfigError, CorruptDataError, TransientError."""
    row = valid_row(args.layout.ledger, args.source)
    wanted = [
        Wanted(file.url, file.sha256, file.num_bytes, ledger_urls.resolve_local(args.layout.ledger, file.url))
        for file in row.files
    ]
    cache = getattr(args, "cache", None) or args.layout.cache
    settings, access = FetchSettings(parallel_files=args.parallel), access_of(args.layout, row.source_id)
    fetcher = Fetcher(cache, settings, TerminalProgress(sys.stderr), access=access)
    if args.dry_run:
        in_force = access.in_force(one.url for one in wanted if one.scheme)
        _show(args.source, fetcher.plan(wanted), None, in_force, as_json=args.json)
        return 0
    paths = fetcher.fetch_all(wanted, resume_only=args.resume_only)
    done = [Planned(one.name, "verified", one.num_bytes, one.num_bytes) for one in wanted]
    _show(args.source, done, paths, None, as_json=args.json)
    return 0


def valid_row(path: Path, source: str) -> LedgerRow:
    """The source's row. Raises ConfigError when it breaks a rule of the ledger, its licence included: then not a byte
    is fetched. Whether a version allows the licence is the version's to say.
    """
    row = ledger.from_json(ledger.find(path, source))
    lines = {one.source_id: line for line, one in ledger.scan(path)[0]}
    if wrong := [str(violation) for violation in check_ledger(path) if violation.line == lines[source]]:
        raise ConfigError(f"source {source} is not fetched, its row is not right: {'; '.join(wrong)}")
    return row


def _show(
    source: str,
    files: Sequence[Planned],
    paths: Sequence[Path] | None,
    in_force: Mapping[tuple[str, str], AccessRules] | None,
    *,
    as_json: bool,
) -> None:
    num_bytes, verified = sum(file.num_bytes for file in files), sum(file.verified_bytes for file in files)
    if as_json:
        shown = [asdict(file) for file in files]
        if paths is not None:
            shown = [{**values, "path": str(path)} for values, path in zip(shown, paths, strict=True)]
        value: dict[str, Any] = {"source": source, "files": shown, "num_bytes": num_bytes, "verified_bytes": verified}
        if in_force is not None:
            value["rules"] = [{"of": f"{kind} {name}", **rules.as_json()} for (kind, name), rules in in_force.items()]
        print(json.dumps(value, indent=2, ensure_ascii=False))
        return
    print(f"{'state':<8}  {'bytes':>15}  {'verified':>15}  url")
    for file in files:
        print(f"{file.state:<8}  {file.num_bytes:>15,}  {file.verified_bytes:>15,}  {file.url}")
    missing = num_bytes - verified
    print(f"{source}: {counted(len(files), 'file')}, {in_units(num_bytes)}, {in_units(missing)} to fetch")
    if in_force is not None:
        print("\n".join(_in_words(*one) for one in in_force.items()) or "no limits, no credentials")


def _in_words(scope: tuple[str, str], rules: AccessRules) -> str:
    """A line of what holds for a source or a host; of credentials, whether the variables with them are set."""
    said = [f"{rules.requests_per_second:g} requests a second"] if rules.requests_per_second else []
    said += [counted(rules.connections, "connection")] if rules.connections else []
    said += [f"{in_units(rules.bytes_per_second)} a second"] if rules.bytes_per_second else []
    said += [f"credentials from {name}{'' if os.environ.get(name) else ' (not set)'}" for name in rules.variables]
    return f"{' '.join(scope)}: {', '.join(said) or 'no limits, no credentials'}"
