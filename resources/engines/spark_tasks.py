"""What Spark's Python workers run. Spark calls these by name, so its workers need the same wheels as the caller.

Every function takes and gives Arrow batches, as `mapInArrow` wants it. What a task raises travels in the words of the
failure, since Spark keeps nothing else of it; `raised` gets it back out of them.
"""

import base64
import pickle
import platform
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import pyarrow as pa

from formats.dataset import Dataset
from formats.errors import ConfigError
from formats.parquet_file import Shard, verified
from resources.engines import map_task, reduce_task, row_batches, slice_task, spark_rows
from resources.engines.contract import Batches, Dest, Task
from resources.engines.pool import portable

PINNED = ("corpus-assets", "numpy", "pyarrow")
"""Distributions whose versions show in the bytes of every shard."""
ITEM, ANSWER = "item", "answer"
_ANSWERS = pa.schema([(ANSWER, pa.binary())])
_MARK = re.compile(r"<corpus-task-error ([A-Za-z0-9+/=]+)>")


def versions() -> dict[str, str]:
    """What has to be the same in the caller and in every worker."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PINNED}}


class TaskFailedError(Exception):
    """What a task raised, in words that Spark hands on."""

    def __init__(self, error: Exception) -> None:
        packed = base64.b64encode(pickle.dumps(portable(error))).decode()
        super().__init__(f"{type(error).__name__}: {error} <corpus-task-error {packed}>")


def raised(words: str) -> BaseException | None:
    """What a task raised, from the words of Spark's failure; None where no task did."""
    found = _MARK.search(words)
    return pickle.loads(base64.b64decode(found[1])) if found else None


@dataclass(frozen=True)
class Job:
    """A function of an iterator of batches, run where the versions are the caller's."""

    run: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    versions: dict[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            if (found := versions()) != self.versions:
                raise ConfigError(
                    f"a Spark worker has {found}, expected {self.versions}; give the workers the same environment "
                    f"(PYSPARK_PYTHON, or the image of the cluster)"
                )
            yield from self.run(batches)
        except Exception as error:  # raised again by the engine, as it was
            raise TaskFailedError(error) from error


@dataclass(frozen=True)
class MapShards:
    """MapItems -> the shards made, each by the item's own task."""

    out: Dest

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for item in items(batches):
            rows = row_batches.read_batches(item.source, item.shard)
            sides = [map_task.side_table(side, item.shard.id) for side in item.sides]
            yield answer(map_task.map_shard(item.shard, rows, item.task, self.out, sides))


@dataclass(frozen=True)
class SliceShards:
    """(number, pieces) -> the shards made."""

    schema: pa.Schema
    out: Dest

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, pieces in items(batches):
            yield answer(row_batches.write(number, slice_task.read_pieces(pieces, self.schema), "slice_rows", self.out))


class VerifyShards:
    """Shards -> the same, once they were found to be what their manifest says."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for shard in items(batches):
            verified(shard)
            yield answer(shard)


@dataclass(frozen=True)
class ReadToSort:
    """Datasets of one shard -> their rows, as Spark carries them."""

    bucket: str
    keys: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for source in items(batches):
            rows = reduce_task.read_to_sort(source, source.shards[0], self.bucket, self.keys)
            yield from spark_rows.to_carry(rows, source.schema)


@dataclass(frozen=True)
class Reduced:
    """What one Spark task made of its buckets; `rows` is how many it was handed."""

    made: list[tuple[Shard, reduce_task.Notes]]
    rows: int


@dataclass(frozen=True)
class ReduceBuckets:
    """Sorted rows, as Spark carries them -> what the task makes of each bucket."""

    schema: pa.Schema
    task: Task
    out: Dest
    bucket: str
    keys: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counted = _Counted(spark_rows.back(batches, self.schema))
        made = list(reduce_task.reduce_buckets(iter(counted), self.task, self.out, bucket=self.bucket, keys=self.keys))
        yield answer(Reduced(made, counted.rows))


class _Counted:
    """Batches that count their rows as they pass."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches, self.rows = batches, 0

    def __iter__(self) -> Batches:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch


def items(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """What the caller packed, one a row."""
    for batch in batches:
        for packed in batch.column(batch.schema.get_field_index(ITEM)).to_pylist():
            yield pickle.loads(packed)


def answer(value: Any) -> pa.RecordBatch:
    """One row for the caller."""
    return pa.record_batch([[pickle.dumps(value)]], _ANSWERS)


def one_shard_each(source: Dataset) -> list[Dataset]:
    """The dataset shard by shard, to be read by as many tasks."""
    return [Dataset(source.schema, (shard,), reader=source.reader) for shard in source.shards]
