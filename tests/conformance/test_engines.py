"""One suite for all engines: each verb must give the bytes that the obvious rows give when written plainly.

The expected rows are computed here in Python, so an engine is never compared with itself.
"""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from formats.dataset import Dataset, read_table
from formats.errors import ConfigError, CorruptDataError, SchemaMismatchError
from resources.engines.contract import Dest, Engine, First, Task
from tests.conformance.workload import BANDS, HERE, LENGTHS, ROWS, SUMS, dataset_of, documents

GROUP_BYTES = 4_000
Shards = dict[int, list[dict[str, Any]]]


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"].encode())


def by_bucket(shards: Shards) -> Shards:
    rows = [row for shard in shards.values() for row in shard]
    return {b: [row for row in rows if row["bucket"] == b] for b in sorted({row["bucket"] for row in rows})}


@pytest.fixture
def shards() -> Shards:
    """Ids with gaps, an empty shard, a single row."""
    return {0: documents(1, 300), 2: [], 5: documents(2, 500), 6: documents(3, 1)}


@pytest.fixture
def source(tmp_path: Path, shards: Shards) -> Dataset:
    return dataset_of(tmp_path / "source", ROWS, shards, GROUP_BYTES)


@pytest.fixture
def out(tmp_path: Path) -> Dest:
    return Dest(tmp_path / "out", ROWS, GROUP_BYTES)


def assert_is(made: Dataset, schema: pa.Schema, shards: Shards, tmp_path: Path) -> None:
    """The rows first, for words one can read; then the bytes."""
    expected = dataset_of(tmp_path / "expected", schema, shards, GROUP_BYTES)
    assert [shard.id for shard in made.shards] == list(shards)
    assert read_table(made).to_pylist() == read_table(expected).to_pylist()
    assert made.digest == expected.digest


def test_a_map_gives_shard_for_shard_the_rows_of_its_task_in_order(engine, source, shards, out, tmp_path):
    task = Task(f"{HERE}:lengths", {"tag": "t"}, per_shard={5: {"extra": "5"}})
    made = engine.map_batches(source, task, Dest(out.folder, LENGTHS, GROUP_BYTES))

    def length(row: dict[str, Any], shard: int) -> dict[str, Any]:
        size = -1 if row["text"] is None else len(row["text"].encode())
        return {"id": row["id"], "num_bytes": size, "tag": "t5" if shard == 5 else "t"}

    assert_is(made, LENGTHS, {i: [length(row, i) for row in rows] for i, rows in shards.items()}, tmp_path)


def test_a_map_may_add_rows(engine, source, shards, out, tmp_path):
    made = engine.map_batches(source, Task(f"{HERE}:twice"), out)
    assert_is(made, ROWS, {i: [row for row in rows for _ in (0, 1)] for i, rows in shards.items()}, tmp_path)


def test_sides_are_joined_by_shard_id_whole_and_empty_where_they_have_no_shard(engine, source, shards, out, tmp_path):
    listed = pa.schema([("number", pa.int64()), ("why", pa.large_string())])
    one = {0: [{"number": n, "why": "even"} for n in range(0, 300, 2)]}
    two = {0: [{"number": 1, "why": "one"}], 5: [{"number": n, "why": "low"} for n in range(30)], 9: []}
    sides = [dataset_of(tmp_path / f"side{i}", listed, side, GROUP_BYTES) for i, side in enumerate((one, two))]
    made = engine.map_batches(source, Task(f"{HERE}:keep_listed"), out, sides=sides)
    kept = {i: {r["number"] for side in (one, two) for r in side.get(i, [])} for i in shards}
    assert_is(made, ROWS, {i: [r for r in rows if r["number"] in kept[i]] for i, rows in shards.items()}, tmp_path)


def test_a_sort_gives_each_bucket_its_rows_in_key_order(engine, source, shards, out, tmp_path):
    made = engine.sort_reduce(source, Task(f"{HERE}:as_is"), out, bucket="bucket", keys=["id"])
    assert_is(made, ROWS, {b: in_order(rows) for b, rows in by_bucket(shards).items()}, tmp_path)


