"""Both sensors under a real daemon: from ledger and config to the published version, without a person."""

import time
from pathlib import Path
from threading import Event

import pytest

from formats import durable
from formats.naming import VersionKey
from tests.assets import tiny, ui
from tests.assets.test_ingest_daemon import runs

pytestmark = pytest.mark.slow
BLOCKED = VersionKey("tiny", "blocked")


def test_a_daemon_publishes_the_version_that_a_build_publishes_and_no_version_with_a_refused_source(
    tmp_path: Path,
) -> None:
    layout = tiny.unbuilt(tmp_path / "root")
    tiny.write_config(layout, BLOCKED, sources=["tales", "web"], licenses={"allow": ["CC0-1.0"]})
    of_pairs = sorted(map(str, tiny.PAIRS))
    expected = sorted(
        [(pair, "SUCCESS") for pair in [*of_pairs, *of_pairs, f"tales@{BLOCKED}", str(tiny.V1), str(tiny.V1)]]
        + [(f"web@{BLOCKED}", "FAILURE")]
    )
    with ui.running(layout.root) as served:
        served.start_sensor("ingest_new_sources")
        served.start_sensor("make_new_versions")
        until = time.monotonic() + 900
        while (found := runs(served)) != expected and time.monotonic() < until:
            Event().wait(1)
        assert found == expected
    assert durable.read_lock(layout.lock(tiny.V1)) == durable.read_lock(tiny.built().lock(tiny.V1))
    assert not layout.version(BLOCKED).exists()
