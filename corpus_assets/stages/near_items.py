"""Which published texts hold much of a protected item without a run of its words: told, never dropped.

What was edited every few words has no run of 13 words left; the share of its short n-grams still names it. Such a text
may be another one, so people look, and the evidence says where.
"""

from functools import cache

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.ngram_share import ShareIndex, share_index, shares, spans
from corpus_assets.stages.decontaminate import LIBRARIES, stored_index
from formats.stage_tables import NEAR_ITEMS

__all__ = ["CODE_VERSION", "LIBRARIES", "NEAR_PERMILLE", "near_items", "near_rows"]
CODE_VERSION = "1"

NEAR_PERMILLE = 500
"""Share of an item's n-grams from which a text is told of as near it."""


@cache
def stored_shares(path: str) -> ShareIndex:
    """The short n-grams of a stored index, made once a process."""
    return share_index(stored_index(path))


def near_rows(text: pa.Array, index: ShareIndex) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(row, entry, its n-grams in the text, all its n-grams) of the texts that hold NEAR_PERMILLE of an entry; rows
    rise.
    """
    entry, shared, of = shares(text, index)
    rows = np.flatnonzero((entry >= 0) & (shared * 1000 >= NEAR_PERMILLE * of))
    return rows, entry[rows], shared[rows], of[rows]


def near_items(batch: pa.RecordBatch, *, index_path: str) -> pa.RecordBatch:
    """`k` and `text` of SCRUBBED -> NEAR_ITEMS. What was dropped has no text."""
    index, entries = stored_shares(index_path), stored_index(index_path).entries
    rows, entry, shared, of = near_rows(batch["text"], index)
    near = batch.take(pa.array(rows))
    start, end = spans(near["text"], entry, index)
    columns = [
        near["k"],
        pa.array([entries[e][0] for e in entry.tolist()], pa.large_string()),
        pa.array([entries[e][1] for e in entry.tolist()], pa.large_string()),
        *map(pa.array, (shared, of, start, end)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=NEAR_ITEMS)
