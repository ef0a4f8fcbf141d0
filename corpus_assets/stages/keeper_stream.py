"""The keeper walk over sorted edges: for graphs whose edges do not fit into memory. One bit a document is all it holds.

Which way keepers were found is no part of an identity: the walk over arrays gives the same, and a test holds the two
against each other.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.components import KeeperStream
from corpus_assets.stages.side_rows import column

CODE_VERSION = "1"

DROPPED = pa.schema([pa.field(n, pa.int64(), nullable=False) for n in ("rank", "keeper", "jaccard")])
ENDS = pa.schema([pa.field("bucket", pa.int32(), nullable=False), *DROPPED])
"""Edges by their later end; all in one bucket, since who is kept depends on all before."""


def by_later_end(batch: pa.RecordBatch) -> pa.RecordBatch:
    """EDGES rows -> ENDS."""
    a, b = column(batch, "a"), column(batch, "b")
    bucket = pa.array(np.zeros(len(a), np.int32))
    columns = [bucket, pa.array(np.maximum(a, b)), pa.array(np.minimum(a, b)), batch["jaccard"]]
    return pa.RecordBatch.from_arrays(columns, schema=ENDS)


def walk(_bucket: int, batches: Iterator[pa.RecordBatch], *, num_ranks: int) -> Iterator[pa.RecordBatch]:
    """ENDS sorted by (rank, keeper) -> DROPPED, by ascending rank."""
    stream = KeeperStream(num_ranks)
    for batch in batches:
        rows = stream.feed(column(batch, "rank"), column(batch, "keeper"))
        yield batch.select(DROPPED.names).take(pa.array(rows)).cast(DROPPED)
