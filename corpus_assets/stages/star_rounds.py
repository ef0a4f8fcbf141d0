"""Star rounds over sorted rows: connected components in O(1) memory, whatever the graph.

Which way components were found is no part of an identity: union-find over arrays gives the same roots, and a test holds
the two against each other.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.stars import LargeStar, SmallStar
from corpus_assets.stages.side_rows import column

CODE_VERSION = "1"
KEYS = ("node", "other")

STARS = pa.schema(
    [pa.field(n, t, nullable=False) for n, t in (("bucket", pa.int32()), ("node", pa.int64()), ("other", pa.int64()))]
)
"""Edges, each by one end or by both; the bucket follows from the node."""


def _rows(node: np.ndarray, other: np.ndarray, num_buckets: int) -> pa.RecordBatch:
    columns = [pa.array((node % num_buckets).astype(np.int32)), pa.array(node), pa.array(other)]
    return pa.RecordBatch.from_arrays(columns, schema=STARS)


def both_ways(batch: pa.RecordBatch, *, num_buckets: int) -> pa.RecordBatch:
    """Rows with the ends `a` and `b` of edges -> STARS, each edge by both ends. Raises ValueError for an edge of a node
    with itself.
    """
    a, b = column(batch, "a"), column(batch, "b")
    if (a == b).any():
        raise ValueError(f"an edge of {int(a[a == b][0])} with itself; expected edges of two nodes")
    return _rows(np.stack((a, b), axis=1).ravel(), np.stack((b, a), axis=1).ravel(), num_buckets)


def large_star(_bucket: int, batches: Iterator[pa.RecordBatch], *, num_buckets: int) -> Iterator[pa.RecordBatch]:
    """STARS by both ends, sorted by KEYS -> STARS by the larger end."""
    star = LargeStar()
    for batch in batches:
        yield _rows(*star.feed(column(batch, "node"), column(batch, "other")), num_buckets)


def small_star(_bucket: int, batches: Iterator[pa.RecordBatch], *, num_buckets: int) -> Iterator[pa.RecordBatch]:
    """STARS by the larger end, sorted by KEYS -> STARS by both ends."""
    star = SmallStar()
    for batch in batches:
        yield _rows(*star.feed(column(batch, "node"), column(batch, "other")), num_buckets)
