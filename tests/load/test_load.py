"""Claims about many runs and partitions, in counts; `python -m tests.load` has the figures."""

import atexit
import gc
import json
import logging
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import dagster as dg
import pytest

from resources.store import Store
from resources.webhook import Webhook
from tests.assets import graph
from tests.load import roots
from tests.load.concurrent_runs import MESSAGES

pytestmark = pytest.mark.slow
PROJECT = Path(__file__).resolve().parents[2]
RUNS, ASSETS = 32, 2


@pytest.mark.parametrize("how", [[], ["--quickly"]], ids=["as the daemon runs", "as corpus build runs"])
def test_of_32_runs_at_once_on_the_default_instance_no_event_is_lost(tmp_path, how):
    shutil.copyfile(PROJECT / "dagster.yaml", tmp_path / "dagster.yaml")
    words = [sys.executable, "-W", "ignore", "-m", "tests.load.concurrent_runs", str(tmp_path), str(RUNS), str(ASSETS)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run([*words, *how], capture_output=True, text=True, check=False, cwd=PROJECT, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["runs"]) == RUNS
    for run in found["runs"]:
        assert run["success"]
        assert run["seen"]["ASSET_MATERIALIZATION"] == run["seen"]["ASSET_CHECK_EVALUATION"] == ASSETS
        assert {name: run["kept"].get(name) for name in run["seen"]} == run["seen"]
        assert run["messages"] == ASSETS * MESSAGES
    assert found["materialized"] == {f"asset_{number}": RUNS for number in range(ASSETS)}


def test_sensors_hold_nothing_from_tick_to_tick_however_many_runs_there_are(tmp_path, monkeypatch):
    """What the daemon's process would grow by, of ours. The first ticks fill caches."""
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # pytest keeps what is logged
    layout, held = roots.make(tmp_path / "root", 2, 2), []
    with graph.loaded(layout) as defs, dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        from corpus_assets import alerts, ingest

        ran = graph.run(defs, instance, None, *graph.INPUTS)
        (end,) = ran.filter_events(lambda event: event.event_type_value == "PIPELINE_SUCCESS")
        run = instance.get_run_by_id(ran.run_id)
        tracemalloc.start()
        try:
            for ticks in (20, 20, 80):
                for _ in range(ticks):
                    told = dg.build_run_status_sensor_context(
                        "alerts", dagster_event=end, dagster_instance=instance, dagster_run=run
                    )
                    alerts.alert(told, Webhook(url="http://127.0.0.1:9/").receivers())
                    with dg.build_sensor_context(
                        instance, resources={"store": Store(root=str(layout.root))}
                    ) as context:
                        assert len(ingest.ingest_new_sources(context).run_requests) == 4
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    assert held[2] - held[1] < 100_000, held


def test_a_code_server_keeps_nothing_of_the_history_that_each_tick_opens(tmp_path):
    layout = roots.make(tmp_path / "root", 1, 1)
    with graph.loaded(layout), dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        ref, held = instance.get_ref(), []
        for _ in range(3):
            with dg.DagsterInstance.from_ref(ref) as opened:
                opened.get_runs_count()
            held.append(atexit._ncallbacks())
    assert len(set(held)) == 1, held
