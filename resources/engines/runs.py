"""Sort rows that carry text: sorted runs in one scratch file, merged in the order that a sort of their keys gives.

Each run is sorted in memory and written once. Its rows' keys go, with the run's number, through `sort_narrow`; within a
run the merged order is the written order, so the merge reads every run from start to end: no random access, no k-way
compare in Python, and text passes memory twice whatever its size.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain, count, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from formats.row_groups import row_sizes
from resources.engines.contract import Batches
from resources.engines.row_batches import BATCH_BYTES, cuts
from resources.engines.scratch import spill_folder
from resources.engines.sorter import sort_in_memory, sort_narrow
from resources.engines.streams import Stream

RUN_SHARE = 4
"""A run takes 1/4 of the budget at most, 1/2 while it is being sorted; the sort of the keys has the other half."""
MAX_RUN_BYTES = 1024 * 1024 * 1024
"""So that columns with 32-bit offsets can be joined."""
FIRST_RUN_BYTES, RUNS_OF_ONE_SIZE = 16 * 1024 * 1024, 64
"""Runs begin small and double after so many: memory follows the need, not the budget, and a merge has few runs."""
STORED_BATCH_BYTES = 256 * 1024
"""What the merge holds of each run."""


MAX_NARROW_BYTES = 64
"""A binary column of fixed width up to this goes through DuckDB with the keys."""


def sort_batches(
    batches: Batches, schema: pa.Schema, order: Sequence[str], *, memory_bytes: int, threads: int, scratch: Path
) -> Stream:
    """All rows, ascending by the columns of `order`: integers by value, strings and binaries by bytes."""
    if not _carries_text(schema, order):
        yield from sort_narrow(batches, schema, order, memory_bytes=memory_bytes, threads=threads, scratch=scratch)
        return
    sizes = _run_sizes(memory_bytes)
    first = _take_run(batches, size := next(sizes))
    if sum(batch.nbytes for batch in first) <= size:
        yield from sort_in_memory(first, schema, order, BATCH_BYTES)
        return
    rest = iter(lambda: _take_run(batches, next(sizes)), [])
    yield from _merge_runs(chain([first], rest), schema, order, memory_bytes // 2, threads, scratch)


def _run_sizes(memory_bytes: int) -> Iterator[int]:
    """Bytes of each run, one after the other."""
    most = min(memory_bytes // RUN_SHARE, MAX_RUN_BYTES)
    for number in count():
        yield min(most, FIRST_RUN_BYTES << min(number // RUNS_OF_ONE_SIZE, 16))


def _carries_text(schema: pa.Schema, order: Sequence[str]) -> bool:
    """Whether there is a column beside the keys whose values may be long."""
    kinds = [field.type for field in schema if field.name not in order]
    return not all(
        pa.types.is_primitive(kind) or (pa.types.is_fixed_size_binary(kind) and kind.byte_width <= MAX_NARROW_BYTES)
        for kind in kinds
    )


def _take_run(batches: Batches, max_bytes: int) -> list[pa.RecordBatch]:
    """The next batches: the first that pass `max_bytes` together, or all that are left."""
    held: list[pa.RecordBatch] = []
    num_bytes = 0
    for batch in batches:
        held.append(batch)
        num_bytes += batch.nbytes
        if num_bytes > max_bytes:
            break
    return held


def _merge_runs(
    runs: Iterator[list[pa.RecordBatch]],
    schema: pa.Schema,
    order: Sequence[str],
    memory_bytes: int,
    threads: int,
    scratch: Path,
) -> Stream:
    with spill_folder(scratch) as folder:
        stored = _StoredRuns(folder / "runs.arrow", schema)
        keys = sort_narrow(
            stored.write(runs, order),
            stored.key_schema(order),
            [f"key{i}" for i in range(len(order))],
            memory_bytes=memory_bytes,
            threads=threads,
            scratch=scratch,
        )
        with closing(keys):
            yield from stored.merge(keys)


class _StoredRuns:
    """Runs in one Arrow file, after each other; run r is its batches borders[r] <= i < borders[r + 1]."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path, self.schema = path, schema
        self.borders = [0]

    def key_schema(self, order: Sequence[str]) -> pa.Schema:
        kinds = [self.schema.field(name).type for name in order]
        return pa.schema(
            [*((f"key{i}", kind) for i, kind in enumerate(kinds)), ("run", pa.int32()), ("num_bytes", pa.int64())]
        )

    def write(self, runs: Iterator[list[pa.RecordBatch]], order: Sequence[str]) -> Batches:
        """Sort and store each run; yields the keys of its rows, with the run's number and the row's size."""
        key_schema = self.key_schema(order)
        with pa.OSFile(str(self.path), "wb") as sink, pa.ipc.new_file(sink, self.schema) as file:
            for number, run in enumerate(runs):
                stored = self.borders[-1]
                for batch in sort_in_memory(run, self.schema, order, STORED_BATCH_BYTES):
                    file.write_batch(batch)
                    stored += 1
                    tail = [pa.repeat(pa.scalar(number, pa.int32()), batch.num_rows), pa.array(row_sizes(batch))]
                    yield pa.record_batch([*(batch.column(name) for name in order), *tail], schema=key_schema)
                self.borders.append(stored)

    def merge(self, keys: Batches) -> Batches:
        """The rows in the order of `keys`, in batches of at most BATCH_BYTES (a longer row comes alone)."""
        cursors: list[_Cursor] = []
        with ExitStack() as opened:
            for batch in keys:
                if not cursors:  # the first sorted key comes after the last run was written
                    # Read, not mapped: a mapped file would be resident memory as a whole by the end of the merge.
                    file = pa.ipc.open_file(opened.enter_context(pa.OSFile(str(self.path))))
                    cursors = [_Cursor(file, *border) for border in pairwise(self.borders)]
                runs = batch.column("run").to_numpy()
                for start, stop in cuts(batch.column("num_bytes").to_numpy(), BATCH_BYTES, batch.num_rows):
                    yield _gather(runs[start:stop], cursors)


class _Cursor:
    """The rows of one run, from start to end."""

    def __init__(self, file: pa.ipc.RecordBatchFileReader, first: int, end: int) -> None:
        self.file, self.next, self.end = file, first, end
        self.batch: pa.RecordBatch | None = None

    def take(self, rows: int) -> Iterator[pa.RecordBatch]:
        """The next rows, as they lie in the file."""
        while rows:
            if self.batch is None or self.batch.num_rows == 0:
                self.batch = self.file.get_batch(self.next)
                self.next += 1
            part = self.batch.slice(0, rows)
            self.batch = self.batch.slice(part.num_rows)
            rows -= part.num_rows
            yield part


def _gather(runs: np.ndarray, cursors: list[_Cursor]) -> pa.RecordBatch:
    """Row i is the next row of run runs[i]."""
    by_run = np.argsort(runs, kind="stable")
    numbers, counts = np.unique(runs, return_counts=True)
    parts = [part for r, n in zip(numbers, counts, strict=True) for part in cursors[r].take(int(n))]
    place = np.empty(len(runs), np.int64)
    place[by_run] = np.arange(len(runs))
    return pa.concat_batches(parts).take(pa.array(place))
