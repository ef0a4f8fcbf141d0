"""Which documents repeat a protected item of an eval set: one shared n-gram is enough (design section 4)."""

from functools import cache
from pathlib import Path

import pyarrow as pa

from corpus_assets.kernels.ngram_match import EvalIndex, match
from formats.stage_tables import SCRUBBED

CODE_VERSION = "1"
LIBRARIES = ("pyarrow", "unicodedata2")

HITS = pa.schema([SCRUBBED.field(name) for name in ("eval_set", "eval_item", "span_start", "span_end")])
"""Null in every column: the document is clean. The span is in code points of the text, the end exclusive."""


@cache
def stored_index(path: str) -> EvalIndex:
    """The index in a file named by its identity, read once a process."""
    return EvalIndex.from_bytes(Path(path).read_bytes(), path)


def decontaminate(batch: pa.RecordBatch, index: EvalIndex) -> pa.RecordBatch:
    """Normalized `text` -> HITS, row for row: set, item and span of the first hit in each document that has one."""
    entry, start, end = match(batch.column("text"), index)
    clean = entry < 0
    number = pa.array(entry, mask=clean)
    columns = [
        pa.array([set_name for set_name, _ in index.entries], pa.large_string()).take(number),
        pa.array([item for _, item in index.entries], pa.large_string()).take(number),
        pa.array(start, mask=clean),
        pa.array(end, mask=clean),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=HITS)
