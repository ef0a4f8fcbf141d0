"""The engine contract: three verbs over datasets of Parquet shards. No Dagster here, no engine either.

Tasks name their function as `module:function` (workers import the same wheel; no pickled closures). Functions are pure:
any cut of the rows into batches gives the same rows out.
"""

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from formats.dataset import DEFAULT_ROW_GROUP_BYTES, Dataset

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Task:
    """A function by name, its arguments, and per shard (by id) further ones. Arguments are picklable values.

    map_batches calls `fn(batch, **args, **per_shard[id])`, or `fn(batch, side_table, …)` when it has a side;
    sort_reduce calls `fn(bucket, batches, **args)` and takes the batches it yields.
    """

    fn: str
    args: dict[str, Any] = field(default_factory=dict)
    per_shard: dict[int, dict[str, Any]] = field(default_factory=dict)

    def load(self) -> Callable[..., Any]:
        module, _, name = self.fn.partition(":")
        return getattr(importlib.import_module(module), name)


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


class Engine(Protocol):
    """What a plan may ask for. Every engine gives the same bytes."""

    def map_batches(self, source: Dataset, task: Task, out: Dest, *, side: Dataset | None = None) -> Dataset:
        """Shard i -> shard i, same row order. `side` is joined by shard id: the task gets the whole side shard as one
        table (an empty one where the side has no such shard), so a side is small or cut like its source.
        """
        ...

    def sort_reduce(self, source: Dataset, task: Task, out: Dest, *, bucket: str, keys: Sequence[str]) -> Dataset:
        """Rows grouped by the stored integer column `bucket`, each bucket sorted by `keys` (a total order, no nulls;
        integers ascending, strings and binaries by bytes) and streamed to the task, written to the shard of that number.
        """
        ...

    def slice_rows(self, source: Dataset, rows_per_shard: int, out: Dest) -> Dataset:
        """The rows in order, cut into shards of exactly `rows_per_shard` rows (the last one shorter)."""
        ...
