"""The code that every engine shares: cuts, the order check, buckets, the slice plan."""

import itertools
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.dataset import Dataset, write_shard
from formats.errors import ConfigError, NotConvergedError
from formats.parquet_file import Shard
from formats.row_groups import cut_row_groups, row_sizes
from resources.engines import map_task, order_check, reduce_task, row_batches, slice_task
from resources.engines.contract import Task

SCHEMA = pa.schema([("bucket", pa.int32()), ("key", pa.large_binary()), ("number", pa.int64())])
ROW = st.tuples(st.integers(0, 2), st.sampled_from([b"", b"\x00", b"a", b"a\x00", b"b", b"\xff"]), st.integers(-2, 2))


def batches_of(rows, batch_rows):
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(SCHEMA)]
    return pa.table(columns, schema=SCHEMA).to_batches(max_chunksize=batch_rows)


@given(st.lists(st.integers(0, 50)), st.integers(1, 60), st.integers(1, 7))
def test_cuts_cover_all_rows_in_order_and_pass_a_limit_by_one_long_row_only(sizes, max_bytes, max_rows):
    parts = list(row_batches.cuts(np.array(sizes, np.int64), max_bytes, max_rows))
    assert [i for start, stop in parts for i in range(start, stop)] == list(range(len(sizes)))
    for start, stop in parts:
        assert 1 <= stop - start <= max_rows
        assert sum(sizes[start:stop]) <= max_bytes or stop - start == 1
    for start, stop in parts[:-1]:
        assert stop - start == max_rows or sum(sizes[start : stop + 1]) > max_bytes


def test_batches_of_fat_rows_are_cut_by_bytes_and_no_row_is_lost():
    text = pa.array(["x" * n for n in (5, 100, 3, 3, 3, 0, 50, 1)], pa.large_string())
    batch = pa.record_batch([text], ["text"])
    parts = list(row_batches.bounded([batch, batch.slice(0, 0)], 20))
    assert [part.num_rows for part in parts] == [1, 1, 4, 1, 1]
    assert pa.Table.from_batches(parts).equals(pa.Table.from_batches([batch]))


@settings(deadline=None)
@given(st.lists(ROW, max_size=12), st.integers(1, 5))
def test_the_order_check_accepts_what_python_calls_sorted_and_nothing_else(rows, batch_rows):
    batches = batches_of(rows, batch_rows)
    if rows == sorted(rows):
        assert list(order_check.ordered(batches, "bucket", ["key", "number"])) == batches
    else:
        with pytest.raises(NotConvergedError, match="expected rows sorted by bucket, key, number"):
            list(order_check.ordered(batches, "bucket", ["key", "number"]))


@settings(deadline=None)
@given(st.lists(ROW, max_size=12), st.integers(1, 5))
def test_sorted_rows_with_equal_keys_are_refused_unless_they_are_equal_throughout(rows, batch_rows):
    rows.sort()
    told_apart = all(a == b or a[:2] != b[:2] for a, b in itertools.pairwise(rows))
    batches = batches_of(rows, batch_rows)
    if told_apart:
        assert list(order_check.ordered(batches, "bucket", ["key"])) == batches
    else:
        with pytest.raises(ConfigError, match="end the keys in a column that tells the rows apart"):
            list(order_check.ordered(batches, "bucket", ["key"]))


def test_an_inversion_names_both_rows_shortly():
    rows = [(0, b"b" * 1_000, 1), (0, b"a", 2)]
    with pytest.raises(NotConvergedError) as caught:
        list(order_check.ordered(batches_of(rows, 5), "bucket", ["key"]))
    assert "before (bucket=0, key=b'a')" in str(caught.value)
    assert len(str(caught.value)) < 400


