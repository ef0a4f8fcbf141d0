"""Side tables: what another stage says of the rows of a batch, found by k."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from formats.reasons import Reason


def column(table: pa.Table | pa.RecordBatch, name: str) -> np.ndarray:
    """A column without nulls as a numpy array."""
    return (
        table.column(name).to_numpy()
        if isinstance(table, pa.Table)
        else table.column(name).to_numpy(zero_copy_only=False)
    )


def rows_of(batch: pa.RecordBatch, side: pa.Table) -> np.ndarray:
    """Per row of the batch the index of the side's row with its k, or -1. The side is sorted by k."""
    k, side_k = column(batch, "k"), column(side, "k")
    if len(side_k) == 0:
        return np.full(len(k), -1, np.int64)
    at = np.minimum(np.searchsorted(side_k, k), len(side_k) - 1)
    return np.where(side_k[at] == k, at, -1)


def take_or_null(side: pa.Table, name: str, at: np.ndarray) -> pa.Array:
    """The side's column at the given rows; null where the row is -1."""
    taken = side.column(name).take(pa.array(at, mask=at < 0))
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def kept_among(batch: pa.RecordBatch, side: pa.Table) -> np.ndarray:
    """Indices of the rows whose `verdict` in the side is `kept`."""
    verdict = take_or_null(side, "verdict", rows_of(batch, side))
    kept = pc.fill_null(pc.equal(verdict, pa.scalar(Reason.KEPT.value, pa.large_string())), False)
    return np.flatnonzero(kept.to_numpy(zero_copy_only=False))
