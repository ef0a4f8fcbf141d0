"""The engine contract: three verbs over datasets of Parquet shards. No Dagster here, no engine either.

Tasks name their function as `module:function` (workers import the same wheel; no pickled closures). Functions are pure:
any cut of the rows into batches gives the same rows out. Then every engine gives the same bytes: it only schedules and
sorts. What it runs for a shard or a bucket is map_task, reduce_task and slice_task, which read and write every shard by
row_batches.
"""

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from formats.dataset import DEFAULT_ROW_GROUP_BYTES, Dataset
from formats.errors import ConfigError

Batches = Iterator[pa.RecordBatch]


def load(name: str) -> Callable[..., Any]:
    """The function called `module:function`. Raises ConfigError when there is none."""
    module, _, function = name.partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (ModuleNotFoundError, AttributeError, ValueError) as error:
        raise ConfigError(f"{name!r} names no function ({error}); expected an importable module:function") from error


@dataclass(frozen=True)
class Task:
    """A function by name, its arguments, and per shard (by id) further ones. Arguments are picklable values.

    map_batches calls `fn(batch, *side_tables, **args, **per_shard[id])`. sort_reduce calls `fn(bucket, batches,
    **args)` and takes the batches it yields; a generator may return whole numbers by name, which the output's notes
    sum up.
    """

    fn: str
    args: dict[str, Any] = field(default_factory=dict)
    per_shard: dict[int, dict[str, Any]] = field(default_factory=dict)

    def load(self) -> Callable[..., Any]:
        return load(self.fn)


@dataclass(frozen=True)
class Dest:
    """Where output goes and how its files are cut. `writer` is `module:function` with write_shard's signature."""

    folder: Path
    schema: pa.Schema
    row_group_bytes: int = DEFAULT_ROW_GROUP_BYTES
    writer: str = "formats.dataset:write_shard"
    name: str = "part-{id:05d}.parquet"

    def path(self, shard_id: int) -> Path:
        return self.folder / self.name.format(id=shard_id)


@dataclass(frozen=True)
class First:
    """What a sort makes of each shard before it sorts: rows of `schema`, by a task as map_batches runs it."""

    task: Task
    schema: pa.Schema
    sides: Sequence[Dataset] = ()


class Engine(Protocol):
    """What a plan may ask for. Every engine gives the same bytes.

    Shards appear under their names one by one, each whole; the caller publishes the folder when the verb has returned.
    A verb that raises or is killed leaves whole shards and names that start with a dot, never a cut one under its name.
    Raises CorruptDataError for a source shard that is not what its manifest says, ConfigError for a wrong call, and
    what the task raised, as raised.
    """

    @property
    def memory_bytes(self) -> int:
        """What a step may take in the calling process. A plan may choose by it how it works, never what comes out."""
        ...

    def map_batches(self, source: Dataset, task: Task, out: Dest, *, sides: Sequence[Dataset] = ()) -> Dataset:
        """Shard i -> shard i, same row order. `sides` are joined by shard id: the task gets each one's whole shard as
        one table (an empty one where it has no such shard), so a side is small or cut like its source.
        """
        ...

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
        """The rows, or with `first` what that makes of them, so that they need not be stored in between; grouped by the
        stored integer column `bucket`, each bucket sorted by `keys` and streamed to the task, written to the shard of
        that number; a number without rows has no shard. The task may stop early.

        Keys are signed integers (ascending), strings or binaries (by bytes), without nulls, and a total order: rows
        with equal keys are equal in every column, else ConfigError. Raises NotConvergedError when the sorter broke
        the order.
        """
        ...

    def slice_rows(self, source: Dataset, rows_per_shard: int, out: Dest) -> Dataset:
        """The rows in order, cut into shards 0, 1, … of exactly `rows_per_shard` rows (the last one shorter); no rows
        give one empty shard.
        """
        ...
