"""Runs whose process is gone: they would hold their pool slots for ever, and a rerun would wait for them.

Each building process holds a lock on a file of its own and names it in the tags of its runs. A run whose lock nobody
holds any more has died; locks, unlike process ids, are never taken over by a stranger. A history that machines or roots
share (PostgreSQL) has runs of processes whose locks cannot be asked here: these are left alone.
"""

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import dagster as dg

from formats import durable
from formats.layout import Layout

TAG, PLACE_TAG = "corpus/process", "corpus/place"
_UNFINISHED = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def _lock(layout: Layout, token: str) -> Path:
    return layout.work("locks", f"process-{token}")


def _place(layout: Layout) -> str:
    """Where locks can be asked: this machine and root."""
    return f"{socket.gethostname()}:{layout.root}"


@contextmanager
def this_process(layout: Layout) -> Iterator[dict[str, str]]:
    """The tags of this process's runs, while it lives."""
    token = secrets.token_hex(8)
    lock = _lock(layout, token)
    with durable.one_at_a_time(lock):
        try:
            yield {TAG: token, PLACE_TAG: _place(layout)}
        finally:
            with suppress(OSError):  # what went wrong before is the error to see; `bury` removes the lock
                lock.unlink()


def bury(layout: Layout, instance: dg.DagsterInstance) -> int:
    """Mark the runs of dead processes as failed and free their slots; returns how many."""
    found = 0
    for run in instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)):
        token = run.tags.get(TAG)
        if token is None:
            continue  # the daemon's own: its run monitoring sees to it
        if run.tags.get(PLACE_TAG, _place(layout)) != _place(layout):
            continue
        lock = _lock(layout, token)
        if durable.is_held(lock):
            continue
        instance.report_run_failed(run, "its process is gone: killed, or the machine went down")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        lock.unlink(missing_ok=True)
        found += 1
    return found
