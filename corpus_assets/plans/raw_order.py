"""Rows that were sorted for a step, put back: cut like the raw parts of the version, in the order of its documents."""

from pathlib import Path

from formats.dataset import Dataset
from resources.engines.contract import Dest, Engine, Task


def in_raw_order(engine: Engine, rows: Dataset, folder: Path) -> Dataset:
    """The same rows, those of a `shard` in the shard of that number, by `k`."""
    task = Task("corpus_assets.stages.sorted_rows:as_they_come")
    return engine.sort_reduce(rows, task, Dest(folder, rows.schema), bucket="shard", keys=("k",))
