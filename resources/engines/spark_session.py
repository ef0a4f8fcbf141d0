"""A Spark session for the engine: where Spark is, what it must be set to, and what to do where it is missing.

A process has one Spark context at most, so a second address is refused; sessions of one address share it.
"""

import atexit
import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from formats.errors import ConfigError
from resources.engines import spark_address
from resources.engines.row_batches import BATCH_BYTES
from resources.engines.scratch import spill_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBMITTED = "submitted"
"""The address of the context that spark-submit has made for this process."""
PINNED = {
    # Else Spark may join partitions after the sort was planned.
    "spark.sql.adaptive.enabled": "false",
    # Rows alone would make fat batches of fat documents.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(BATCH_BYTES),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # A rule left out by somebody else's settings is a plan that nobody tested.
    "spark.sql.optimizer.excludedRules": "",
}
"""Settings of the session that the engine's results rest on; whoever asks for others is refused."""

_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
MIN_HEAP_BYTES = 640 * 1024 * 1024
"""Less than this Spark itself refuses."""


def missing(*, java: bool = True) -> str | None:
    """What Spark would need on this machine; None where it is all there."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed; install the extra: pip install 'corpus-assets[spark]'"
    home = os.environ.get("JAVA_HOME")
    if java and not (home and (Path(home) / "bin" / "java").exists()) and shutil.which("java") is None:
        return "there is no Java; install one (Debian: openjdk-17-jre-headless) or set JAVA_HOME"
    return None


def check(address: str, conf: Mapping[str, str]) -> None:
    """Raise ConfigError for an address or a setting that the engine cannot take, and for what this machine lacks."""
    if address != SUBMITTED:
        spark_address.check(address, "engine spark (CORPUS_SPARK)")
    for name, value in PINNED.items():
        if conf.get(name, value) != value:
            raise ConfigError(f"Spark setting {name} is {conf[name]!r}; the engine needs {value!r}: leave it out")
    if needed := missing(java=not address.startswith("sc://")):
        raise ConfigError(f"engine at {address!r}: {needed}")


def session(address: str, *, heap_bytes: int, scratch: Path, conf: Mapping[str, str]) -> "SparkSession":
    """A session of its own at `address`: a master (local[2], local-cluster[…], spark://…, yarn, k8s://…), a Connect
    address (sc://…), or SUBMITTED.

    `heap_bytes` and `scratch` are for masters on this machine. Raises ConfigError for what is missing or refused,
    TransientError where nobody answers.
    """
    check(address, conf)
    spark_address.reach(address)
    made = _connect(address, conf) if address.startswith("sc://") else _classic(address, heap_bytes, scratch, conf)
    _set(made, PINNED)
    return made


def _connect(address: str, conf: Mapping[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession

    made = SparkSession.builder.remote(address).getOrCreate()
    _set(made, conf)
    return made


def _classic(address: str, heap_bytes: int, scratch: Path, conf: Mapping[str, str]) -> "SparkSession":
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("corpus-assets")
    if address != SUBMITTED:
        running = SparkContext._active_spark_context
        if running is not None and running.master != address:
            raise ConfigError(
                f"this process has a Spark context at {running.master}, and {address} is asked for; use one a process"
            )
        here = address.startswith("local") and running is None
        settings = _settings_here(heap_bytes, _spills.enter_context(spill_folder(scratch))) if here else {}
        for name, value in (settings | dict(conf)).items():
            builder = builder.config(name, value)
        builder = builder.master(address)
    made = builder.getOrCreate().newSession()
    if address == SUBMITTED:
        _set(made, conf)
    return made


def _set(made: "SparkSession", conf: Mapping[str, str]) -> None:
    """Settings of a session whose context others have made; Spark itself refuses those that came too late."""
    for name, value in conf.items():
        made.conf.set(name, value)


_spills = ExitStack()
"""Holds the folder of Spark's spills until the process ends; if it is killed, the next sort sweeps the folder."""
atexit.register(_spills.close)


def _settings_here(heap_bytes: int, spills: Path) -> dict[str, str]:
    """For a master on this machine: workers run this Python (their default is whatever python3 is on PATH), one thread
    each, and spill where the engine may.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    heap = f"{max(heap_bytes, MIN_HEAP_BYTES) // 2**20}m"
    return (
        _LOCAL
        | {"spark.driver.memory": heap, "spark.local.dir": str(spills)}
        | {f"spark.executorEnv.{name}": "1" for name in _ONE_THREAD}
    )