@given(st.lists(st.integers(0, 4), max_size=20), st.integers(1, 6), st.integers(0, 6))
def test_buckets_are_whole_whatever_the_batches_and_however_much_of_each_is_read(buckets, batch_rows, read):
    rows = [(bucket, b"", i) for i, bucket in enumerate(sorted(buckets))]
    seen = {}
    for number, group in reduce_task.by_bucket(iter(batches_of(rows, batch_rows)), "bucket"):
        part = itertools.islice((row for batch in group for row in batch["number"].to_pylist()), read)
        assert number not in seen
        seen[number] = list(part)
    assert seen == {b: [row[2] for row in rows if row[0] == b][:read] for b in sorted(set(buckets))}


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 12))
def test_a_slice_plan_takes_every_row_once_in_order_and_fills_every_shard_but_the_last(shard_rows, rows_per_shard):
    source = Dataset(SCHEMA, tuple(Shard(i * 3, f"{i}", rows, 0, "") for i, rows in enumerate(shard_rows)))
    plan = slice_task.slice_plan(source, rows_per_shard)
    taken = [(piece.shard.id, row) for pieces in plan for piece in pieces for row in range(piece.start, piece.stop)]
    assert taken == [(shard.id, row) for shard in source.shards for row in range(shard.rows)]
    counts = [sum(piece.stop - piece.start for piece in pieces) for pieces in plan]
    assert len(counts) == max(1, -(-source.rows // rows_per_shard))
    assert all(count == rows_per_shard for count in counts[:-1])


def test_an_item_carries_its_own_shard_arguments_and_sides_alone_however_many_there_are():
    """Else ten thousand shards would send ten thousand times ten thousand names to the workers."""
    shards = tuple(Shard(i, f"part-{i}", 1, 1, "") for i in range(1_000))
    source, side = Dataset(SCHEMA, shards), Dataset(SCHEMA, shards[::2])
    task = Task("module:fn", {"a": 1}, per_shard={i: {"b": i} for i in range(0, 1_000, 3)})
    items = map_task.map_items(source, task, [side])
    assert [item.shard for item in items] == list(shards)
    assert [item.task.per_shard for item in items] == [{i: {"b": i}} if i % 3 == 0 else {} for i in range(1_000)]
    assert [item.sides[0].shards for item in items] == [() if i % 2 else (shards[i],) for i in range(1_000)]
    assert max(len(pickle.dumps(item)) for item in items) < 2_000


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), max_size=30), st.integers(1, 100), st.integers(1, 9))
def test_row_groups_depend_on_the_rows_alone_never_on_how_they_came_in_batches(lengths, group_bytes, batch_rows):
    """What every engine's equal bytes rest on."""
    table = pa.table({"text": pa.array(["x" * n for n in lengths], pa.large_string())})
    groups = list(cut_row_groups(table.to_batches(max_chunksize=batch_rows), table.schema, group_bytes))
    whole = list(cut_row_groups(table.to_batches(), table.schema, group_bytes))
    assert groups == whole
    assert all(column.num_chunks == 1 for group in groups for column in group.columns)
    sizes = [[int(n) for batch in group.to_batches() for n in row_sizes(batch)] for group in groups]
    assert [size for group in sizes for size in group] == lengths
    assert all(sum(group) <= group_bytes or len(group) == 1 for group in sizes)


def test_bytes_of_a_shard_depend_on_the_rows_alone_also_where_pages_are_cut(tmp_path):
    """Parquet looks for the end of a page every 1,024 rows of a chunk, so chunks would show from there on."""
    draws = np.random.default_rng(3)
    texts = ["x" * int(n) + str(i) for i, n in enumerate(draws.integers(0, 900, 6_000))]
    table = pa.table({"text": pa.array(texts, pa.large_string()), "number": draws.integers(0, 2**60, 6_000)})
    made = {
        rows: write_shard(0, tmp_path / f"{rows}", table.to_batches(rows), table.schema, row_group_bytes=2**22).sha256
        for rows in (7, 1_000, 1_024, 6_000)
    }
    assert len(set(made.values())) == 1
