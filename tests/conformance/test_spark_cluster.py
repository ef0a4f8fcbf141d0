"""Spark with two executors in processes of their own, one of them lost in the middle; and Spark behind Connect.

A process can have one Spark context, so these run in processes of their own.
"""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from resources.engines import spark_session
from resources.engines.contract import Task
from resources.engines.local import LocalEngine
from tests import ports
from tests.conformance.conftest import LIGHT_JVM, REPOSITORY
from tests.conformance.spark_cluster import digests
from tests.conformance.workload import HERE

MASTER = "local-cluster[2,1,1024]"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(spark_session.missing() is not None, reason=f"Spark: {spark_session.missing()}"),
]


def run(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    settings = {**os.environ, "PYTHONPATH": str(REPOSITORY), **environment}
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        command, cwd=REPOSITORY, env=settings, capture_output=True, text=True, timeout=2400, check=False
    )


def test_an_executor_killed_in_a_map_and_in_a_sort_changes_no_byte(tmp_path):
    ran = run("tests.conformance.spark_cluster", str(tmp_path / "spark"), MASTER)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert {path.name for path in (tmp_path / "spark").glob("killed*")} == {"killed in the map", "killed in the sort"}
    local = LocalEngine(scratch=tmp_path / "scratch", workers=1, processes=False)
    expected = digests(local, tmp_path / "local", Task(f"{HERE}:twice"), Task(f"{HERE}:as_is"))
    assert ran.stdout.split()[-2:] == expected


CHOSEN = "spark and (gives or sides or reducer or dataset_without or one_order or comes_out or slices)"
"""Each verb, and failures that cross to the caller."""


def suite_at(address: str, folder: Path) -> None:
    words = ("pytest", "-q", "tests/conformance/test_engines.py", f"--basetemp={folder}", "-k", CHOSEN)
    ran = run(*words, CORPUS_TEST_SPARK=address)
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert "skipped" not in ran.stdout


def test_the_suite_holds_on_a_cluster(tmp_path):
    suite_at(MASTER, tmp_path / "suite")


@pytest.fixture
def connect_address(tmp_path):
    """A Connect server on this machine, for as long as the test runs."""
    port = ports.free()
    conf = LIGHT_JVM | {
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(tmp_path),
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    server = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal")
    python = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        [Path(sys.executable).with_name("spark-submit"), "--master", "local[2]", *settings, *server],
        env={**os.environ, **python},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr
        said = []
        for line in process.stderr:
            said.append(line)
            if "Connect server started at" in line:
                break
        else:
            pytest.fail(f"no Connect server: {''.join(said[-20:])}")
        drain = threading.Thread(target=process.stderr.read, daemon=True)
        drain.start()
        yield f"sc://127.0.0.1:{port}"
        os.killpg(process.pid, signal.SIGKILL)


def test_the_suite_holds_over_connect(connect_address, tmp_path):
    suite_at(connect_address, tmp_path / "suite")
