"""Exact duplicates: rows sorted by (digest, order) come as runs of equal digests; the first of a run stays."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.exact_text import EMPTY_DIGEST
from corpus_assets.stages.side_rows import column

CODE_VERSION = "1"

DIGEST_ROWS = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("exact_digest", pa.binary(32), nullable=False),
        pa.field("crawl_date", pa.large_string(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        pa.field("part", pa.int32(), nullable=False),
    ]
)
SOURCE_DUPLICATES = pa.schema(
    [
        pa.field("part", pa.int32(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        pa.field("keeper_k", pa.int64(), nullable=False),
    ]
)


def digest_bucket(digests: pa.Array, num_buckets: int) -> np.ndarray:
    """Which bucket each digest is sorted in: its first two bytes, modulo the number of buckets."""
    data = np.frombuffer(b"".join(digests.to_pylist()), np.uint8).reshape(len(digests), 32)
    return ((data[:, 0].astype(np.int64) * 256 + data[:, 1]) % num_buckets).astype(np.int32)


def digest_rows(batch: pa.RecordBatch, *, part: int, num_buckets: int) -> pa.RecordBatch:
    """SIGNALS rows -> what the sort by digest needs. A document without text never enters dedup."""
    has_text = pc.not_equal(batch.column("exact_digest"), pa.scalar(EMPTY_DIGEST, pa.binary(32)))
    batch = batch.select(["exact_digest", "crawl_date", "k"]).filter(has_text)
    digests = batch.column("exact_digest")
    columns = [
        pa.array(digest_bucket(digests, num_buckets)),
        digests,
        batch.column("crawl_date"),
        batch.column("k"),
        pa.array(np.full(batch.num_rows, part, np.int32)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=DIGEST_ROWS)


class Runs:
    """Runs of equal digests over a sorted stream, whatever its cut: the first row's value for every row."""

    def __init__(self) -> None:
        self._digest: bytes | None = None
        self._first = 0

    def first_values(self, digests: pa.Array, values: np.ndarray) -> np.ndarray:
        """Per row, `values` at the first row of its run. O(1) state between calls."""
        n = len(digests)
        if n == 0:
            return values
        data = np.frombuffer(b"".join(digests.to_pylist()), np.uint64).reshape(n, 4)
        starts = np.ones(n, np.bool_)
        starts[1:] = (data[1:] != data[:-1]).any(axis=1)
        starts[0] = digests[0].as_py() != self._digest
        run = np.cumsum(starts)
        firsts = np.concatenate(([self._first], values[starts]))[run]
        self._digest, self._first = digests[-1].as_py(), int(firsts[-1])
        return firsts


def source_duplicates(_bucket: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows sorted by (exact_digest, crawl_date, k) -> those that are not the first of their digest, and its k."""
    runs = Runs()
    for batch in batches:
        k = column(batch, "k")
        keeper = runs.first_values(batch.column("exact_digest"), k)
        rows = pa.RecordBatch.from_arrays(
            [batch.column("part"), batch.column("k"), pa.array(keeper)], schema=SOURCE_DUPLICATES
        )
        yield rows.filter(pa.array(keeper != k))
