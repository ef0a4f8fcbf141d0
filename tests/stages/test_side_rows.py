"""side_rows: rows find each other by k, whatever is missing between and wherever the numbers begin."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.stages.side_rows import kept_among, rows_of, take_or_null

numbers = st.lists(st.integers(0, 2**40), unique=True, max_size=12).map(sorted)


def table(ks, verdicts=None):
    said = verdicts or [f"of {k}" for k in ks]
    return pa.table({"k": pa.array(ks, pa.int64()), "verdict": pa.array(said, pa.large_string())})


def batch(ks):
    return pa.record_batch({"k": pa.array(ks, pa.int64())})


@given(numbers, numbers, st.integers(0, 12), st.integers(0, 12))
def test_a_row_meets_the_side_row_of_its_k_and_none_where_there_is_none(ks, side_ks, start, stop):
    """Positions were taken for row numbers where filtering had left gaps, and rows met their neighbours."""
    rows, side = batch(ks).slice(start, stop), table(side_ks)
    at = rows_of(rows, side)
    met = take_or_null(side, "verdict", at).to_pylist()
    assert met == [f"of {k}" if k in side_ks else None for k in rows.column("k").to_pylist()]


@given(st.dictionaries(st.integers(0, 50), st.sampled_from(["kept", "too_short"])), numbers)
def test_only_rows_that_the_side_says_are_kept_stay(said, ks):
    side = table(sorted(said), [said[k] for k in sorted(said)])
    rows = batch(ks)
    assert [ks[i] for i in kept_among(rows, side)] == [k for k in ks if said.get(k) == "kept"]


def test_a_side_in_chunks_is_met_as_a_whole():
    side = pa.concat_tables([table([2, 5]), table([]), table([9])])
    assert rows_of(batch([9, 3, 2]), side).tolist() == [2, -1, 0]
