"""`corpus build VERSION`: one version, layer by layer, in this process and into the instance that the UI shows."""

import argparse
import os
import shutil
import signal
import sqlite3
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.commands import environment, words
from corpus_assets.commands.yank import tell
from corpus_assets.plans import space, yanking
from corpus_assets.plans.pinned import Build, Version, load_version, row_to_pin
from corpus_assets.validation.ledger import check_row_for_version
from formats import evidence, ledger
from formats.errors import ConfigError, CorpusError, CorruptDataError, TransientError
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from resources.engines.contract import Engine
from resources.progress import heard_by
from resources.remote.address import VARIABLE as STORE_VARIABLE

if TYPE_CHECKING:
    import dagster as dg

    from corpus_assets.commands.unchanged import Finding, Unchanged

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
    """0: built, every check passed or only warned; 1: a run or check failed. Raises ConfigError before any work."""
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
    engine = open_engine(layout)
    room = space.expected(Build(layout, engine), version)
    for one in room:
        print(f"space: {one}")
    if not ignore_space:
        space.hold(room)
    began = time.monotonic()
    with opened(layout, verbose=verbose) as (builder, checks):
        from corpus_assets.commands.unchanged import Unchanged

        unchanged = Unchanged(Build(layout, engine), version, builder.instance, checks)
        failed = run_layers(version, builder, unchanged) or store_too(builder, str(key), "stored_version")
    if failed:
        stopped = f"{key} stopped: {', '.join(failed)} failed; mend what is named above and run again"
        print(stopped, file=sys.stderr)
        return 1
    print(f"{key} is built, in {time.monotonic() - began:.1f} s: {layout.version(key)}")
    print(f"what is in it, for people: {layout.evidence(key) / evidence.DATASHEET_HTML}")
    return 0


def open_engine(layout: Layout) -> Engine:
    """The engine as options and environment set it. Raises ConfigError, before any work."""
    from resources.engine import EngineResource  # loads Dagster, which takes seconds

    return EngineResource().open(layout)


@contextmanager
def opened(layout: Layout, *, verbose: bool) -> Iterator[tuple["Builder", list["dg.AssetCheckKey"]]]:
    """What runs assets of the graph on this root, and every check of the graph."""
    environment.prepare(layout)
    warnings.filterwarnings("ignore", message=".*is currently in (beta|preview).*")

    from corpus_assets.commands import dead_runs, history, pools
    from corpus_assets.definitions import defs

    with (
        _database_in_words(layout),
        history.written_quickly(),
        history.open_instance() as instance,
        dead_runs.this_process(layout) as tags,
    ):
        if buried := dead_runs.bury(layout, instance):
            said = words.counted(buried, "run")
            print(f"marked as failed: {said} of killed processes; their finished parts are used")
        checks = sorted(defs.resolve_asset_graph().asset_check_keys)
        job = defs.resolve_implicit_global_asset_job_def()
        pools.make(instance, job)
        yield Builder(job, instance, tags, verbose), checks


def run_layers(version: Version, builder: "Builder", unchanged: "Unchanged") -> list[str]:
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


def store_too(builder: "Builder", partition: str, asset: str) -> list[str]:
    """Where a store is named, let it have what was published; the partition where that failed."""
    if not os.environ.get(STORE_VARIABLE):
        return []
    print(f"store: {asset}")
    return [] if builder.materialize(partition, (asset,)) else [partition]


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


def run_layer(
    builder: "Builder", unchanged: "Unchanged", partitions: Sequence[str], assets: Sequence[str]
) -> list[str]:
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
    builder: "Builder",
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


