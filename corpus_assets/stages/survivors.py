"""What dedup decided for each document that entered it: its cluster, and whether it stays."""

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.place_rows import make_ids
from corpus_assets.stages.side_rows import rows_of, take_or_null
from formats.reasons import Reason

CODE_VERSION = "1"

DECISIONS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        pa.field("verdict", pa.large_string(), nullable=False),
        pa.field("root", pa.int64(), nullable=False),
        pa.field("cluster_id", pa.large_string(), nullable=False),
        pa.field("keeper_id", pa.large_string()),
        pa.field("keeper_raw_part", pa.int32()),
        pa.field("keeper_jaccard", pa.int64()),
    ]
)
"""Documents that have a duplicate. Dropped ones name their keeper; Jaccard in millionths, null for exact duplicates."""

SURVIVORS = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("rank", pa.int64(), nullable=False),
        pa.field("root", pa.int64(), nullable=False),
        pa.field("lang", pa.large_string(), nullable=False),
        pa.field("verdict", pa.large_string(), nullable=False),
        pa.field("cluster_id", pa.large_string(), nullable=False),
        pa.field("keeper_id", pa.large_string()),
        pa.field("keeper_raw_part", pa.int32()),
        pa.field("keeper_jaccard", pa.int64()),
    ]
)
"""Every document that entered dedup. rank is its place in keeper order; root is the rank of its cluster's first."""


def survivors(batch: pa.RecordBatch, decisions: pa.Table, *, source_id: str) -> pa.RecordBatch:
    """RANKS rows -> SURVIVORS rows; a document without a decision is kept, a cluster of its own."""
    at = rows_of(batch, decisions)
    kept = pa.scalar(Reason.KEPT.value, pa.large_string())
    columns = {name: take_or_null(decisions, name, at) for name in ("keeper_id", "keeper_raw_part", "keeper_jaccard")}
    columns |= {name: batch.column(name) for name in ("k", "rank", "lang")}
    columns["root"] = pc.coalesce(take_or_null(decisions, "root", at), batch.column("rank"))
    columns["verdict"] = pc.fill_null(take_or_null(decisions, "verdict", at), kept)
    columns["cluster_id"] = pc.coalesce(
        take_or_null(decisions, "cluster_id", at), make_ids(source_id, batch.column("k"))
    )
    return pa.RecordBatch.from_arrays([columns[name] for name in SURVIVORS.names], schema=SURVIVORS)
