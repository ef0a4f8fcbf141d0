"""`corpus build VERSION`: one version, layer by layer, in this process and into the instance that the UI shows."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from corpus_assets.commands import build_published
from corpus_assets.commands.builder import Builder, opened
from corpus_assets.commands.yank import tell
from corpus_assets.plans import space, taken_over, yanking
from corpus_assets.plans.pinned import Build, Version, load_version, row_to_pin
from corpus_assets.plans.pinned_inputs import hold_pinned
from corpus_assets.validation.ledger import check_row_for_version
from formats import evidence, ledger
from formats.errors import ConfigError, CorpusError, CorruptDataError
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from resources.engines.contract import Engine

if TYPE_CHECKING:
    from corpus_assets.commands.unchanged import Unchanged

PAIR, VERSION = "pair", "version"
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (PAIR, ("ledger_entry",)),
    (PAIR, ("raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures")),
    (VERSION, ("dedup_clusters",)),
    (PAIR, ("scrubbed_docs",)),
    (VERSION, ("shards", "manifest", "datasheet", "ngram_index")),
)
"""A run cannot mix partitions definitions, so a version is built in layers, each after the one before is done. Ledger
rows come first: a licence that is not allowed stops the version before anything of it is fetched.
"""


def add_parser(subparsers: Any) -> None:
    """Add `build` to the command line."""
    parser = subparsers.add_parser("build", help="materialize a version, layer by layer, with its checks")
    parser.set_defaults(run=run)
    parser.add_argument("version", metavar="VERSION", help="<dataset>.<version>, such as starter.v1")
    parser.add_argument("--ignore-space", action="store_true", help="begin although the disk may be too small")
    add_machine_options(parser)


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """The options of a command that runs stages."""
    parser.add_argument("--workers", type=int, help="engine workers; changes no byte (default: CORPUS_WORKERS, else 2)")
    parser.add_argument("--memory", help="memory of one sort, such as 1GiB; changes no byte")
    parser.add_argument("--verbose", action="store_true", help="show Dagster's own log")


def run(args: argparse.Namespace) -> int:
    """0: built, with the checks that failed and stop nothing named at the end; 1: a run or a check that blocks failed.
    Raises ConfigError before any work.
    """
    key = VersionKey.parse(args.version)
    take_machine_options(args)
    tell(yanking.of_version(args.layout, key))
    return build(args.layout, key, verbose=args.verbose, ignore_space=args.ignore_space)


def take_machine_options(args: argparse.Namespace) -> None:
    if args.workers is not None:
        os.environ["CORPUS_WORKERS"] = str(args.workers)
    if args.memory is not None:
        os.environ["CORPUS_MEMORY"] = args.memory


def check_rows(layout: Layout, version: Version) -> None:
    """Raises ConfigError that names every source without exactly one row in the ledger. A published version has its
    rows in its evidence.
    """
    if layout.lock(version.key).exists():
        return
    rows = ledger.count_rows(layout.ledger)
    wrong = [ledger.not_one_row(layout.ledger, source, rows[source]) for source in version.config.sources]
    if found := [words for words in wrong if words]:
        raise ConfigError("\n".join(found))


def build(layout: Layout, key: VersionKey, *, verbose: bool = False, ignore_space: bool = False) -> int:
    """Build one version with progress; stops after the first layer in which something failed."""
    version = load_version(layout, key)  # what a person has to mend stops here, before any work
    check_rows(layout, version)
    for note in () if layout.lock(key).exists() else yanking.of_kin(layout, key, version.config.sources):
        print(f"note: {note}", file=sys.stderr)
    engine = open_engine(layout)
    if gone := build_published.without_raw_sets(layout, version):
        ended = build_published.finish(Build(layout, engine), version, gone, verbose=verbose)
        if ended is not None:
            return ended
    looked_at = Build(layout, engine)  # for what is said first; what runs then looks anew
    room = space.expected(looked_at, version)
    for one in room:
        print(f"space: {one}")
    if not ignore_space:
        space.hold(room)
    hold_pinned(looked_at, version)
    if said := taken_over.told(looked_at, version):
        print(said)
    began = time.monotonic()
    with opened(layout, verbose=verbose) as (builder, checks):
        from corpus_assets.commands.unchanged import Unchanged

        unchanged = Unchanged(Build(layout, engine), version, builder.instance, checks)
        failed = run_layers(version, builder, unchanged)
        if not failed and not builder.store_too(str(key), "stored_version"):
            failed = [str(key)]
    if failed:
        stopped = f"{key} stopped: {', '.join(failed)} failed; mend what is named above and run again"
        print(stopped, file=sys.stderr)
        return 1
    builder.tell_failed(str(key))
    print(f"{key} is built, in {time.monotonic() - began:.1f} s: {layout.version(key)}")
    print(f"what is in it, for people: {layout.evidence(key) / evidence.DATASHEET_HTML}")
    if (page := layout.evidence(key) / evidence.DIFFERENCES_HTML).is_file():
        print(f"what differs from the version before: {page}")
    return 0


def open_engine(layout: Layout) -> Engine:
    """The engine as options and environment set it. Raises ConfigError, before any work."""
    from resources.engine import EngineResource  # loads Dagster, which takes seconds

    return EngineResource().open(layout)


def run_layers(version: Version, builder: Builder, unchanged: "Unchanged") -> list[str]:
    """Run what does not stand, layer by layer; the partitions that failed in the first layer where any did."""
    if not unchanged.observed():
        builder.observe("ledger", "corpus_config", "eval_sets")
    layers = layers_of(unchanged.build.layout, version)
    for number, (kind, assets) in enumerate(layers, 1):
        print(f"layer {number} of {len(layers)}: {', '.join(assets)}")
        partitions = [str(pair) for pair in version.pairs] if kind == PAIR else [str(version.key)]
        if failed := run_layer(builder, unchanged, partitions, assets):
            return failed
    return []


def layers_of(layout: Layout, version: Version) -> Sequence[tuple[str, tuple[str, ...]]]:
    """LAYERS, the first two in one where every row may be used: a run a source less, and nothing is fetched before all
    rows are known to be allowed.
    """
    rows, of_sources, *rest = LAYERS
    if all(_may_be_used(layout, version, pair) for pair in version.pairs):
        return [(PAIR, (*rows[1], *of_sources[1])), *rest]
    return LAYERS


def _may_be_used(layout: Layout, version: Version, pair: PairKey) -> bool:
    """Whether the checks of ledger_entry will let the row through; its run says why not."""
    try:
        return not check_row_for_version(row_to_pin(layout, pair), version.config)
    except CorpusError:
        return False


def run_layer(builder: Builder, unchanged: "Unchanged", partitions: Sequence[str], assets: Sequence[str]) -> list[str]:
    """Run what of a layer does not stand; the partitions in which something failed."""
    found, failed = unchanged.layer(partitions, assets), []
    for partition in partitions:
        before = found.get(partition)
        if before and before.run_id:
            builder.tell_unchanged(partition, before)
        elif not _run_partition(builder, unchanged, partition, assets, before.damage if before else ()):
            failed.append(partition)
        unchanged.stands(partition, assets)
    return failed


def _run_partition(
    builder: Builder,
    unchanged: "Unchanged",
    partition: str,
    assets: Sequence[str],
    damage: Sequence[CorruptDataError],
) -> bool:
    """Run the assets of one partition. False when something failed, and when damage found before it is still there: a
    run reads no more than it needs.
    """
    for error in damage:
        print(f"    damaged: {error}")
    run_id = builder.materialize(partition, assets)
    if run_id is None:
        return False
    if damage and unchanged.still_damaged(partition, assets):
        print(f"    {partition} is not mended by this run; do what is said above")
        return False
    unchanged.ran(partition, assets, run_id)
    return True
