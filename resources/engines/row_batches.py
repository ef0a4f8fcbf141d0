"""Rows of a shard, in and out, in batches that are bounded by bytes as well as rows.

A batch of fat documents must not take the memory of a thousand thin ones.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from formats.dataset import Dataset
from formats.errors import SchemaMismatchError
from formats.parquet_file import REMAKE, Shard
from formats.row_groups import row_sizes
from resources.engines.contract import Batches, Dest, load

BATCH_BYTES = 4 * 1024 * 1024


def read_batches(source: Dataset, shard: Shard) -> Batches:
    """The shard's rows in order, in the source's schema; a batch has at most BATCH_BYTES (a longer row comes alone)."""
    rows = load(source.reader)(shard, columns=source.schema.names)
    return bounded(conform(rows, source.schema, shard.path, REMAKE))


def conform(batches: Iterable[pa.RecordBatch], schema: pa.Schema, where: str, todo: str) -> Batches:
    """The batches cast to `schema`. Raises SchemaMismatchError when columns or types do not fit it."""
    for batch in batches:
        if batch.schema == schema:
            yield batch
            continue
        if batch.schema.names != schema.names:
            raise SchemaMismatchError(where, "columns", schema.names, batch.schema.names, todo)
        try:
            yield batch.cast(schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise SchemaMismatchError(where, "columns", schema, f"{batch.schema} ({error})", todo) from error


def bounded(batches: Iterable[pa.RecordBatch], max_bytes: int = BATCH_BYTES) -> Batches:
    """The same rows in slices of at most `max_bytes` (by `row_sizes`); a longer row comes alone. No batch is empty."""
    for batch in batches:
        for start, stop in cuts(row_sizes(batch), max_bytes, batch.num_rows):
            yield batch.slice(start, stop - start)


def cuts(sizes: np.ndarray, max_bytes: int, max_rows: int) -> Iterator[tuple[int, int]]:
    """Consecutive rows (start, stop) of at most `max_bytes` and `max_rows`; a longer row comes alone."""
    ends = np.cumsum(sizes)
    start, taken = 0, 0
    while start < len(sizes):
        stop = int(np.searchsorted(ends, taken + max_bytes, side="right"))
        stop = min(max(stop, start + 1), start + max_rows)
        yield start, stop
        start, taken = stop, int(ends[stop - 1])


def write(shard_id: int, batches: Iterable[pa.RecordBatch], task_name: str, out: Dest) -> Shard:
    """Write one output shard by the destination's writer, which casts. Raises SchemaMismatchError, naming the task, for
    other columns than the destination's, or a null where it allows none.
    """
    rows = _fitting(batches, out.schema, task_name)
    return load(out.writer)(shard_id, out.path(shard_id), rows, out.schema, row_group_bytes=out.row_group_bytes)


def _fitting(batches: Iterable[pa.RecordBatch], schema: pa.Schema, task_name: str) -> Batches:
    todo = "let the task return the columns of its destination"
    for batch in batches:
        if batch.schema.names != schema.names:
            raise SchemaMismatchError(task_name, "columns", schema.names, batch.schema.names, todo)
        for field, column in zip(schema, batch.columns, strict=True):
            if not field.nullable and column.null_count:
                raise SchemaMismatchError(task_name, f"column {field.name}", "no nulls", "null", todo)
        yield batch
