"""Shards of a few rows, for the tests of formats."""

from pathlib import Path

import pyarrow as pa

from formats import dataset
from formats.parquet_file import Shard

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("text", pa.large_string())])


def batch(*texts: str | None, first: int = 0) -> pa.RecordBatch:
    columns = [pa.array(range(first, first + len(texts)), pa.int64()), pa.array(texts, pa.large_string())]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def write(path: Path, *batches: pa.RecordBatch, row_group_bytes: int = 1 << 20, shard_id: int = 0) -> Shard:
    return dataset.write_shard(shard_id, path, batches, SCHEMA, row_group_bytes=row_group_bytes)
