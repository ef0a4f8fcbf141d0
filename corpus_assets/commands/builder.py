"""Runs of the graph in this process, into the instance that the UI shows: what `corpus build` and `corpus tokenize` do
a partition with.
"""

import os
import signal
import sqlite3
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.commands import environment, words
from corpus_assets.commands.progress_line import ProgressLine
from formats.errors import TransientError
from formats.layout import Layout
from resources import run_process
from resources.progress import heard_by
from resources.remote.address import VARIABLE as STORE_VARIABLE

if TYPE_CHECKING:
    import dagster as dg

    from corpus_assets.commands.unchanged import Finding


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
        run_process.this_process(layout) as tags,
    ):
        if buried := dead_runs.bury(layout, instance):
            said = words.counted(buried, "run")
            print(f"marked as failed: {said} of killed processes; their finished parts are used")
        checks = sorted(defs.resolve_asset_graph().asset_check_keys)
        job = defs.resolve_implicit_global_asset_job_def()
        pools.make(instance, job)
        yield Builder(job, instance, tags, verbose), checks


@dataclass(frozen=True)
class Builder:
    """Runs assets in this process; a line of progress a run, and the words of what did not pass."""

    job: "dg.JobDefinition"
    instance: "dg.DagsterInstance"
    tags: dict[str, str]
    verbose: bool
    failed: list[str] = field(default_factory=list)
    """Checks that failed and stopped nothing, by asset, name and partition."""

    def observe(self, *inputs: str) -> None:
        """Note the inputs' data versions: what is materialized before the first observation would never turn stale."""
        self._run(None, inputs)

    def tell_unchanged(self, partition: str, found: "Finding") -> None:
        """A line of a partition whose last run stands, and what its checks warned of."""
        verified = f", {words.counted(found.num_files, 'file')} verified" if found.num_files else ""
        print(f"  same   {partition:32} as run {str(found.run_id)[:8]} left it{verified}")
        self._tell_checks(partition, found.warnings)

    def materialize(self, partition: str, assets: Sequence[str]) -> str | None:
        """Materialize the assets of one partition with their checks; the run's id, None when a step or a blocking check
        failed.
        """
        from corpus_assets.alerts import failed_checks, failed_steps

        began = time.monotonic()
        with heard_by(ProgressLine(partition, sys.stdout)):
            result = self._run(partition, assets)
        seconds = time.monotonic() - began
        clear = "\x1b[K" if sys.stdout.isatty() else ""
        print(f"{clear}  {'ok    ' if result.success else 'FAILED'} {partition:32} {seconds:6.1f} s  {_rows(result)}")
        self._tell_checks(partition, failed_checks(self.instance, result.run_id), stops=not result.success)
        for step in failed_steps(self.instance, result.run_id):
            print(f"    failed: {step['step']}: {words.of_step_error(step['error'])}")
        return result.run_id if result.success else None

    def store_too(self, partition: str, asset: str) -> bool:
        """Where a store is named, let it have what was published; False where that failed."""
        if not os.environ.get(STORE_VARIABLE):
            return True
        print(f"store: {asset}")
        return self.materialize(partition, (asset,)) is not None

    def tell_failed(self, what: str) -> None:
        """At the end of a command that made `what`: the checks that failed and stopped nothing."""
        if self.failed:
            said = f"{words.counted(len(self.failed), 'check')} failed, and stopped nothing"
            print(f"look before {what} is used: {said}: {', '.join(self.failed)}", file=sys.stderr)

    def _tell_checks(self, partition: str, checks: Iterable[dict[str, Any]], *, stops: bool = False) -> None:
        for check in checks:
            name = f"{check['asset']}/{check['check']}"
            print(f"    {check['severity']} {name}: {check['description']}")
            if check["severity"] == "ERROR" and not stops:
                self.failed.append(f"{name} of {partition}")

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
    """Raises TransientError for what Dagster's database cannot do: a full disk, a file it may not write or does not
    know, a server that is away.
    """
    from sqlalchemy.exc import DatabaseError

    try:
        yield
    except Exception as error:  # raised again unless it is one of the database
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


def _rows(result: "dg.ExecuteInProcessResult") -> str:
    rows = {
        event.asset_key.to_user_string(): event.materialization.metadata.get("dagster/row_count")
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }
    return ", ".join(f"{name} {value.value:,}" for name, value in rows.items() if value is not None)
