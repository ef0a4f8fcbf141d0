"""What every engine runs for a shard that is mapped: its task over its batches, beside its sides."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from formats.dataset import Dataset
from formats.parquet_file import Shard
from resources.engines.contract import Batches, Dest, Task
from resources.engines.row_batches import bounded, conform, read_batches, write


@dataclass(frozen=True)
class MapItem:
    """One shard to map with no more than it needs, since it travels to a worker: itself, its arguments, its sides."""

    source: Dataset
    task: Task
    sides: tuple[Dataset, ...]

    @property
    def shard(self) -> Shard:
        return self.source.shards[0]


def map_items(source: Dataset, task: Task, sides: Sequence[Dataset]) -> list[MapItem]:
    """What there is to map, shard by shard."""
    by_id = [{shard.id: shard for shard in side.shards} for side in sides]
    items = []
    for shard in source.shards:
        own = {shard.id: task.per_shard[shard.id]} if shard.id in task.per_shard else {}
        beside = tuple(
            replace(side, shards=(shards[shard.id],) if shard.id in shards else ())
            for side, shards in zip(sides, by_id, strict=True)
        )
        items.append(MapItem(replace(source, shards=(shard,)), replace(task, per_shard=own), beside))
    return items


def map_shard(shard: Shard, batches: Batches, task: Task, out: Dest, sides: Sequence[pa.Table]) -> Shard:
    """Map the rows of one shard, however they are cut into batches."""
    return write(shard.id, apply(shard, batches, task, sides), task.fn, out)


def apply(shard: Shard, batches: Batches, task: Task, sides: Sequence[pa.Table]) -> Batches:
    """What the task makes of each batch of the shard."""
    fn = task.load()
    args = task.args | task.per_shard.get(shard.id, {})
    return (fn(batch, *sides, **args) for batch in batches)


def side_table(side: Dataset, shard_id: int) -> pa.Table:
    """The side's whole shard of that id, or an empty table."""
    shard = side.shard(shard_id)
    batches = () if shard is None else read_batches(side, shard)
    return pa.Table.from_batches(batches, side.schema)


def first_mapped(item: MapItem, schema: pa.Schema) -> Batches:
    """What the item's task makes of its shard, in `schema`; batches are bounded as those of a stored shard are."""
    sides = [side_table(side, item.shard.id) for side in item.sides]
    made = apply(item.shard, read_batches(item.source, item.shard), item.task, sides)
    return bounded(conform(made, schema, item.task.fn, "let the task return the columns that are sorted"))
