"""`corpus build VERSION`: one version, layer by layer, in this process and into the instance that the UI shows."""

import argparse
import errno
import os
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corpus_assets.commands import environment, words
from corpus_assets.plans.pinned import Version, load_version
from formats import evidence, ledger
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from resources.progress import heard_by

if TYPE_CHECKING:
    import dagster as dg

PAIR, VERSION = "pair", "version"
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (PAIR, ("ledger_entry",)),
    (PAIR, ("raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures")),
    (VERSION, ("dedup_clusters",)),
    (PAIR, ("scrubbed_docs",)),
    (VERSION, ("shards", "manifest", "datasheet")),
)
"""A run cannot mix partitions definitions, so a version is built in layers, each after the one before is done. Ledger
rows come first: a licence that is not allowed stops the version before anything of it is fetched.
"""


def add_parser(subparsers: Any) -> None:
    """Add `build` to the command line."""
    parser = subparsers.add_parser("build", help="materialize a version, layer by layer, with its checks")
    parser.set_defaults(run=run)
    parser.add_argument("version", metavar="VERSION", help="<dataset>.<version>, such as starter.v1")
    parser.add_argument("--workers", type=int, help="engine workers; changes no byte (default: CORPUS_WORKERS, else 2)")
    parser.add_argument("--memory", help="memory of one sort, such as 1GiB; changes no byte")
    parser.add_argument("--verbose", action="store_true", help="show Dagster's own log")


def run(args: argparse.Namespace) -> int:
    """0: built, every check passed or only warned; 1: a run or check failed. Raises ConfigError before any work."""
    key = VersionKey.parse(args.version)
    if args.workers is not None:
        os.environ["CORPUS_WORKERS"] = str(args.workers)
    if args.memory is not None:
        os.environ["CORPUS_MEMORY"] = args.memory
    return build(args.layout, key, verbose=args.verbose)


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


def build(layout: Layout, key: VersionKey, *, verbose: bool = False) -> int:
    """Build one version with progress; stops after the first layer in which something failed."""
    version = load_version(layout, key)  # what a person has to mend stops here, before any work
    check_rows(layout, version)
    from resources.engine import EngineResource  # loads Dagster, which takes seconds

    EngineResource().open(layout)
    environment.prepare(layout)
    warnings.filterwarnings("ignore", message=".*is currently in (beta|preview).*")
    import dagster as dg

    from corpus_assets.commands import dead_runs
    from corpus_assets.definitions import defs

    began = time.monotonic()
    with _database_in_words(layout), dg.DagsterInstance.get() as instance, dead_runs.this_process(layout) as tags:
        if buried := dead_runs.bury(layout, instance):
            said = words.counted(buried, "run")
            print(f"marked as failed: {said} of killed processes; their finished parts are used")
        builder = Builder(defs.resolve_implicit_global_asset_job_def(), instance, tags, verbose)
        builder.observe("ledger", "corpus_config", "eval_sets")
        for number, (kind, assets) in enumerate(LAYERS, 1):
            print(f"layer {number} of {len(LAYERS)}: {', '.join(assets)}")
            partitions = [str(pair) for pair in version.pairs] if kind == PAIR else [str(key)]
            failed = [partition for partition in partitions if not builder.materialize(partition, assets)]
            if failed:
                stopped = f"{key} stopped: {', '.join(failed)} failed; mend what is named above and run again"
                print(stopped, file=sys.stderr)
                return 1
    print(f"{key} is built, in {time.monotonic() - began:.1f} s: {layout.version(key)}")
    print(f"what is in it, for people: {layout.evidence(key) / evidence.DATASHEET_HTML}")
    return 0


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

    def materialize(self, partition: str, assets: Sequence[str]) -> bool:
        """Materialize the assets of one partition with their checks. False when a step or a blocking check failed."""
        from corpus_assets.alerts import failed_checks, failed_steps

        began = time.monotonic()
        with heard_by(_StatusLine(partition)):
            result = self._run(partition, assets)
        seconds = time.monotonic() - began
        clear = "\x1b[K" if sys.stdout.isatty() else ""
        print(f"{clear}  {'ok    ' if result.success else 'FAILED'} {partition:32} {seconds:6.1f} s  {_rows(result)}")
        for check in failed_checks(self.instance, result.run_id):
            print(f"    {check['severity']} {check['asset']}/{check['check']}: {check['description']}")
        for step in failed_steps(self.instance, result.run_id):
            print(f"    failed: {step['step']}: {words.of_step_error(step['error'])}")
        return result.success

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


@contextmanager
def _database_in_words(layout: Layout) -> Iterator[None]:
    """Raises OSError for what Dagster's database cannot do: a full disk, a file it may not write or does not know."""
    from sqlalchemy.exc import DatabaseError

    try:
        yield
    except DatabaseError as error:
        raise OSError(errno.EIO, str(error.orig), str(layout.root / environment.HISTORY)) from None


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
