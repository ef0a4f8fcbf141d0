"""Row groups: bytes depend on rows alone, and rows of another schema are refused."""

import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats import dataset, row_groups
from formats.dataset import Dataset
from formats.errors import SchemaMismatchError
from tests.formats.made_shards import SCHEMA, batch, write


@given(
    st.lists(st.none() | st.text(max_size=9), max_size=20),
    st.lists(st.integers(0, 20), max_size=5),
    st.sampled_from([1, 24, 40, 1 << 20]),
    st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_how_rows_come_batched_never_shows(tmp_path_factory, texts, cuts, group, before):
    folder = tmp_path_factory.mktemp("cut")
    rows = batch(*texts)
    bounds = sorted({0, len(texts), *(min(cut, len(texts)) for cut in cuts)})
    pieces = (
        [batch(*("x" * before, *texts)[1:]).slice(a, z - a) for a, z in itertools.pairwise(bounds)] if before else []
    )
    pieces = pieces or [rows.slice(a, z - a) for a, z in itertools.pairwise(bounds)]
    whole, cut = write(folder / "a", rows, row_group_bytes=group), write(folder / "b", *pieces, row_group_bytes=group)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    assert (whole.rows, whole.sha256, whole.num_bytes) == (cut.rows, cut.sha256, cut.num_bytes)
    assert dataset.read_table(Dataset(SCHEMA, (whole,))).to_pydict() == rows.to_pydict()


@pytest.mark.parametrize("writer", [dataset.write_shard, dataset.write_plain_shard])
def test_many_pages_of_rows_give_the_same_bytes_however_batched(tmp_path, writer):
    """Enough rows for several Parquet pages, which are cut where chunks end."""
    texts = [f"{i * i} hens" * (i % 40) for i in range(20_000)]
    whole = batch(*texts)
    pieces = [whole.slice(i, 37) for i in range(0, len(texts), 37)]
    one = writer(0, tmp_path / "a", [whole], SCHEMA, row_group_bytes=1 << 20)
    assert one.sha256 == writer(0, tmp_path / "b", pieces, SCHEMA, row_group_bytes=1 << 20).sha256
    assert dataset.read_table(Dataset(SCHEMA, (one,))).equals(pa.Table.from_batches([whole]))


@given(st.lists(st.none() | st.text(max_size=9), max_size=20), st.integers(0, 20))
def test_a_row_weighs_its_strings_and_eight_bytes_a_number(texts, first):
    rows = batch(*texts).slice(first)
    expected = [8 + len((text or "").encode()) for text in texts[first:]]
    assert row_groups.row_sizes(rows).tolist() == expected


@given(st.lists(st.integers(0, 30), max_size=30), st.integers(1, 60))
def test_row_groups_are_filled_greedily(sizes, limit):
    rows = batch(*("x" * size for size in sizes))
    groups: list[int] = []
    room = -1
    for size in sizes:
        if groups and 8 + size <= room:
            groups[-1] += 1
        else:
            groups.append(1)
            room = limit
        room -= 8 + size
    assert [table.num_rows for table in row_groups.cut_row_groups([rows], SCHEMA, limit)] == groups


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (batch("x").select(["text", "k"]), "columns"),
        (batch("x").drop_columns(["text"]), "columns"),
        (batch("x").set_column(0, "k", pa.array([None], pa.int64())), "k"),
        (batch("x").set_column(0, "k", pa.array([2**63], pa.uint64())), "k"),
        (batch("x").set_column(1, "text", pa.array([[1]])), "text"),
    ],
)
def test_rows_of_another_schema_are_refused_by_column(tmp_path, bad, field):
    with pytest.raises(SchemaMismatchError, match=f"{field} is"):
        write(tmp_path / "a", bad)
    assert list(tmp_path.iterdir()) == []
