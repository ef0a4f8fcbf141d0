"""The engines that the suite runs on. A further engine is one more entry of ENGINES."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from resources.engines import runs, sorter, spark_session
from resources.engines.contract import Engine
from resources.engines.local import LocalEngine
from resources.engines.spark import SparkEngine
from tests.conformance.adversarial import AdversarialEngine

MB = 1024 * 1024


def _local(workers: int, processes: bool, memory: int) -> Callable[[Path, pytest.MonkeyPatch], Engine]:
    def make(scratch: Path, _patch: pytest.MonkeyPatch) -> Engine:
        return LocalEngine(scratch=scratch, workers=workers, processes=processes, memory_bytes=memory)

    return make


def _always_out_of_core(scratch: Path, patch: pytest.MonkeyPatch) -> Engine:
    """Limits so low that the suite's small datasets take the paths of large ones: runs on disk, and DuckDB."""
    patch.setattr(runs, "MAX_RUN_BYTES", 20_000)
    patch.setattr(runs, "STORED_BATCH_BYTES", 5_000)
    patch.setattr(runs, "BATCH_BYTES", 3_000)
    patch.setattr(sorter, "IN_MEMORY_ROWS", 10)
    return LocalEngine(scratch=scratch, workers=2, processes=False, memory_bytes=128 * MB)


SPARK_MASTER = os.environ.get("CORPUS_TEST_SPARK", "local[2]")
REPOSITORY = Path(__file__).parents[2]
_FOR_SHORT_RUNS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
LIGHT_JVM = {f"spark.{who}.extraJavaOptions": _FOR_SHORT_RUNS for who in ("driver", "executor")}
LIGHT_JVM["spark.sql.codegen.wholeStage"] = "false"
"""A JVM that compiles little and collects in one thread starts in half the CPU."""
WORKERS_FIND_TESTS = {"spark.executorEnv.PYTHONPATH": str(REPOSITORY)}


def _spark(scratch: Path, patch: pytest.MonkeyPatch) -> Engine:
    """On one context for all tests of a process. Its workers find the tasks of the tests in this checkout."""
    if needed := spark_session.missing():
        pytest.skip(f"Spark: {needed}")
    patch.setenv("PYTHONPATH", str(REPOSITORY))
    conf = {} if SPARK_MASTER.startswith("sc://") else LIGHT_JVM | WORKERS_FIND_TESTS
    return SparkEngine(address=SPARK_MASTER, scratch=scratch, sort_tasks=3, conf=conf)


ENGINES: dict[str, Callable[[Path, pytest.MonkeyPatch], Engine]] = {
    "1-thread-128MB": _local(1, False, 128 * MB),
    "1-thread-1GB": _local(1, False, 1024 * MB),
    "2-threads-128MB": _local(2, False, 128 * MB),
    "2-threads-1GB": _local(2, False, 1024 * MB),
    "4-threads-128MB": _local(4, False, 128 * MB),
    "2-processes-128MB": _local(2, True, 128 * MB),
    "2-processes-1GB": _local(2, True, 1024 * MB),
    "out-of-core": _always_out_of_core,
    "adversarial": lambda _scratch, _patch: AdversarialEngine(seed=7),
    "adversarial-otherwise": lambda _scratch, _patch: AdversarialEngine(seed=8),
    "spark": _spark,
}


ONE_OF_A_KIND = ("1-thread-1GB", "2-threads-1GB", "2-processes-1GB", "out-of-core", "adversarial", "spark")
"""Enough for what is refused: limits play no part there."""


def _marked(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow) if name == "spark" else name for name in names]


@pytest.fixture(params=_marked(ENGINES))
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    return ENGINES[request.param](tmp_path / "scratch", monkeypatch)


@pytest.fixture(params=_marked(ONE_OF_A_KIND))
def strict_engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    return ENGINES[request.param](tmp_path / "scratch", monkeypatch)
