"""Raw lines -> documents: normalized text, and the ids that follow from content (design section 4)."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.exact_text import normalize, text_digests
from formats.stage_tables import DOCUMENTS

CODE_VERSION = "1"
LIBRARIES = ("pyarrow", "unicodedata2")


def doc_ids(digests: pa.Array, source_id: str) -> pa.Array:
    """First 16 bytes, in hex, of SHA-256(text digest + source id): content decides, never a counter."""
    suffix = source_id.encode()
    ids = [hashlib.sha256(digest + suffix).hexdigest()[:32] for digest in digests.to_pylist()]
    return pa.array(ids, pa.large_string())


def normalize_documents(batch: pa.RecordBatch, *, source_id: str, raw_part: int, first_k: int) -> pa.RecordBatch:
    """RAW rows of one part -> DOCUMENTS rows. `first_k` is the number of documents in the parts before it."""
    text = normalize(batch.column("text"))
    digests = text_digests(text)
    lines = batch.column("raw_line")
    columns = {
        "k": pc.add(lines, first_k),
        "doc_id": doc_ids(digests, source_id),
        "url": batch.column("url"),
        "crawl_date": batch.column("fetched_at"),
        "raw_part": pa.array(np.full(batch.num_rows, raw_part, np.int32)),
        "raw_line": lines,
        "text": text,
        "text_digest": digests,
        "n_chars": pc.cast(pc.utf8_length(text), pa.int64()),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in DOCUMENTS.names], schema=DOCUMENTS)