@dataclass(frozen=True)
class Builder:
    """Runs assets in this process; a line of progress a run, and the words of what did not pass."""

    job: "dg.JobDefinition"
    instance: "dg.DagsterInstance"
    tags: dict[str, str]
    verbose: bool

    def observe(self, *inputs: str) -> None:
        """Note the inputs' data versions: what is materialized before the first observation would never turn stale."""
        self._run(None, inputs)

    def tell_unchanged(self, partition: str, found: "Finding") -> None:
        """A line of a partition whose last run stands, and what its checks warned of."""
        verified = f", {words.counted(found.num_files, 'file')} verified" if found.num_files else ""
        print(f"  same   {partition:32} as run {str(found.run_id)[:8]} left it{verified}")
        _print_checks(found.warnings)

    def materialize(self, partition: str, assets: Sequence[str]) -> str | None:
        """Materialize the assets of one partition with their checks; the run's id, None when a step or a blocking check
        failed.
        """
        from corpus_assets.alerts import failed_checks, failed_steps

        began = time.monotonic()
        with heard_by(_StatusLine(partition)):
            result = self._run(partition, assets)
        seconds = time.monotonic() - began
        clear = "\x1b[K" if sys.stdout.isatty() else ""
        print(f"{clear}  {'ok    ' if result.success else 'FAILED'} {partition:32} {seconds:6.1f} s  {_rows(result)}")
        _print_checks(failed_checks(self.instance, result.run_id))
        for step in failed_steps(self.instance, result.run_id):
            print(f"    failed: {step['step']}: {words.of_step_error(step['error'])}")
        return result.run_id if result.success else None

    def _run(self, partition: str | None, assets: Sequence[str]) -> "dg.ExecuteInProcessResult":
        import dagster as dg

        # The progress lines have the terminal; the instance keeps every event either way.
        level = "DEBUG" if self.verbose else "CRITICAL"
        with _stopped_by_signals():
            return self.job.execute_in_process(
                instance=self.instance,
                partition_key=partition,
                asset_selection=[dg.AssetKey(name) for name in assets],
                run_config={"loggers": {"console": {"config": {"log_level": level}}}},
                tags=self.tags,
                raise_on_error=False,
            )


def _print_checks(checks: Iterable[dict[str, Any]]) -> None:
    for check in checks:
        print(f"    {check['severity']} {check['asset']}/{check['check']}: {check['description']}")


@contextmanager
def _database_in_words(layout: Layout) -> Iterator[None]:
    """Raises TransientError for what Dagster's database cannot do: a full disk, a file it may not write or does not
    know, a server that is away.
    """
    from sqlalchemy.exc import DatabaseError

    try:
        yield
    except Exception as error:
        of_server = type(error).__name__ == "DagsterPostgresException"  # of a package that need not be here
        if not of_server and not isinstance(error, DatabaseError):
            raise
        cause = error.orig if isinstance(error, DatabaseError) else error
        if of_server or not isinstance(cause, sqlite3.Error):
            settings, said = Path(os.environ["DAGSTER_HOME"]) / environment.SETTINGS, str(cause).splitlines()[0]
            raise TransientError(
                f"{settings}: the database of its storage: {said}; see that it is there and takes this user, then run "
                "again"
            ) from None
        raise TransientError(
            f"{layout.root / environment.HISTORY}: {cause}; make room and let this user write there, or move the "
            "folder away (it is the history of runs, no part of the corpus), then run again"
        ) from None


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Raises KeyboardInterrupt at the end when Ctrl-C or SIGTERM came in between: Dagster makes of it one failed step
    among others or loses it between two steps, DuckDB makes an error of its own. The pipe notes it under any handler.
    """
    reader, writer = os.pipe()
    for end in (reader, writer):
        os.set_blocking(end, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)
        with open(reader, "rb", buffering=0) as pipe:
            came = pipe.read() or b""
        if {signal.SIGINT, signal.SIGTERM} & set(came):
            raise KeyboardInterrupt


class _StatusLine:
    """On a terminal the partition at work, with what its stages tell; drawn over in place. Elsewhere nothing."""

    REDRAW_SECONDS = 0.2

    def __init__(self, partition: str) -> None:
        self._head, self._drawn = f"  {partition} …", 0.0
        self._draw("")

    def __call__(self, what: str, done: int, total: int) -> None:
        if time.monotonic() - self._drawn >= self.REDRAW_SECONDS:
            self._draw(f" {done:,} of {total:,} {what}")

    def _draw(self, words: str) -> None:
        self._drawn = time.monotonic()
        if sys.stdout.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{(self._head + words)[:width]}\r", end="", flush=True)


def _rows(result: "dg.ExecuteInProcessResult") -> str:
    rows = {
        event.asset_key.to_user_string(): event.materialization.metadata.get("dagster/row_count")
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }
    return ", ".join(f"{name} {value.value:,}" for name, value in rows.items() if value is not None)
