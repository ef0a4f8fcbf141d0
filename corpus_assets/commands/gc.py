"""`corpus gc`: what of the disk may be freed, by kind; `--delete` frees it."""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from corpus_assets.commands.words import counted
from corpus_assets.plans import garbage
from corpus_assets.plans.for_people import num_bytes
from corpus_assets.plans.garbage import Garbage
from corpus_assets.plans.pinned import Build
from formats.errors import ConfigError, TransientError
from formats.layout import Layout
from resources.engines.local import LocalEngine
from resources.run_process import building

_MOST_DAYS = 36_500


def add_parser(subparsers: Any) -> None:
    """Add `gc` to the command line."""
    parser = subparsers.add_parser("gc", help="free the disk of what no version, pin, lock or evidence needs any more")
    parser.set_defaults(run=run)
    parser.add_argument("--delete", action="store_true", help="do it; without, only say what would go")
    parser.add_argument("--dry-run", action="store_true", help="only say what would go (the default)")
    parser.add_argument(
        "--runs-older-than",
        type=float,
        metavar="DAYS",
        help="runs in Dagster's history, too; the latest good one of each asset and partition stays",
    )
    parser.add_argument("--json", action="store_true", help="print every file and folder, by kind, as JSON")


def run(args: argparse.Namespace) -> int:
    """0: done, or said what would be. Raises ConfigError for a ledger or config that is wrong, TransientError while a
    build is at work.
    """
    if args.delete and args.dry_run:
        raise ConfigError("--delete and --dry-run: give one of them")
    layout, days = args.layout, args.runs_older_than
    if days is not None and not 0 <= days <= _MOST_DAYS:
        raise ConfigError(f"--runs-older-than is {days:g}, expected 0 to {_MOST_DAYS} days")
    if args.delete and (at_work := building(layout)):
        builds = counted(at_work, "process")
        raise TransientError(
            f"{layout.root}: {builds} of `corpus build`, `corpus tokenize` or the UI at work; run gc afterwards"
        )
    engine = LocalEngine(scratch=layout.work("scratch", "gc"), workers=1, processes=False)  # runs nothing
    found = garbage.find(Build(layout, engine))
    gone = [one for one in found if garbage.delete(one)] if args.delete else found
    runs = None if days is None else _runs(layout, days, delete=args.delete)
    if args.json:
        print(json.dumps(_as_json(gone, runs, deleted=args.delete), indent=2, ensure_ascii=False))
    else:
        _print(layout, gone, runs, deleted=args.delete)
    return 0


def _runs(layout: Layout, days: float, *, delete: bool) -> list[str]:
    from corpus_assets.commands import environment, history, old_runs  # loads Dagster

    environment.prepare(layout)
    with history.open_instance() as instance:
        found = old_runs.older_than(instance, days)
        if delete:
            old_runs.delete(instance, found)
    return found


def _sums(found: Sequence[Garbage]) -> dict[str, tuple[int, int]]:
    """Kind -> (things, bytes), by kind."""
    things, sizes = Counter(one.kind for one in found), Counter[str]()
    for one in found:
        sizes[one.kind] += one.num_bytes
    return {kind: (things[kind], sizes[kind]) for kind in sorted(things)}


def _as_json(found: Sequence[Garbage], runs: Sequence[str] | None, *, deleted: bool) -> dict[str, Any]:
    return {
        "deleted": deleted,
        "num_bytes": sum(one.num_bytes for one in found),
        "kinds": {kind: {"things": n, "num_bytes": size} for kind, (n, size) in _sums(found).items()},
        "paths": [{"kind": one.kind, "path": str(one.path), "num_bytes": one.num_bytes} for one in found],
        "runs": None if runs is None else list(runs),
    }


def _print(layout: Layout, found: Sequence[Garbage], runs: Sequence[str] | None, *, deleted: bool) -> None:
    for kind, (things, size) in _sums(found).items():
        print(f"{kind:16} {things:>8,}  {num_bytes(size):>12}")
    if runs is not None:
        print(f"{'runs of Dagster':16} {len(runs):>8,}")
    total = num_bytes(sum(one.num_bytes for one in found))
    todo = "; --delete does it" if (found or runs) and not deleted else ""
    print(f"{'freed' if deleted else 'may be freed'}: {total}{todo}")
    if layout.cache_folder or layout.cache.is_symlink():
        print(f"the cache {layout.cache} may be shared with other roots, so it was left alone")
