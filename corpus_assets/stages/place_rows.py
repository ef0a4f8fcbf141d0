"""Where each published row goes: ids as strings in order, row numbers, clusters named by their smallest row."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.side_rows import column, rows_of, take_or_null
from formats.corpus_shard import SCHEMA
from formats.reasons import Reason
from formats.stage_tables import PII_KINDS

CODE_VERSION = "1"


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns])


IDS = _schema(
    ("bucket", pa.int32()), ("id", pa.large_string()), ("root", pa.int64()), ("shard", pa.int32()), ("k", pa.int64())
)
NUMBERED = _schema(
    ("bucket", pa.int32()), ("root", pa.int64()), ("row", pa.int64()), ("shard", pa.int32()), ("k", pa.int64())
)
PLACED = _schema(("shard", pa.int32()), ("k", pa.int64()), ("row", pa.int64()), ("cluster", pa.int64()))
"""A published row: its number in output order, and the smallest row number of its cluster."""

OUTPUT = pa.schema([
    pa.field("out_shard", pa.int32(), nullable=False),
    pa.field("row", pa.int64(), nullable=False),
    *(pa.field(f.name, pa.large_string() if f.type == pa.string() else f.type) for f in SCHEMA),
])  # fmt: skip


def make_ids(source_id: str, k: pa.Array) -> pa.Array:
    """`<source_id>:<k>` as large_string."""
    name, colon = pa.scalar(source_id, pa.large_string()), pa.scalar(":", pa.large_string())
    return pc.binary_join_element_wise(name, pc.cast(k, pa.large_string()), colon)


def ids(
    batch: pa.RecordBatch, survivors: pa.Table, withheld: pa.Table, *, source_id: str, shard: int
) -> pa.RecordBatch:
    """SCRUBBED rows -> IDS of those published. `withheld` are train rows too near a val row."""
    kept = pc.equal(batch.column("verdict"), pa.scalar(Reason.KEPT.value, pa.large_string()))
    batch = batch.filter(pc.and_(kept, pa.array(rows_of(batch, withheld) < 0)))
    k = batch.column("k")
    root = column(survivors, "root")[rows_of(batch, survivors)]
    n = len(k)
    columns = [
        pa.array(np.zeros(n, np.int32)),
        make_ids(source_id, k),
        pa.array(root),
        pa.array(np.full(n, shard, np.int32)),
        k,
    ]
    return pa.RecordBatch.from_arrays(columns, schema=IDS)


def number_rows(_bucket: int, batches: Iterator[pa.RecordBatch], *, num_buckets: int) -> Iterator[pa.RecordBatch]:
    """IDS in the order of their ids -> NUMBERED from 0, ready to be sorted by cluster root."""
    count = 0
    for batch in batches:
        n = batch.num_rows
        bucket = pa.array((column(batch, "root") % num_buckets).astype(np.int32))
        row = pa.array(np.arange(count, count + n, dtype=np.int64))
        count += n
        yield pa.RecordBatch.from_arrays([bucket, batch["root"], row, batch["shard"], batch["k"]], schema=NUMBERED)


def smallest_rows(_bucket: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """NUMBERED rows sorted by (root, row) -> PLACED, each with the first row of its root."""
    last_root, last_row = -1, -1
    for batch in batches:
        root, row = column(batch, "root"), column(batch, "row")
        if len(root) == 0:
            continue
        starts = np.ones(len(root), np.bool_)
        starts[1:] = root[1:] != root[:-1]
        starts[0] = int(root[0]) != last_root
        cluster = np.concatenate(([last_row], row[starts]))[np.cumsum(starts)]
        last_root, last_row = int(root[-1]), int(cluster[-1])
        yield pa.RecordBatch.from_arrays([batch["shard"], batch["k"], batch["row"], pa.array(cluster)], schema=PLACED)


def output_rows(
    batch: pa.RecordBatch,
    placed: pa.Table,
    signals: pa.Table,
    documents: pa.Table,
    *,
    source_id: str,
    license_spdx: str,
    shard_rows: int,
) -> pa.RecordBatch:
    """SCRUBBED rows -> the columns of the corpus shard, with the shard and row each goes to."""
    at = rows_of(batch, placed)
    inside = np.flatnonzero(at >= 0)
    batch, at = batch.take(pa.array(inside)), at[inside]
    row = column(placed, "row")[at] if len(at) else np.zeros(0, np.int64)
    counts = [batch.column(f"pii_{kind}") for kind in PII_KINDS]
    redactions = counts[0]
    for count in counts[1:]:
        redactions = pc.add(redactions, count)
    columns = {
        "out_shard": pa.array((row // shard_rows).astype(np.int32)),
        "row": pa.array(row),
        "id": make_ids(source_id, batch.column("k")),
        "text": batch.column("text"),
        "source_id": pa.array([source_id] * len(at), pa.large_string()),
        "url": take_or_null(documents, "url", rows_of(batch, documents)),
        "license_spdx": pa.array([license_spdx] * len(at), pa.large_string()),
        "lang": take_or_null(signals, "lang", rows_of(batch, signals)),
        "n_chars": pc.cast(batch.column("n_chars"), pa.int32()),
        "sha256": batch.column("sha256"),
        "minhash_cluster": take_or_null(placed, "cluster", at),
        "pii_redactions": pc.cast(redactions, pa.int32()),
        "split": batch.column("split"),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in OUTPUT.names], schema=OUTPUT)


def as_shard(_bucket: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """OUTPUT rows sorted by row -> rows of the corpus shard."""
    for batch in batches:
        yield batch.select(SCHEMA.names).cast(SCHEMA)
