"""Claims about many runs and partitions, in counts; `python -m tests.load` has the figures."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
