"""The embedded engine: one machine, a pool of threads or processes, and DuckDB as out-of-core sorter.

Same bytes for every number of workers, kind of pool and memory budget (tests/conformance).
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from formats.dataset import Dataset
from formats.errors import ConfigError
from formats.parquet_file import Shard, verified
from resources.engines import map_task, reduce_task, row_batches, slice_task
from resources.engines.contract import Batches, Dest, First, Task
from resources.engines.pool import ShardsDone, run
from resources.engines.runs import sort_batches
from resources.engines.streams import Stop, ahead, until_stopped

MIN_MEMORY_BYTES = 64 * 1024 * 1024
PROCESSES_FROM_BYTES = 256 * 1024 * 1024
"""Stored bytes from which a map pays for processes, when nobody said which pool to take."""
PROCESSES_FROM_WORKERS = 5
"""Fewer workers are as fast on threads, in the memory of one process: heavy stages hold the interpreter's lock for a
seventh of their time at most (sampled), so that four seldom wait for one another.
"""

AHEAD = 2
"""Batches that reading and sorting may be ahead of the reducer, with more than one worker."""


@dataclass(frozen=True, kw_only=True)
class LocalEngine:
    """`scratch` holds spills only and is left empty. `progress(done, total, rows)` counts source shards, which have so
    many rows together; during a sort it is called from another thread. `processes` None means: processes for large
    inputs and many workers, else threads.
    """

    scratch: Path
    workers: int = 2
    memory_bytes: int = 1024 * 1024 * 1024
    processes: bool | None = None
    progress: ShardsDone | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ConfigError(f"engine workers is {self.workers}; expected at least 1")
        if self.memory_bytes < MIN_MEMORY_BYTES:
            raise ConfigError(f"engine memory is {self.memory_bytes} bytes; expected at least {MIN_MEMORY_BYTES}")

    def map_batches(self, source: Dataset, task: Task, out: Dest, *, sides: Sequence[Dataset] = ()) -> Dataset:
        """See Engine. Shards run at the same time, each in one worker."""
        task.load()
        items = map_task.map_items(source, task, sides)
        with _memory_given_back():
            return Dataset(out.schema, tuple(self._run(partial(_map, out=out), items, source)))

    def sort_reduce(
        self,
        source: Dataset,
        task: Task,
        out: Dest,
        *,
        bucket: str,
        keys: Sequence[str],
        first: First | None = None,
    ) -> Dataset:
        """See Engine. Buckets run one after the other in the calling thread; reading and sorting go on behind."""
        task.load()
        schema = first.schema if first else source.schema
        reduce_task.check_sort(schema, bucket, keys)
        stop = threading.Event()
        depth = AHEAD if self.workers > 1 else 0
        read = ahead(until_stopped(self._rows_to_sort(source, first, bucket, keys), stop), depth, threading.Event())
        order = list(dict.fromkeys((bucket, *keys)))
        rows = sort_batches(
            read, schema, order, memory_bytes=self.memory_bytes, threads=self.workers, scratch=self.scratch
        )
        with _memory_given_back(), closing(read), closing(ahead(rows, depth, stop)) as in_order:
            return reduce_task.gathered(
                out.schema, reduce_task.reduce_buckets(in_order, task, out, bucket=bucket, keys=keys)
            )

    def slice_rows(self, source: Dataset, rows_per_shard: int, out: Dest) -> Dataset:
        """See Engine. Every source shard is verified once, then only the row groups needed are read."""
        plan = slice_task.slice_plan(source, rows_per_shard)
        self._run(_verify, source.shards, source)
        job = partial(_slice, schema=source.schema, out=out)
        return Dataset(out.schema, tuple(self._run(job, list(enumerate(plan)), source)))

    def _rows_to_sort(self, source: Dataset, first: First | None, bucket: str, keys: Sequence[str]) -> Batches:
        items = map_task.map_items(source, first.task, first.sides) if first else []
        rows = source.rows
        for done, shard in enumerate(source.shards, 1):
            if first:
                made = map_task.first_mapped(items[done - 1], first.schema)
                yield from reduce_task.fit_to_sort(made, shard, bucket, keys)
            else:
                yield from reduce_task.read_to_sort(source, shard, bucket, keys)
            if self.progress:
                self.progress(done, len(source.shards), rows)

    def _run(self, job: Any, items: Sequence[Any], source: Dataset) -> list[Any]:
        large = self.workers >= PROCESSES_FROM_WORKERS and source.num_bytes >= PROCESSES_FROM_BYTES
        processes = large if self.processes is None else self.processes
        told, rows = self.progress, source.rows
        progress = (lambda done, total: told(done, total, rows)) if told else None
        return run(job, items, workers=self.workers, processes=processes, progress=progress)


@contextmanager
def _memory_given_back() -> Iterator[None]:
    """Arrow keeps what was freed for its next need, which is another stage's; the next peak would come on top of it."""
    try:
        yield
    finally:
        pa.default_memory_pool().release_unused()


def _map(item: map_task.MapItem, stop: Stop, *, out: Dest) -> Shard:
    batches = until_stopped(row_batches.read_batches(item.source, item.shard), stop)
    sides = [map_task.side_table(side, item.shard.id) for side in item.sides]
    return map_task.map_shard(item.shard, batches, item.task, out, sides)


def _slice(item: tuple[int, tuple[slice_task.Piece, ...]], stop: Stop, *, schema: Any, out: Dest) -> Shard:
    number, pieces = item
    return row_batches.write(number, until_stopped(slice_task.read_pieces(pieces, schema), stop), "slice_rows", out)


def _verify(shard: Shard, _stop: Stop) -> None:
    verified(shard)
