"""Which documents repeat a protected item of an eval set: one shared n-gram is enough (design section 4).

Letters and numbers of options are words like any other, so an item whose sentences were made options of has no run of
its words left. Where a text has such a list it is asked a second time, with the markers blanked out; and an item that
has one is in the index without them, too (`eval_items.build_index`), since the text may have others, or bullets.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.ngram_match import EvalIndex, match
from corpus_assets.kernels.option_markers import lists_without_markers
from formats.stage_tables import SCRUBBED

CODE_VERSION = "3"
LIBRARIES = ("pyarrow", "unicodedata2")

HITS = pa.schema([SCRUBBED.field(name) for name in ("eval_set", "eval_item", "span_start", "span_end")])
"""Null in every column: the document is clean. The span is in code points of the text, the end exclusive."""


@cache
def stored_index(path: str) -> EvalIndex:
    """The index in a file named by its identity, read once a process."""
    return EvalIndex.from_bytes(Path(path).read_bytes(), path)


def hits(text: pa.Array, index: EvalIndex) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `ngram_match.match`, and where that finds nothing in a text with a list of options: without their markers."""
    entry, start, end = match(text, index)
    if not index.entries:
        return entry, start, end
    clean = np.flatnonzero(entry < 0)
    rows, unmarked = lists_without_markers(text.take(pa.array(clean)))
    if rows.size:
        mine = clean[rows]
        entry[mine], start[mine], end[mine] = match(unmarked, index)
    return entry, start, end


def decontaminate(batch: pa.RecordBatch, index: EvalIndex) -> pa.RecordBatch:
    """Normalized `text` -> HITS, row for row: set, item and span of the first hit in each document that has one."""
    entry, start, end = hits(batch.column("text"), index)
    clean = entry < 0
    number = pa.array(entry, mask=clean)
    columns = [
        pa.array([set_name for set_name, _ in index.entries], pa.large_string()).take(number),
        pa.array([item for _, item in index.entries], pa.large_string()).take(number),
        pa.array(start, mask=clean),
        pa.array(end, mask=clean),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=HITS)
