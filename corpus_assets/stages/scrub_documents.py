"""What decontamination left: personal data replaced, text hashed, split given; a contaminated row loses its text."""

import hashlib
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages import scrub_pii, split_documents
from corpus_assets.stages.decontaminate import decontaminate, stored_index
from corpus_assets.stages.scrub_pii import scrub
from corpus_assets.stages.side_rows import kept_among
from corpus_assets.stages.split_documents import split_of_digests
from formats.reasons import Reason
from formats.stage_tables import SCRUBBED, SHA256

CODE_VERSION = f"2.{scrub_pii.CODE_VERSION}.{split_documents.CODE_VERSION}"
LIBRARIES = scrub_pii.LIBRARIES


def scrub_documents(
    batch: pa.RecordBatch,
    *,
    ips: str,
    phone_regions: Sequence[str],
    code: bool,
    val_permille: int,
) -> pa.RecordBatch:
    """(k, text, eval_set, eval_item, span_start, span_end) -> SCRUBBED, the same rows in the same order.

    A row with an eval_set is contaminated: no text, digest or split, zero characters and counts. The others are kept,
    with their scrubbed text, its code points, SHA-256 and split.
    """
    kept = batch["eval_set"].is_null()
    text, counts = scrub(
        pc.if_else(kept, batch["text"], pa.scalar(None, pa.large_string())),
        ips=ips,
        phone_regions=phone_regions,
        code=code,
    )
    sha256 = pa.array([hashlib.sha256(row.as_buffer()).digest() if row.is_valid else None for row in text], SHA256)
    verdict = pc.if_else(kept, _word(Reason.KEPT), _word(Reason.CONTAMINATED))
    columns = [
        batch["k"],
        verdict,
        *(batch[name] for name in ("eval_set", "eval_item", "span_start", "span_end")),
        text,
        pc.utf8_length(text).fill_null(0).cast(pa.int64()),
        sha256,
        *counts.values(),
        split_of_digests(sha256, val_permille),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCRUBBED)


def scrub_kept(
    batch: pa.RecordBatch,
    decided: pa.Table,
    *,
    index_path: str,
    ips: str,
    phone_regions: Sequence[str],
    code: bool,
    val_permille: int,
) -> pa.RecordBatch:
    """DOCUMENTS rows (k, text) -> SCRUBBED rows of those that dedup kept, decontaminated before they are scrubbed."""
    kept = batch.take(pa.array(kept_among(batch, decided)))
    hits = decontaminate(kept, stored_index(index_path))
    rows = pa.RecordBatch.from_arrays([*kept.columns, *hits.columns], [*kept.schema.names, *hits.schema.names])
    return scrub_documents(rows, ips=ips, phone_regions=phone_regions, code=code, val_permille=val_permille)


def _word(value: str) -> pa.Scalar:
    return pa.scalar(str(value), pa.large_string())
