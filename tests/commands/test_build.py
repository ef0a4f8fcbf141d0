"""`corpus build` before and around its runs: what stops it at once, and runs whose process died."""

import os
import signal
import subprocess
import sys

import dagster as dg
import pytest

from corpus_assets import cli
from corpus_assets.commands import dead_runs
from formats.layout import Layout
from tests.assets import tiny

HOLDER = """
import sys, time
from pathlib import Path
from corpus_assets.commands.dead_runs import this_process
from formats.layout import Layout
with this_process(Layout(Path(sys.argv[1]))) as tags:
    print(tags["corpus/process"], flush=True)
    sys.stdin.read()
"""


def holder(root):
    """A process that says it builds in `root`, until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().strip()


def started_run(instance, token):
    run = instance.create_run_for_job(job_def=dg.define_asset_job("nothing").resolve(asset_graph=graph()))
    instance.add_run_tags(run.run_id, {dead_runs.TAG: token})
    instance.report_dagster_event(
        dg.DagsterEvent(event_type_value=dg.DagsterEventType.RUN_START.value, job_name=run.job_name), run.run_id
    )
    return run.run_id


def graph():
    @dg.asset
    def one() -> None: ...

    return dg.Definitions(assets=[one]).resolve_asset_graph()


def test_the_runs_of_a_killed_process_are_marked_and_those_of_a_living_one_are_left(tmp_path):
    layout = Layout(tmp_path)
    killed, killed_token = holder(tmp_path)
    alive, alive_token = holder(tmp_path)
    try:
        with dg.DagsterInstance.ephemeral() as instance:
            dead_run, live_run = started_run(instance, killed_token), started_run(instance, alive_token)
            assert dead_runs.bury(layout, instance) == 0
            os.kill(killed.pid, signal.SIGKILL)
            killed.wait()
            assert dead_runs.bury(layout, instance) == 1
            assert instance.get_run_by_id(dead_run).status == dg.DagsterRunStatus.FAILURE
            assert instance.get_run_by_id(live_run).status == dg.DagsterRunStatus.STARTED
    finally:
        for process in (killed, alive):
            process.kill()
            process.communicate()


def test_a_process_that_ends_well_leaves_no_lock(tmp_path):
    layout = Layout(tmp_path)
    with dead_runs.this_process(layout):
        assert list(layout.work("locks", "x").parent.glob("process-*"))
    assert not list(layout.work("locks", "x").parent.glob("process-*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["build", "nodots"], "version key 'nodots' has no dot"),
        (["build", "starter.v9"], "v9.yaml"),
        (["build", "Starter.v1"], "is not a name"),
    ],
)
def test_a_version_that_is_none_stops_before_any_work(tmp_path, capsys, words, said):
    assert cli.main(["--root", str(tmp_path), *words]) == cli.WRONG_USAGE
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


STOPPED = """
import os, signal, sys
import {module}
from corpus_assets import cli

as_it_is = {module}.{function}

def then_the_signal(*args, **options):
    os.kill(os.getpid(), signal.{signal})
    return as_it_is(*args, **options)

{module}.{function} = then_the_signal
sys.exit(cli.main(["--root", sys.argv[1], "build", "tiny.v1"]))
"""


@pytest.mark.parametrize(
    ("module", "function", "name"),
    [
        ("corpus_assets.plans.pinned", "todays_value", "SIGINT"),  # inside a step
        ("corpus_assets.plans.pinned", "todays_value", "SIGTERM"),
        ("corpus_assets.alerts", "failed_checks", "SIGINT"),  # between two runs
    ],
)
def test_ctrl_c_stops_the_whole_build_in_words(tmp_path, module, function, name):
    layout = tiny.unbuilt(tmp_path)
    program = STOPPED.format(module=module, function=function, signal=name)
    words = [sys.executable, "-c", program, str(tmp_path)]
    stopped = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (stopped.returncode, stopped.stderr) == (130, "corpus: stopped; a rerun goes on from what is finished\n")
    assert "FAILED" not in stopped.stdout
    assert "tales" not in stopped.stdout
    assert not list(layout.work("locks", "x").parent.glob("process-*"))
