"""How the latest run of each partition ended, read from Dagster's own database without Dagster, which takes seconds to
load: its table of runs, read only. Where another storage is set, or its tables have another form, nothing is told.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime

from corpus_assets.commands.environment import HISTORY
from formats import durable
from formats.layout import Layout
from resources import run_process

_ENDED_BADLY = {"FAILURE": "failed", "CANCELED": "was canceled"}
_UNFINISHED = {"NOT_STARTED", "STARTING", "STARTED", "CANCELING"}
_LATEST = """
select runs.partition, runs.run_id, runs.status, runs.end_time,
       (select value from run_tags where run_tags.run_id = runs.run_id and run_tags."key" = ?)
from runs join (select max(id) as id from runs where partition is not null group by partition) as latest
on runs.id = latest.id
"""


@dataclass(frozen=True)
class BadEnd:
    """A partition whose latest run did not end well."""

    partition: str
    run_id: str
    how: str

    def __str__(self) -> str:
        return f"{self.partition}: its latest run {self.run_id[:8]} {self.how}; a build runs it again and says why"


def bad_ends(layout: Layout, partitions: Sequence[str]) -> dict[str, BadEnd]:
    """Those of the partitions whose latest run failed, was canceled, or whose process is gone."""
    path = layout.root / HISTORY / "history" / "runs.db"
    if not path.is_file():
        return {}
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            rows = database.execute(_LATEST, (run_process.TAG,)).fetchall()
    except sqlite3.Error:
        return {}
    wanted = set(partitions)
    found = (BadEnd(one, run, how) for one, run, *of in rows if one in wanted and (how := _how(layout, *of)))
    return {end.partition: end for end in found}


def _how(layout: Layout, status: str, ended: float | None, token: str | None) -> str | None:
    if status in _UNFINISHED:
        dead = token is not None and not durable.is_held(run_process.lock_of(layout, token))
        return "has lost its process" if dead else None
    if status not in _ENDED_BADLY:
        return None
    at = f" at {datetime.fromtimestamp(ended, UTC):%Y-%m-%d %H:%M} UTC" if ended else ""
    return f"{_ENDED_BADLY[status]}{at}"
