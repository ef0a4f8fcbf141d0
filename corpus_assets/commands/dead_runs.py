"""Runs whose process is gone: they would hold their pool slots and places in the queue for ever, and whoever waits for
their end would wait, too.

A history that machines or roots share (PostgreSQL) has runs of processes whose locks cannot be asked here: these are
left alone.
"""

import dagster as dg

from formats import durable
from formats.layout import Layout
from resources import run_process

_UNFINISHED = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def bury(layout: Layout, instance: dg.DagsterInstance) -> int:
    """Mark the runs of dead processes as failed and free their slots; returns how many."""
    found = 0
    for run in instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)):
        token = run.tags.get(run_process.TAG)
        if token is None:
            continue  # the daemon's own, not begun yet: its run monitoring sees to it
        here = run_process.place(layout)
        if run.tags.get(run_process.PLACE_TAG, here) != here:
            continue
        lock = run_process.lock_of(layout, token)
        if durable.is_held(lock):
            continue
        now = instance.get_run_by_id(run.run_id)
        if now is None or now.is_finished:  # it ended well since it was looked up, and let go of its lock then
            continue
        instance.report_run_failed(run, "its process is gone: killed, or the machine went down")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        lock.unlink(missing_ok=True)
        found += 1
    return found