def test_a_sort_may_first_make_other_rows_of_each_shard_beside_its_sides(engine, source, shards, out, tmp_path):
    listed = pa.schema([("number", pa.int64()), ("why", pa.large_string())])
    low = {5: [{"number": n, "why": "low"} for n in range(30)]}
    first = First(Task(f"{HERE}:keep_listed"), ROWS, [dataset_of(tmp_path / "side", listed, low, GROUP_BYTES)])
    made = engine.sort_reduce(source, Task(f"{HERE}:as_is"), out, bucket="bucket", keys=["id"], first=first)
    kept = {5: [row for row in shards[5] if row["number"] < 30]}
    assert_is(made, ROWS, {b: in_order(rows) for b, rows in by_bucket(kept).items()}, tmp_path)
    assert {path.name for path in out.folder.iterdir()} == {Path(shard.path).name for shard in made.shards}


def test_what_is_made_before_a_sort_has_its_columns_and_no_nulls_in_the_keys(strict_engine, source, out):
    as_is, lengths = Task(f"{HERE}:as_is"), Task(f"{HERE}:lengths", {"tag": "t"})
    with pytest.raises(SchemaMismatchError):
        strict_engine.sort_reduce(source, as_is, out, bucket="bucket", keys=["id"], first=First(lengths, ROWS))
    with pytest.raises(ConfigError, match="bucket"):
        strict_engine.sort_reduce(source, as_is, out, bucket="bucket", keys=["id"], first=First(lengths, LENGTHS))
    for name, column in (("id", pa.large_string()), ("bucket", pa.int32())):
        blank = First(Task(f"{HERE}:without", {"name": name}), ROWS.set(ROWS.names.index(name), pa.field(name, column)))
        with pytest.raises((CorruptDataError, SchemaMismatchError), match=name):
            strict_engine.sort_reduce(source, as_is, out, bucket="bucket", keys=["id"], first=blank)


def test_a_sort_by_bucket_alone_needs_rows_that_are_told_apart(strict_engine, source, out):
    with pytest.raises(ConfigError, match="different rows have equal bucket"):
        strict_engine.sort_reduce(source, Task(f"{HERE}:as_is"), out, bucket="bucket", keys=[])


