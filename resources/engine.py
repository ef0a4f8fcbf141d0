"""The engine as a Dagster resource: how many workers, how much memory, where spills go. None of it changes a byte."""

import os
import re
from functools import partial
from pathlib import Path

import dagster as dg

from formats.errors import ConfigError
from formats.layout import Layout
from resources import progress
from resources.engines.contract import Engine
from resources.engines.local import LocalEngine

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


class EngineResource(dg.ConfigurableResource):
    """Settings of the embedded engine. Unset ones come from CORPUS_WORKERS (else 2) and CORPUS_MEMORY (else 1GiB).

    `memory` bounds one sort; a process takes some 0.3 GB beside it, so a run should do one heavy step at a time.
    """

    workers: int | None = None
    memory: str | None = None
    scratch_dir: str | None = None
    processes: bool | None = None

    def open(self, layout: Layout) -> Engine:
        """The engine; spills go to `scratch_dir`, by default below the work folder. Raises ConfigError."""
        return LocalEngine(
            scratch=Path(self.scratch_dir) if self.scratch_dir else layout.corpus / "work" / "scratch",
            workers=_default_workers() if self.workers is None else self.workers,
            memory_bytes=parse_bytes(self.memory or os.environ.get("CORPUS_MEMORY", "1GiB")),
            processes=self.processes,
            progress=partial(progress.tell, "shards"),
        )
