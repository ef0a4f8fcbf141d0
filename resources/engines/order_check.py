"""Sorted rows, every one held against the one before it: a sorter is never trusted."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from formats.errors import ConfigError, NotConvergedError
from resources.engines.contract import Batches


def ordered(batches: Iterable[pa.RecordBatch], bucket: str, keys: Sequence[str]) -> Batches:
    """The batches, every row held against the one before it: a sorter is never trusted.

    Raises NotConvergedError at an inversion; ConfigError where two different rows have equal keys, since their order,
    hence the output, would be undefined.
    """
    names = list(dict.fromkeys((bucket, *keys)))
    last: pa.RecordBatch | None = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        if last is not None:
            _check_neighbours(last, batch.slice(0, 1), names)
        _check_neighbours(batch.slice(0, batch.num_rows - 1), batch.slice(1), names)
        last = batch.slice(batch.num_rows - 1)
        yield batch


def _check_neighbours(left: pa.RecordBatch, right: pa.RecordBatch, names: Sequence[str]) -> None:
    """Row i of `left` must come before row i of `right`, or equal it in every column."""
    open_rows = np.arange(left.num_rows)  # rows equal in all columns looked at so far
    for name in names:
        a, b = left.column(name), right.column(name)
        if len(open_rows) < left.num_rows:
            a, b = a.take(pa.array(open_rows)), b.take(pa.array(open_rows))
        above = _true(pc.greater(a, b))
        if above.any():
            row = int(open_rows[np.flatnonzero(above)[0]])
            raise NotConvergedError(
                f"the sorter gave {_key(left, row, names)} before {_key(right, row, names)}; expected rows sorted by "
                f"{', '.join(names)}; keep the pinned version of the sorter and report this"
            )
        open_rows = open_rows[_true(pc.equal(a, b))]
        if not len(open_rows):
            return
    same = pa.array(open_rows)
    if not left.take(same).equals(right.take(same)):
        raise ConfigError(
            f"sort_reduce: different rows have equal {', '.join(names)}, such as "
            f"{_key(left, int(open_rows[0]), names)}; end the keys in a column that tells the rows apart"
        )


def _true(column: pa.BooleanArray) -> np.ndarray:
    return column.to_numpy(zero_copy_only=False).astype(bool)


def _key(batch: pa.RecordBatch, row: int, names: Sequence[str]) -> str:
    values = (f"{name}={batch.column(name)[row].as_py()!r}" for name in names)
    return "(" + ", ".join(value if len(value) <= 60 else value[:60] + "…" for value in values) + ")"