def test_rows_equal_in_every_column_have_one_order_and_all_stay(engine, out, tmp_path):
    rows = [{"bucket": n % 2, "key": -n, "doc": n // 3} for n in range(60)] * 3
    source = dataset_of(tmp_path / "source", BANDS, {0: rows, 1: rows}, GROUP_BYTES)
    dest = Dest(out.folder, BANDS, GROUP_BYTES)
    made = engine.sort_reduce(source, Task(f"{HERE}:as_is"), dest, bucket="bucket", keys=["key", "doc"])
    expected = {b: sorted((r for r in rows * 2 if r["bucket"] == b), key=lambda r: r["key"]) for b in (0, 1)}
    assert_is(made, BANDS, expected, tmp_path)


def test_a_reducer_sees_each_bucket_whole_and_its_notes_are_summed(engine, source, shards, out, tmp_path):
    dest = Dest(out.folder, SUMS, GROUP_BYTES)
    made = engine.sort_reduce(source, Task(f"{HERE}:count"), dest, bucket="bucket", keys=["id"])
    expected = {
        b: [
            {"bucket": b, "rows": len(rows), "first": in_order(rows)[0]["number"], "last": in_order(rows)[-1]["number"]}
        ]
        for b, rows in by_bucket(shards).items()
    }
    assert_is(made, SUMS, expected, tmp_path)
    assert made.notes == {"buckets": len(expected), "rows": 801}


@pytest.mark.parametrize("rows", [1, 3, 70])
def test_a_reducer_may_stop_early_and_the_next_bucket_starts_at_its_first_row(
    engine, source, shards, out, tmp_path, rows
):
    made = engine.sort_reduce(source, Task(f"{HERE}:first_rows", {"rows": rows}), out, bucket="bucket", keys=["id"])
    assert_is(made, ROWS, {b: in_order(kept)[:rows] for b, kept in by_bucket(shards).items()}, tmp_path)


def test_a_reducer_that_reads_nothing_writes_empty_shards(engine, source, shards, out, tmp_path):
    made = engine.sort_reduce(source, Task(f"{HERE}:nothing"), out, bucket="bucket", keys=["id"])
    assert_is(made, ROWS, {b: [] for b in by_bucket(shards)}, tmp_path)


@pytest.mark.parametrize("rows_per_shard", [1_000, 801, 800, 77])
def test_slices_have_exact_row_counts_across_shard_borders(engine, source, shards, out, tmp_path, rows_per_shard):
    made = engine.slice_rows(source, rows_per_shard, out)
    rows = [row for shard in shards.values() for row in shard]
    cut = [rows[i : i + rows_per_shard] for i in range(0, len(rows), rows_per_shard)]
    assert_is(made, ROWS, dict(enumerate(cut)), tmp_path)


def test_a_dataset_without_shards_maps_and_sorts_to_none_and_slices_to_one_empty_shard(engine, out, tmp_path):
    empty = Dataset(ROWS, ())
    assert engine.map_batches(empty, Task(f"{HERE}:twice"), out).shards == ()
    assert engine.sort_reduce(empty, Task(f"{HERE}:as_is"), out, bucket="bucket", keys=["id"]).shards == ()
    assert_is(engine.slice_rows(empty, 10, out), ROWS, {0: []}, tmp_path)


def test_only_the_columns_of_the_source_are_read(engine, source, shards, tmp_path):
    narrow = source.select("bucket", "id")
    dest = Dest(tmp_path / "out", narrow.schema, GROUP_BYTES)
    made = engine.sort_reduce(narrow, Task(f"{HERE}:as_is"), dest, bucket="bucket", keys=["id"])
    rows = {b: [{"bucket": b, "id": r["id"]} for r in in_order(rows)] for b, rows in by_bucket(shards).items()}
    assert_is(made, narrow.schema, rows, tmp_path)
    sliced = engine.slice_rows(made, 801, Dest(tmp_path / "sliced", narrow.schema, GROUP_BYTES))
    assert read_table(sliced).to_pylist() == [row for shard in rows.values() for row in shard]


def damage_flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def damage_truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def verbs(engine: Engine, source: Dataset, out: Dest, side: Dataset) -> dict[str, Any]:
    return {
        "map": lambda: engine.map_batches(source, Task(f"{HERE}:twice"), out),
        "side": lambda: engine.map_batches(source, Task(f"{HERE}:keep_listed"), out, sides=[side]),
        "sort": lambda: engine.sort_reduce(source, Task(f"{HERE}:as_is"), out, bucket="bucket", keys=["id"]),
        "slice": lambda: engine.slice_rows(source, 100, out),
    }


@pytest.mark.parametrize("damage", [damage_flip, damage_truncate, Path.unlink])
@pytest.mark.parametrize("verb", ["map", "side", "sort", "slice"])
def test_a_damaged_source_shard_is_refused_by_name(strict_engine, source, out, tmp_path, verb, damage):
    side = dataset_of(tmp_path / "side", ROWS, {0: documents(4, 50)}, GROUP_BYTES)
    damaged = side.shards[0].path if verb == "side" else source.shards[2].path
    damage(Path(damaged))
    with pytest.raises(CorruptDataError) as caught:
        verbs(strict_engine, source, out, side)[verb]()
    assert caught.value.path == damaged


@pytest.mark.parametrize("task", ["wrong_columns", "null_ids"])
def test_rows_that_do_not_fit_the_destination_are_refused_by_the_name_of_the_task(strict_engine, source, out, task):
    with pytest.raises(SchemaMismatchError, match=task):
        strict_engine.map_batches(source, Task(f"{HERE}:{task}"), out)


def test_what_a_task_raises_comes_out_as_raised(strict_engine, source, out):
    with pytest.raises(CorruptDataError, match=r"page\.html: charset is latin-1, expected utf-8; fetch it again"):
        strict_engine.map_batches(source, Task(f"{HERE}:refuse"), out)
    with pytest.raises(CorruptDataError, match="bucket: number is 6, expected another"):
        strict_engine.sort_reduce(source, Task(f"{HERE}:refuse_bucket", {"at": 6}), out, bucket="bucket", keys=["id"])


def test_a_failed_verb_leaves_whole_shards_only(strict_engine, source, shards, out, tmp_path):
    with pytest.raises(CorruptDataError):
        strict_engine.sort_reduce(source, Task(f"{HERE}:refuse_bucket", {"at": 6}), out, bucket="bucket", keys=["id"])
    rows = {b: in_order(rows) for b, rows in by_bucket(shards).items()}
    expected = dataset_of(tmp_path / "expected", ROWS, rows, GROUP_BYTES)
    for path in out.folder.glob("[!.]*"):
        assert path.read_bytes() == (tmp_path / "expected" / path.name).read_bytes()
    assert not (out.folder / Path(expected.shard(6).path).name).exists()


@pytest.mark.parametrize(
    ("bucket", "key", "words"),
    [
        ("nowhere", "id", "no column 'nowhere'"),
        ("bucket", "nowhere", "no column 'nowhere'"),
        ("id", "number", "expected a signed integer"),
        ("bucket", "ratio", "expected a signed integer, string or binary"),
        ("bucket", "unsigned", "expected a signed integer, string or binary"),
    ],
)
def test_a_sort_by_what_has_no_one_order_is_refused_before_any_work(strict_engine, out, bucket, key, words):
    schema = ROWS.append(pa.field("ratio", pa.float64())).append(pa.field("unsigned", pa.uint64()))
    with pytest.raises(ConfigError, match=words):
        strict_engine.sort_reduce(Dataset(schema, ()), Task(f"{HERE}:as_is"), out, bucket=bucket, keys=[key])


@pytest.mark.parametrize(("column", "value"), [("bucket", None), ("bucket", -1), ("key", None)])
def test_a_null_key_or_a_negative_bucket_is_refused_by_the_name_of_the_shard(
    strict_engine, out, tmp_path, column, value
):
    rows = [{"bucket": 1, "key": n, "doc": n} for n in range(9)]
    source = dataset_of(tmp_path / "s", BANDS, {0: rows, 1: [*rows, rows[0] | {column: value}]}, GROUP_BYTES)
    with pytest.raises(CorruptDataError, match=f"column {column}") as caught:
        strict_engine.sort_reduce(source, Task(f"{HERE}:as_is"), Dest(out.folder, BANDS), bucket="bucket", keys=["key"])
    assert caught.value.path == source.shards[1].path


def test_less_than_one_row_a_shard_is_refused(strict_engine, source, out):
    with pytest.raises(ConfigError, match="rows_per_shard is 0"):
        strict_engine.slice_rows(source, 0, out)


@pytest.mark.parametrize("name", ["tests.conformance.workload:nowhere", "nowhere_at_all:fn", "no colon"])
def test_a_task_that_names_no_function_is_refused(strict_engine, source, out, name):
    with pytest.raises(ConfigError, match="names no function"):
        strict_engine.map_batches(source, Task(name), out)


def test_running_a_verb_again_over_its_own_output_gives_the_same_bytes(engine, source, out):
    first = engine.sort_reduce(source, Task(f"{HERE}:as_is"), out, bucket="bucket", keys=["id"])
    assert engine.sort_reduce(source, Task(f"{HERE}:as_is"), out, bucket="bucket", keys=["id"]) == first
    shutil.rmtree(out.folder)
    assert engine.sort_reduce(source, Task(f"{HERE}:as_is"), out, bucket="bucket", keys=["id"]) == first
