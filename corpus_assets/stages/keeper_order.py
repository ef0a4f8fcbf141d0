"""Keeper order: every document still in gets its rank, 0 for the one that any other would be dropped onto first.

The order is (source_rank of the ledger, -quality, crawl_date, doc_id, source, k): total, and a function of content and
ledger alone. From here on a smaller rank is the better keeper, so the smallest rank of a cluster is its root.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.exact_text import EMPTY_DIGEST
from corpus_assets.stages.exact_duplicates import Runs, digest_bucket
from corpus_assets.stages.side_rows import column, kept_among

CODE_VERSION = "1"


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns])


ORDER_KEYS = ("source_rank", "quality_descending", "crawl_date", "doc_id", "source", "k")
ENTRIES = _schema(
    ("bucket", pa.int32()),
    ("source_rank", pa.int64()),
    ("quality_descending", pa.int32()),
    ("crawl_date", pa.large_string()),
    ("doc_id", pa.large_string()),
    ("source", pa.int32()),
    ("k", pa.int64()),
    ("shard", pa.int32()),
    ("exact_digest", pa.binary(32)),
    ("lang", pa.large_string()),
)
RANKED = _schema(
    ("bucket", pa.int32()),
    ("exact_digest", pa.binary(32)),
    ("rank", pa.int64()),
    ("source", pa.int32()),
    ("k", pa.int64()),
    ("shard", pa.int32()),
    ("lang", pa.large_string()),
)
RANKS = _schema(
    ("shard", pa.int32()),
    ("k", pa.int64()),
    ("rank", pa.int64()),
    ("source", pa.int32()),
    ("exact_keeper", pa.int64()),
    ("lang", pa.large_string()),
)
"""`exact_keeper` is the rank of the first document with the same exact digest: the row's own where it stays."""


def entries(batch: pa.RecordBatch, verdicts: pa.Table, *, source: int, source_rank: int, shard: int) -> pa.RecordBatch:
    """SIGNALS rows -> those still in, with what orders them. A document without a quality score counts as 0."""
    batch = batch.take(pa.array(kept_among(batch, verdicts)))
    n = batch.num_rows
    columns = {
        "bucket": pa.array(np.zeros(n, np.int32)),
        "source_rank": pa.array(np.full(n, source_rank, np.int64)),
        "quality_descending": pc.negate(pc.fill_null(batch.column("quality"), 0)),
        "crawl_date": batch.column("crawl_date"),
        "doc_id": batch.column("doc_id"),
        "source": pa.array(np.full(n, source, np.int32)),
        "k": batch.column("k"),
        "shard": pa.array(np.full(n, shard, np.int32)),
        "exact_digest": batch.column("exact_digest"),
        "lang": batch.column("lang"),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in ENTRIES.names], schema=ENTRIES)


def number(_bucket: int, batches: Iterator[pa.RecordBatch], *, num_buckets: int) -> Iterator[pa.RecordBatch]:
    """ENTRIES in keeper order -> RANKED: counted from 0, ready to be sorted by digest."""
    count = 0
    for batch in batches:
        n = batch.num_rows
        digests = batch.column("exact_digest")
        columns = {
            "bucket": pa.array(digest_bucket(digests, num_buckets)),
            "exact_digest": digests,
            "rank": pa.array(np.arange(count, count + n, dtype=np.int64)),
            "source": batch.column("source"),
            "k": batch.column("k"),
            "shard": batch.column("shard"),
            "lang": batch.column("lang"),
        }
        count += n
        yield pa.RecordBatch.from_arrays([columns[name] for name in RANKED.names], schema=RANKED)


def exact_keepers(_bucket: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """RANKED rows sorted by (exact_digest, rank) -> RANKS, each with the first rank of its digest.

    A document without text is no duplicate of another one.
    """
    runs, no_text = Runs(), pa.scalar(EMPTY_DIGEST, pa.binary(32))
    for batch in batches:
        digests, rank = batch.column("exact_digest"), column(batch, "rank")
        is_empty = pc.equal(digests, no_text).to_numpy(zero_copy_only=False)
        keeper = np.where(is_empty, rank, runs.first_values(digests, rank))
        columns = {name: batch.column(name) for name in RANKS.names if name != "exact_keeper"}
        columns["exact_keeper"] = pa.array(keeper)
        yield pa.RecordBatch.from_arrays([columns[name] for name in RANKS.names], schema=RANKS)
