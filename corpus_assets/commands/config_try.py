"""`corpus config try VERSION --set RULE=VALUE`: how verdicts would change, from stored signals; nothing is run."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.commands.new_files import check_place
from corpus_assets.plans.for_people import share
from formats import durable
from formats.naming import VersionKey

if TYPE_CHECKING:  # it loads kernels, which the other verbs of `corpus config` do without
    from corpus_assets.plans.try_thresholds import SourceChange


def add_options(parser: argparse.ArgumentParser) -> None:
    """What `corpus config try` takes."""
    parser.add_argument("version", metavar="VERSION", help="<dataset>.<version> whose documents are measured")
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        required=True,
        metavar="RULE=VALUE",
        help="a threshold, as in too_few_words=30, prose.too_few_words=30 or, of one language, de.too_few_words=30 or "
        "de.prose.too_few_words=30; null turns it off; may be given again",
    )
    parser.add_argument("--out", type=Path, metavar="FILE.html", help="also write a page with tables and plots")
    parser.add_argument("--json", action="store_true", help="print the changes by source and rule as JSON")


def run(args: argparse.Namespace, key: VersionKey) -> int:
    """Raises ConfigError for a setting that is none, and for a source whose signals are not made yet."""
    from corpus_assets.plans import try_thresholds, try_thresholds_page
    from corpus_assets.plans.pinned import Build, load_version
    from resources.engines.local import LocalEngine

    layout = args.layout
    if args.out:
        check_place(layout, args.out)
    version = load_version(layout, key)
    changed, changes = try_thresholds.with_changes(version, args.settings)
    engine = LocalEngine(scratch=layout.work("scratch", "try"), workers=1, processes=False)  # runs nothing
    found = list(try_thresholds.changed_sources(Build(layout, engine), version, changed, changes))
    if args.out:
        durable.write_file(args.out.absolute(), try_thresholds_page.render(key, args.settings, found).encode("utf-8"))
    if args.json:
        value = {"version": str(key), "settings": args.settings, "sources": [_as_json(one) for one in found]}
        print(json.dumps(value, indent=2, ensure_ascii=False))
        return 0
    _print(found)
    if args.out:
        print(f"the page: {args.out}")
    return 0


def _as_json(one: "SourceChange") -> dict[str, Any]:
    return {
        "source": one.source,
        "profile": one.profile,
        "documents": one.documents,
        "kept": {"before": one.kept_before, "after": one.kept_after},
        "chars": {"before": one.chars_before, "after": one.chars_after},
        "come_in": one.come_in,
        "go_out": one.go_out,
        "dropped": {
            "before": dict(sorted(one.dropped(after=False).items())),
            "after": dict(sorted(one.dropped(after=True).items())),
        },
        "moved": [
            {"from": before, "to": after, "documents": n} for (before, after), n in one.moved.items() if before != after
        ],
    }


def _print(found: Sequence["SourceChange"]) -> None:
    print(f"{'source':24} {'profile':8} {'documents':>10} {'kept':>18} {'would be':>18} {'come in':>8} {'go out':>8}")
    for one in found:
        before = f"{one.kept_before:,} ({share(one.kept_before, one.documents)})"
        after = f"{one.kept_after:,} ({share(one.kept_after, one.documents)})"
        print(
            f"{one.source:24} {one.profile:8} {one.documents:>10,} {before:>18} {after:>18} {one.come_in:>8,} "
            f"{one.go_out:>8,}"
        )
        for (was, is_now), n in one.moved.items():
            if was != is_now:
                print(f"    {was} -> {is_now}: {n:,}")
    print(
        "from stored signals; nothing was run. Near duplicates, decontamination, models and lists come after these "
        "rules and are not in these counts"
    )
