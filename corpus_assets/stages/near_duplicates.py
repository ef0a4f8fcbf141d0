"""Near duplicates: signatures -> band parts -> band rows -> candidate pairs, each pair once.

A source's band part says nothing of other sources, so a version takes it over from the one before; ranks, which change
with every source that comes, are joined to it by `band_rows`.

Bands are sorted, not hashed into an index: rows of one bucket come together as a run of a stream, so memory stays O(1)
in the corpus. A rank is a document's place in keeper order (stages.keeper_order).
"""

from collections.abc import Generator, Iterator

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.arrow import fixed_binaries, fixed_rows
from corpus_assets.kernels.bands import CandidatePairs, band_keys
from corpus_assets.stages.side_rows import column, rows_of

CODE_VERSION = "1"

BAND_ROWS = pa.schema(
    [pa.field(n, t, nullable=False) for n, t in (("bucket", pa.int32()), ("key", pa.int64()), ("rank", pa.int64()))]
)
PAIRS = pa.schema(
    [
        pa.field(n, t, nullable=False)
        for n, t in (("bucket", pa.int32()), ("a", pa.int64()), ("b", pa.int64()), ("band_bucket", pa.int32()))
    ]
)
"""a < b in keeper order; band_bucket says where the two met, so that the sort meets no equal rows."""


def band_parts_schema(bands: int) -> pa.Schema:
    """BAND_PARTS: k, and the int64 key of each band, little-endian, band after band."""
    return pa.schema(
        [pa.field("k", pa.int64(), nullable=False), pa.field("keys", pa.binary(8 * bands), nullable=False)]
    )


def band_parts(batch: pa.RecordBatch, *, bands: int, rows: int) -> pa.RecordBatch:
    """SIGNATURES rows -> BAND_PARTS rows: a function of the document and the settings alone."""
    keys = fixed_binaries(band_keys(batch.column("signature"), bands, rows))
    return pa.RecordBatch.from_arrays([batch.column("k"), keys], schema=band_parts_schema(bands))


def band_rows(batch: pa.RecordBatch, ranks: pa.Table, *, bands: int, parts_per_band: int) -> pa.RecordBatch:
    """BAND_PARTS rows -> one row a band for each document that is no exact duplicate."""
    rank, keys = ranked_keys(batch, ranks)
    band = np.arange(bands, dtype=np.int64)
    part = (keys.view(np.uint64) >> np.uint64(40)).astype(np.int64) % parts_per_band
    bucket = (band * parts_per_band + part).astype(np.int32)
    columns = [
        pa.array(bucket.reshape(-1)),
        pa.array(keys.reshape(-1)),
        pa.array(np.repeat(rank, bands)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=BAND_ROWS)


def ranked_keys(batch: pa.RecordBatch, ranks: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """BAND_PARTS rows -> (rank, keys of each band), int64, of those that are no exact duplicates."""
    at = rows_of(batch, ranks)
    rank, keeper = column(ranks, "rank"), column(ranks, "exact_keeper")
    stays = np.flatnonzero((at >= 0) & (rank[at] == keeper[at])) if len(rank) else np.zeros(0, np.int64)
    return rank[at[stays]], fixed_rows(batch.column("keys"), np.int64)[stays]


def candidate_pairs(
    bucket: int, batches: Iterator[pa.RecordBatch], *, max_bucket: int, hot_keepers: int, num_buckets: int
) -> Generator[pa.RecordBatch, None, dict[str, int]]:
    """BAND_ROWS sorted by (key, rank) -> PAIRS. Returns the notes `pairs_skipped` and `hot_buckets`."""
    pairs = CandidatePairs(max_bucket, hot_keepers)
    for batch in batches:
        yield _pairs(bucket, *pairs.feed(column(batch, "key"), column(batch, "rank")), num_buckets)
    yield _pairs(bucket, *pairs.finish(), num_buckets)
    return {"pairs_skipped": pairs.pairs_skipped, "hot_buckets": pairs.hot_buckets}


def _pairs(band_bucket: int, a: np.ndarray, b: np.ndarray, num_buckets: int) -> pa.RecordBatch:
    columns = [
        pa.array((a % num_buckets).astype(np.int32)),
        pa.array(a),
        pa.array(b),
        pa.array(np.full(len(a), band_bucket, np.int32)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=PAIRS)


def once_each(_bucket: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """PAIRS sorted by (a, b, band_bucket) -> each pair once."""
    last = (-1, -1)
    for batch in batches:
        a, b = column(batch, "a"), column(batch, "b")
        if len(a) == 0:
            continue
        new = np.ones(len(a), np.bool_)
        new[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
        new[0] = (int(a[0]), int(b[0])) != last
        last = (int(a[-1]), int(b[-1]))
        yield batch.filter(pa.array(new))
