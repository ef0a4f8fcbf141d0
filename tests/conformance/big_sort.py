"""Sort a made-up dataset in a process of its own and print rows in, rows out, and the peak of its memory in MiB.

python -m tests.conformance.big_sort FOLDER BYTES_A_ROW TOTAL_MIB BUDGET_MIB; 0 bytes a row means numbers alone.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from formats.dataset import Dataset, read_table, write_shard
from formats.parquet_file import Shard
from resources.engines.contract import Dest, Task
from resources.engines.local import LocalEngine

MIB = 1024 * 1024
SHARDS = 20
NUMBERS = pa.schema([("bucket", pa.int32()), ("key", pa.int64())])
TEXTS = NUMBERS.append(pa.field("text", pa.large_string()))
peak = 0


def anonymous_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon"))


def look(*_: Any) -> None:
    global peak
    peak = max(peak, anonymous_bytes())


def rows(shard: int, row_bytes: int, shard_bytes: int) -> Iterator[pa.RecordBatch]:
    """Keys that no two shards share, in random order."""
    keys = np.random.default_rng(shard).permutation(shard_bytes // (row_bytes or 12)) * SHARDS + shard
    for part in np.array_split(keys, 1 + shard_bytes // (4 * MIB)):
        columns = [pa.array(part % 7, pa.int32()), pa.array(part)]
        if row_bytes:
            columns.append(pa.array([str(key).ljust(row_bytes, "t") for key in part], pa.large_string()))
        yield pa.record_batch(columns, TEXTS if row_bytes else NUMBERS)


def count_rows(
    shard_id: int, path: Path, batches: Iterable[pa.RecordBatch], _schema: pa.Schema, *, row_group_bytes: int
) -> Shard:
    """A writer that keeps the number of rows, so that writing takes no time."""
    counted = 0
    for batch in batches:
        look()
        counted += len(batch)
    count = pa.record_batch([[shard_id], [counted]], NUMBERS)
    return write_shard(shard_id, path, [count], NUMBERS, row_group_bytes=row_group_bytes)


def main() -> None:
    folder, (row_bytes, total, budget) = Path(sys.argv[1]), map(int, sys.argv[2:])
    schema = TEXTS if row_bytes else NUMBERS
    shards = [
        write_shard(
            i, folder / f"{i}.parquet", rows(i, row_bytes, total * MIB // SHARDS), schema, row_group_bytes=4 * MIB
        )
        for i in range(SHARDS)
    ]
    source = Dataset(schema, tuple(shards))
    engine = LocalEngine(scratch=folder / "scratch", workers=2, memory_bytes=budget * MIB, progress=look)
    before = anonymous_bytes()
    out = Dest(folder / "out", schema, writer="tests.conformance.big_sort:count_rows")
    made = engine.sort_reduce(source, Task("tests.conformance.workload:as_is"), out, bucket="bucket", keys=["key"])
    counts = Dataset(NUMBERS, made.shards)
    print(source.rows, sum(read_table(counts)["key"].to_pylist()), (peak - before) // MIB)


if __name__ == "__main__":
    from tests.conformance import big_sort  # by its name, as the engine loads the writer

    big_sort.main()
