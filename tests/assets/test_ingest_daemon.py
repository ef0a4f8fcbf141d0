"""The ingest sensor under a real daemon: a run a new source, stopped by its blocking check, and none twice."""

import time
from pathlib import Path
from threading import Event

import pytest

from formats.naming import VersionKey
from tests.assets import tiny, ui

pytestmark = pytest.mark.slow
BLOCKED = VersionKey("tiny", "blocked")
_RUNS = "{ runsOrError { ... on Runs { results { status tags { key value } } } } }"


def runs(served: ui.Ui) -> list[tuple[str, str]]:
    """(partition, status) of every run."""
    found = []
    for run in served.query(_RUNS)["runsOrError"]["results"]:
        tags = {tag["key"]: tag["value"] for tag in run["tags"]}
        found.append((tags["dagster/partition"], run["status"]))
    return sorted(found)


def test_a_daemon_runs_each_new_source_once_and_blocking_checks_stop_what_is_not_allowed(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path / "root")
    tiny.write_config(layout, BLOCKED, sources=["web"], licenses={"allow": ["CC0-1.0"]})
    expected = sorted([(str(pair), "SUCCESS") for pair in tiny.PAIRS] + [(f"web@{BLOCKED}", "FAILURE")])
    with ui.running(layout.root) as served:
        served.start_sensor("ingest_new_sources")
        until = time.monotonic() + 600
        while (found := runs(served)) != expected and time.monotonic() < until:
            Event().wait(1)
        assert found == expected
        served.wait_for_line(rf"ingest_new_sources skipped: web@{BLOCKED}: was asked for as it is now", 300)
        assert runs(served) == expected
