"""What every engine runs for rows that are sorted: a look at them before, their buckets and the task of each after."""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from formats.dataset import Dataset
from formats.errors import ConfigError, CorruptDataError
from formats.parquet_file import Shard
from resources.engines.contract import Batches, Dest, Task
from resources.engines.order_check import ordered
from resources.engines.row_batches import bounded, read_batches, write


def check_sort(schema: pa.Schema, bucket: str, keys: Sequence[str]) -> None:
    """Raise ConfigError unless the columns exist and every engine orders their types alike.

    Unsigned integers are refused: Spark has none, and a bit view as int64 sorts otherwise. Floats have no one order.
    """
    for name in (bucket, *keys):
        if schema.get_field_index(name) < 0:
            raise ConfigError(f"sort_reduce: no column {name!r}; expected one of {', '.join(schema.names)}")
        kind = schema.field(name).type
        if pa.types.is_signed_integer(kind):
            continue
        if name == bucket or not (
            pa.types.is_string(kind)
            or pa.types.is_large_string(kind)
            or pa.types.is_binary(kind)
            or pa.types.is_large_binary(kind)
            or pa.types.is_fixed_size_binary(kind)
        ):
            wanted = "a signed integer" if name == bucket else "a signed integer, string or binary"
            raise ConfigError(f"sort_reduce: column {name!r} is {kind}; expected {wanted}")


def read_to_sort(source: Dataset, shard: Shard, bucket: str, keys: Sequence[str]) -> Batches:
    """The shard's rows, after a look at bucket and keys. Raises CorruptDataError for a null or a bucket below 0."""
    return fit_to_sort(read_batches(source, shard), shard, bucket, keys)


def fit_to_sort(batches: Iterable[pa.RecordBatch], shard: Shard, bucket: str, keys: Sequence[str]) -> Batches:
    """The batches that come of the shard, after a look at bucket and keys. Raises as `read_to_sort` does."""
    todo = "mend the stage that wrote it and materialize it again"
    for batch in batches:
        for name in (bucket, *keys):
            if batch.column(name).null_count:
                raise CorruptDataError(shard.path, f"column {name}", "no nulls", "null", todo)
        if (lowest := pc.min(batch.column(bucket)).as_py()) < 0:
            raise CorruptDataError(shard.path, f"column {bucket}", "a shard number, 0 or more", lowest, todo)
        yield batch


def by_bucket(batches: Batches, bucket: str) -> Iterator[tuple[int, Batches]]:
    """(bucket, its batches) in order. What the caller leaves of a bucket is read past, still checked."""

    def runs() -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches:
            numbers = batch.column(bucket).to_numpy()
            borders = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for start, stop in pairwise(borders):
                yield int(numbers[start]), batch.slice(start, stop - start)

    for number, group in groupby(runs(), key=itemgetter(0)):
        yield number, (part for _, part in group)


Notes = dict[str, int]


def reduce_buckets(
    batches: Batches, task: Task, out: Dest, *, bucket: str, keys: Sequence[str]
) -> Iterator[tuple[Shard, Notes]]:
    """Run the task over sorted rows, bucket after bucket; yields each shard when it is written, with its notes."""
    fn = task.load()
    for number, group in by_bucket(ordered(bounded(batches), bucket, keys), bucket):
        notes: Notes = {}
        yield write(number, _noting(fn(number, group, **task.args), notes), task.fn, out), notes


def _noting(batches: Generator[pa.RecordBatch, None, Notes | None], notes: Notes) -> Batches:
    """The batches of a task; what the task returns at its end goes into `notes`."""
    notes.update((yield from batches) or {})


def gathered(schema: pa.Schema, made: Iterable[tuple[Shard, Notes]]) -> Dataset:
    """The dataset of the shards made, in the order of their ids; notes are summed."""
    shards, total = [], Counter[str]()
    for shard, notes in made:
        shards.append(shard)
        total.update(notes)
    return Dataset(schema, tuple(sorted(shards, key=lambda shard: shard.id)), dict(sorted(total.items())))
