"""Dagster's history, written at the speed of a build instead of that of the disk. The history is what it would be.

Dagster opens its SQLite files anew for each of the thousands of events of a build, and every commit and every last
close waits for the disk. Here a commit waits for nothing (in WAL mode a kill loses nothing and a power cut at most the
last events, never the file), and the files stay open, so that no close is the last one.
"""

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg
from dagster._core.instance.ref import InstanceRef
from sqlalchemy import event
from sqlalchemy.engine import Engine

HELD_FILES = 8
"""Files kept open: runs, schedules and index, and those of the latest runs, each of which has one of its own."""
BUSY_SECONDS = 30

_NO_CAPTURE = {
    "compute_logs": {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
}


def open_instance() -> dg.DagsterInstance:
    """The instance of DAGSTER_HOME, without what captures a run's output: for every run Dagster would start four
    processes, each for a moment a copy of this one, to mirror what no stage prints. Events and logs are kept as ever.
    """
    return dg.DagsterInstance.from_ref(InstanceRef.from_dir(os.environ["DAGSTER_HOME"], overrides=_NO_CAPTURE))


@contextmanager
def written_quickly() -> Iterator[None]:
    """Every SQLite file that SQLAlchemy opens in this process meanwhile."""
    held: OrderedDict[str, sqlite3.Connection] = OrderedDict()

    def opened(connection: Any, _: Any) -> None:
        if not isinstance(connection, sqlite3.Connection):
            return
        path = connection.execute("pragma database_list").fetchone()[2]
        if not path or connection.execute("pragma journal_mode").fetchone()[0] != "wal":
            return  # in memory, or not yet a file of Dagster's
        connection.execute("pragma synchronous = normal")
        _hold(held, path)

    event.listen(Engine, "connect", opened)
    try:
        yield
    finally:
        event.remove(Engine, "connect", opened)
        for connection in held.values():
            connection.close()


def _hold(held: OrderedDict[str, sqlite3.Connection], path: str) -> None:
    if path in held:
        held.move_to_end(path)
        return
    held[path] = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
    held[path].execute(
        "select count(*) from sqlite_master"
    ).fetchone()  # only a reader keeps the log from being folded in
    while len(held) > HELD_FILES:
        held.popitem(last=False)[1].close()
