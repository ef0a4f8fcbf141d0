"""The engine as a Dagster resource: which one, how many workers, how much memory, where spills go. None of it changes a
byte.
"""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import dagster as dg

from formats.errors import ConfigError
from formats.layout import Layout
from resources import progress
from resources.engines import spark_address, spark_session
from resources.engines.contract import Engine
from resources.engines.local import LocalEngine
from resources.engines.spark import SparkEngine

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.IGNORECASE)
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def parse_bytes(size: str) -> int:
    """`1GB` is 10^9 bytes, `1GiB` 2^30. Raises ConfigError for anything without a unit."""
    match = _SIZE.fullmatch(size.strip())
    if match is None:
        raise ConfigError(f"memory {size!r} is no size; expected a number and a unit, such as 512MB or 2GiB")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def _default_workers() -> int:
    value = os.environ.get("CORPUS_WORKERS", "2")
    if not value.isdecimal():
        raise ConfigError(f"CORPUS_WORKERS is {value!r}; expected a whole number of workers")
    return int(value)


def _words(command: str) -> list[str]:
    """The words of a command line. Raises ConfigError where quotes do not close."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ConfigError(
            f"engine spark_submit (CORPUS_SPARK_SUBMIT): {command!r} is no command line ({error}); mend its quotes"
        ) from None


class EngineResource(dg.ConfigurableResource):
    """Settings of the engine. Unset ones come from the environment: CORPUS_WORKERS (else 2), CORPUS_MEMORY (else 1GiB),
    CORPUS_SPARK and CORPUS_SPARK_SUBMIT (else the embedded engine).

    `memory` bounds one sort; a process takes some 0.3 GB beside it, so a run should do one heavy step at a time.
    `spark` is a master (local[2], spark://…, yarn, k8s://…) or a Connect address (sc://…); `spark_submit` is a command
    such as `spark-submit --master yarn`, under which each stage runs as a job of its own. `spark_conf` goes to the
    session.
    """

    workers: int | None = None
    memory: str | None = None
    scratch_dir: str | None = None
    processes: bool | None = None
    spark: str | None = None
    spark_submit: str | None = None
    spark_conf: dict[str, str] = {}  # noqa: RUF012 pydantic copies it
    sort_tasks: int | None = None

    @property
    def num_workers(self) -> int:
        return _default_workers() if self.workers is None else self.workers

    def open(self, layout: Layout, context: dg.AssetExecutionContext | None = None) -> Engine:
        """The engine; spills go to `scratch_dir`, by default below the work folder. With `spark_submit`, the stage of
        `context` is run before this returns, and what it made is found. Raises ConfigError, and what that stage raised.
        """
        scratch = Path(self.scratch_dir) if self.scratch_dir else layout.corpus / "work" / "scratch"
        memory_bytes = parse_bytes(self.memory or os.environ.get("CORPUS_MEMORY", "1GiB"))

        def shards_done(done: int, total: int, rows: int) -> None:
            progress.tell(f"shards of {rows:,} rows", done, total)

        address = self._set(self.spark, "CORPUS_SPARK")
        command = _words(self._set(self.spark_submit, "CORPUS_SPARK_SUBMIT"))
        if address and command:
            raise ConfigError(
                "engine: both spark and spark_submit (CORPUS_SPARK, CORPUS_SPARK_SUBMIT) are set; unset one of them"
            )
        of_spark: dict[str, Any] = {
            "conf": self.spark_conf,
            "sort_tasks": 4 * self.num_workers if self.sort_tasks is None else self.sort_tasks,
        }
        if address:
            spark_session.check(address, self.spark_conf)
            return SparkEngine(
                address=address, scratch=scratch, memory_bytes=memory_bytes, progress=shards_done, **of_spark
            )
        spark_address.check_command(command, "engine spark_submit (CORPUS_SPARK_SUBMIT)")
        if command and context is not None:
            from resources import submitted  # only here: it is needed seldom

            submitted.run(context, command, layout, of_spark)
        return LocalEngine(
            scratch=scratch,
            workers=self.num_workers,
            memory_bytes=memory_bytes,
            processes=self.processes,
            progress=shards_done,
        )

    @staticmethod
    def _set(value: str | None, variable: str) -> str:
        return os.environ.get(variable, "") if value is None else value
