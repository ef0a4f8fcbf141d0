"""An engine that does everything an engine may do and plans must not notice: odd batch cuts, shards in any order, every
task run twice, buckets in any order. Its sorter is Python's `sorted` over Python values.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from formats.dataset import Dataset
from formats.parquet_file import Shard, verified
from resources.engines import map_task, reduce_task, row_batches, slice_task
from resources.engines.contract import Dest, First, Task


@dataclass
class AdversarialEngine:
    seed: int = 0
    memory_bytes: int = 0
    """So little that plans hold nothing in memory that they can sort."""
    draws: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.draws = random.Random(self.seed)

    def map_batches(self, source: Dataset, task: Task, out: Dest, *, sides: Sequence[Dataset] = ()) -> Dataset:
        def map_one(shard: Shard) -> Shard:
            tables = [map_task.side_table(side, shard.id) for side in sides]
            return map_task.map_shard(shard, self._recut(row_batches.read_batches(source, shard)), task, out, tables)

        return Dataset(out.schema, tuple(self._in_any_order(map_one, source.shards)))

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
        if first:
            stored = Dest(out.folder.with_name(out.folder.name + "-first"), first.schema)
            source = self.map_batches(source, first.task, stored, sides=first.sides)
        reduce_task.check_sort(source.schema, bucket, keys)
        rows: dict[int, list[dict[str, Any]]] = {}
        for shard in source.shards:
            for batch in reduce_task.read_to_sort(source, shard, bucket, keys):
                for row in batch.to_pylist():
                    rows.setdefault(row[bucket], []).append(row)

        def reduce_one(number: int) -> tuple[Shard, dict[str, int]]:
            ordered = sorted(rows[number], key=lambda row: [_bytes_first(row[key]) for key in keys])
            batches = self._recut(pa.Table.from_pylist(ordered, source.schema).to_batches())
            ((shard, notes),) = reduce_task.reduce_buckets(batches, task, out, bucket=bucket, keys=keys)
            return shard, notes

        return reduce_task.gathered(out.schema, self._in_any_order(reduce_one, sorted(rows)))

    def slice_rows(self, source: Dataset, rows_per_shard: int, out: Dest) -> Dataset:
        plan = slice_task.slice_plan(source, rows_per_shard)
        for shard in source.shards:
            verified(shard)

        def slice_one(item: tuple[int, tuple[slice_task.Piece, ...]]) -> Shard:
            number, pieces = item
            return row_batches.write(
                number, self._recut(slice_task.read_pieces(pieces, source.schema)), "slice_rows", out
            )

        return Dataset(out.schema, tuple(self._in_any_order(slice_one, list(enumerate(plan)))))

    def _in_any_order(self, task: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Every item twice, in a drawn order; the second attempt must agree with the first."""
        attempts = [*range(len(items)), *range(len(items))]
        self.draws.shuffle(attempts)
        done: dict[int, Any] = {}
        for i in attempts:
            result = task(items[i])
            assert done.setdefault(i, result) == result, "a retried task gave other bytes"
        return [done[i] for i in range(len(items))]

    def _recut(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same rows in batches of 0 to 50 rows, each a slice somewhere in a larger buffer."""
        for batch in batches:
            start = 0
            while start < batch.num_rows:
                part = batch.slice(start, self.draws.randrange(50))
                start += part.num_rows
                yield part


def _bytes_first(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value
