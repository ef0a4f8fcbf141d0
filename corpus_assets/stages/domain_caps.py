"""A registered domain has at most so many documents or bytes in a version; a draw by id decides which stay.

The draw depends on a document's content and source and on the seed alone, so the same ones stay whatever else is cut or
in which order files come. Documents without a web address have no domain, and no cap.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.document_evidence import document_evidence
from corpus_assets.stages.match_sites import url_parts
from corpus_assets.stages.place_rows import ids
from corpus_assets.stages.side_rows import column, rows_of, take_or_null
from corpus_assets.stages.site_names import registered_domain
from formats.reasons import Reason

CODE_VERSION = "1"
LIBRARIES = ("pyarrow", "numpy")
_WEB = r"^[\x00-\x20]*(?i:https?|ftp):"
_KEPT = pa.scalar(Reason.KEPT.value, pa.large_string())
_U64 = np.uint64


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns])


DRAWS = _schema(
    ("bucket", pa.int32()), ("domain", pa.large_string()), ("draw", pa.int64()), ("shard", pa.int32()),
    ("k", pa.int64()), ("num_bytes", pa.int64()),
)  # fmt: skip
"""Documents that would be published and have a domain; they are put in the order of their draw within it. Bytes are of
the final text.
"""
CAPPED = _schema(("shard", pa.int32()), ("k", pa.int64()), ("domain", pa.large_string()), ("place", pa.int64()))
"""Documents that go, with their place in the order of their domain, from 0."""


def draw(doc_ids: pa.Array, seed: int) -> np.ndarray:
    """A number (int64) for each doc_id (32 hex digits): its first 8 bytes, mixed with the seed by MurmurHash3's
    finalizer before and after.
    """
    digits = np.frombuffer(b"".join(pc.cast(doc_ids, pa.large_binary()).to_pylist()), np.uint8).reshape(-1, 32)[:, :16]
    nibbles = ((digits & 15) + 9 * (digits >> 6)).astype(np.uint64)
    value = np.zeros(len(nibbles), np.uint64)
    for i in range(16):
        value = (value << _U64(4)) | nibbles[:, i]
    return _mix(value ^ _mix(np.array([seed], np.uint64))).view(np.int64)


def _mix(x: np.ndarray) -> np.ndarray:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ (x >> _U64(33))) * _U64(factor)
    return x ^ (x >> _U64(33))


def draws(
    batch: pa.RecordBatch, withheld: pa.Table, documents: pa.Table, *, shard: int, seed: int, num_buckets: int
) -> pa.RecordBatch:
    """SCRUBBED rows -> DRAWS of those published but for a cap. documents: k, doc_id and url."""
    kept = pc.and_(pc.equal(batch.column("verdict"), _KEPT), pa.array(rows_of(batch, withheld) < 0))
    batch = batch.filter(kept)
    at = rows_of(batch, documents)
    urls = take_or_null(documents, "url", at)
    parts = url_parts(urls)
    domains = [registered_domain(host) for host in parts.hosts]
    has = (parts.host >= 0) & np.array(pc.match_substring_regex(urls, _WEB).to_numpy(zero_copy_only=False), np.bool_)
    rows = np.flatnonzero(has)
    batch, doc_ids = batch.take(pa.array(rows)), take_or_null(documents, "doc_id", at[rows])
    buckets = np.array([_bucket(name, num_buckets) for name in domains] or [0], np.int32)
    of_row = parts.host[rows]
    columns = [
        pa.array(buckets[of_row]),
        pa.array(domains, pa.large_string()).take(pa.array(of_row)),
        pa.array(draw(doc_ids, seed)),
        pa.array(np.full(len(rows), shard, np.int32)),
        batch.column("k"),
        pc.cast(pc.binary_length(batch.column("text")), pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=DRAWS)


def _bucket(domain: str, num_buckets: int) -> int:
    """A domain lies in one bucket whole."""
    value = 0
    for byte in domain.encode():
        value = (value * 31 + byte) % (1 << 31)
    return value % num_buckets


def over_caps(
    _bucket: int, batches: Iterator[pa.RecordBatch], *, max_documents: int | None, max_bytes: int | None
) -> Iterator[pa.RecordBatch]:
    """DRAWS sorted by (domain, draw, shard, k) -> CAPPED: those behind the first `max_documents` of their domain, and
    those with which it would have more than `max_bytes`. What goes is counted on, so that size favours nobody.
    """
    last, count, used = None, 0, 0
    for batch in batches:
        n = batch.num_rows
        if n == 0:
            continue
        domain = batch.column("domain")
        starts = np.ones(n, np.bool_)
        starts[1:] = pc.not_equal(domain[1:], domain[:-1]).to_numpy(zero_copy_only=False)
        goes_on = domain[0].as_py() == last
        first = np.flatnonzero(starts)
        run = np.cumsum(starts) - 1
        ends = np.cumsum(column(batch, "num_bytes"))
        before = np.concatenate(([0], ends))[first]
        place, total = np.arange(n) - first[run], ends - before[run]
        if goes_on:
            place[run == 0] += count
            total[run == 0] += used
        last, count, used = domain[-1].as_py(), int(place[-1]) + 1, int(total[-1])
        goes = np.zeros(n, np.bool_)
        if max_documents is not None:
            goes |= place >= max_documents
        if max_bytes is not None:
            goes |= total > max_bytes
        rows = pa.RecordBatch.from_arrays(
            [batch.column("shard"), batch.column("k"), domain, pa.array(place)], schema=CAPPED
        )
        yield rows.filter(pa.array(goes))


def ids_within_caps(
    batch: pa.RecordBatch, survivors: pa.Table, withheld: pa.Table, capped: pa.Table, **args: Any
) -> pa.RecordBatch:
    """As `place_rows.ids`, without the documents that go for a cap."""
    return ids(batch.filter(pa.array(rows_of(batch, capped) < 0)), survivors, withheld, **args)


def evidence_within_caps(batch: pa.RecordBatch, *sides: pa.Table, **args: Any) -> pa.RecordBatch:
    """As `document_evidence.document_evidence`, the last side being CAPPED: their verdict is over_domain_cap."""
    *others, capped = sides
    told = document_evidence(batch, *others, **args)
    over = pa.scalar(Reason.OVER_DOMAIN_CAP.value, pa.large_string())
    verdict = pc.if_else(pa.array(rows_of(batch, capped) >= 0), over, told.column("verdict"))
    return told.set_column(told.schema.get_field_index("verdict"), told.schema.field("verdict"), verdict)
