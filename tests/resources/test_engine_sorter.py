"""The sorter, on all its paths, against Python's `sorted` over bytes and integers."""

import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.errors import ConfigError, CorruptDataError
from resources.engines import runs, sorter
from resources.engines.runs import sort_batches

MIB = 1024 * 1024
PATHS = ("in memory", "duckdb", "runs", "runs and duckdb")
TEXTS = st.text(
    st.sampled_from(["a", "b", "\x00", "\x01", "\x7f", "é", "\ud7ff", "\ue000", "\uffff", "😀", "\U0010ffff"])
)
LONG_PREFIX = st.builds(lambda n, tail: "p" * n + tail, st.sampled_from([0, 3, 4, 11, 12, 13, 255, 5_000]), TEXTS)
BYTES = st.binary(max_size=6) | st.builds(
    lambda n, tail: b"\xff" * n + tail, st.sampled_from([4, 12, 300]), st.binary()
)
KEYS = {
    "large_string": (pa.large_string(), TEXTS | LONG_PREFIX),
    "string": (pa.string(), TEXTS | LONG_PREFIX),
    "large_binary": (pa.large_binary(), BYTES),
    "binary": (pa.binary(), BYTES),
    "fixed binary": (pa.binary(4), st.binary(min_size=4, max_size=4)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "int8": (pa.int8(), st.integers(-128, 127)),
}


@pytest.fixture(params=PATHS)
def path(request, monkeypatch):
    """Limits that send even a few rows down one path; the payload's type does the rest."""
    duckdb = request.param.endswith("duckdb")
    monkeypatch.setattr(sorter, "IN_MEMORY_ROWS", 1 if duckdb else 2**40)
    monkeypatch.setattr(runs, "MAX_RUN_BYTES", 40 if request.param.startswith("runs") else 2**40)
    monkeypatch.setattr(runs, "STORED_BATCH_BYTES", 200)
    monkeypatch.setattr(runs, "BATCH_BYTES", 150)
    return request.param


def sort(keys: list, kind: pa.DataType, path: str, batch_rows: int, memory: int = 128 * MIB) -> list[tuple]:
    """(bucket, key, payload) sorted, where bucket and payload come of the row's first place."""
    payload = pa.large_string() if path.startswith("runs") or path == "in memory" else pa.int64()
    schema = pa.schema([("bucket", pa.int32()), ("key", kind), ("row", pa.int64()), ("payload", payload)])
    rows = {
        "bucket": [i % 3 for i in range(len(keys))],
        "key": keys,
        "row": list(range(len(keys))),
        "payload": pa.array(range(len(keys))).cast(payload),
    }
    batches = iter(pa.table(rows, schema=schema).to_batches(max_chunksize=batch_rows))
    with TemporaryDirectory() as scratch:
        order = ["bucket", "key", "row"]
        made = sort_batches(batches, schema, order, memory_bytes=memory, threads=2, scratch=Path(scratch))
        table = pa.Table.from_batches(made, schema)
        assert not [p for p in Path(scratch).glob("*") if p.name != ".lock"]
    assert table["payload"].cast(pa.int64()).to_pylist() == table["row"].to_pylist()
    return list(zip(*(table[name].to_pylist() for name in order), strict=True))


def expected(keys: list) -> list[tuple]:
    rows = [(i % 3, key, i) for i, key in enumerate(keys)]
    return sorted(rows, key=lambda r: (r[0], r[1].encode() if isinstance(r[1], str) else r[1], r[2]))


@pytest.mark.parametrize("kind", KEYS)
def test_every_kind_of_key_sorts_as_python_sorts_its_bytes_or_numbers(path, kind):
    dtype, values = KEYS[kind]

    @settings(max_examples=15, deadline=None)
    @given(st.lists(values, max_size=25), st.integers(1, 9))
    def check(keys: list, batch_rows: int) -> None:
        assert sort(keys, dtype, path, batch_rows) == expected(keys)

    check()


def test_characters_beyond_16_bits_sort_after_all_others_and_nul_before(path):
    """UTF-16 order would put U+10000 before U+E000; a C string would end at NUL."""
    keys = ["", "\x00", "\x00\x00", "a", "a\x00", "a\x00b", "a\x01", "\ud7ff", "\ue000", "\uffff", "\U00010000", "😀"]
    assert [row[1] for row in sort(keys[::-1], pa.large_string(), path, 3) if row[0] == 0] == sorted(
        keys[::-1][::3], key=str.encode
    )


def test_keys_that_differ_after_a_megabyte_only_are_told_apart(path):
    keys = ["x" * MIB + tail for tail in ("b", "a", "", "\x00", "😀")]
    assert sort(keys, pa.large_string(), path, 2) == expected(keys)


def test_thousands_of_rows_with_one_key_keep_their_last_key_in_order(path):
    keys = ["same"] * 5_000
    assert sort(keys, pa.large_string(), path, 700) == expected(keys)


def test_rows_longer_than_a_batch_come_alone(path, monkeypatch):
    monkeypatch.setattr(runs, "BATCH_BYTES", 10_000)
    monkeypatch.setattr(sorter, "BATCH_BYTES", 10_000)
    keys = [f"{i:03}" + "t" * 20_000 for i in range(30)]
    assert sort(keys, pa.large_string(), path, 7) == expected(keys)


PAYLOAD = pa.schema(
    [
        ("key", pa.int64()),
        ("u64", pa.uint64()),
        ("u8", pa.uint8()),
        ("f32", pa.float32()),
        ("f64", pa.float64()),
        ("flag", pa.bool_()),
        ("short", pa.string()),
        ("fixed", pa.binary(3)),
        ("when", pa.timestamp("us", tz="UTC")),
        ("list", pa.list_(pa.int32())),
        ("texts", pa.large_list(pa.large_string())),
        ("pair", pa.struct([("a", pa.int16()), ("b", pa.large_string())])),
    ]
)


def test_payload_of_every_type_comes_back_as_it_went_in_nulls_too(path):
    full = {"u64": 2**64 - 1, "u8": 255, "f32": -0.0, "f64": float("inf"), "flag": True, "short": "a\x00b"}
    full |= {"fixed": b"\x00\xff\n", "when": 1_600_000_000_000_001, "list": [1, None], "texts": ["", "😀"]}
    full |= {"pair": {"a": -1, "b": None}}
    rows = [{"key": -n} | (full if n % 2 else {}) for n in range(20)]
    table = pa.Table.from_pylist(rows, PAYLOAD)
    if path == "duckdb":  # the columns that make rows go through DuckDB whole
        table = table.select(["key", "u64", "u8", "f32", "f64", "flag", "fixed", "when"])
    with TemporaryDirectory() as scratch:
        batches = iter(table.to_batches(max_chunksize=3))
        made = sort_batches(batches, table.schema, ["key"], memory_bytes=128 * MIB, threads=2, scratch=Path(scratch))
        assert pa.Table.from_batches(made, table.schema).equals(table.take(pa.array(range(19, -1, -1))))


def test_what_the_source_raises_comes_out_as_it_was_and_nothing_stays_on_disk(path, tmp_path):
    schema = pa.schema([("key", pa.int64()), ("payload", pa.large_string() if path.startswith("runs") else pa.int64())])

    def source():
        for start in range(0, 100, 10):
            yield from pa.table(
                {"key": range(start, start + 10), "payload": pa.array(range(10)).cast(schema[1].type)}
            ).to_batches()
        raise CorruptDataError("part-3", "sha256", "a", "b", "make it again")

    with pytest.raises(CorruptDataError, match="part-3: sha256 is b, expected a; make it again"):
        list(sort_batches(source(), schema, ["key"], memory_bytes=128 * MIB, threads=2, scratch=tmp_path / "s"))
    assert not list((tmp_path / "s").glob("sort-*"))


def test_a_sort_left_in_the_middle_leaves_nothing_on_disk(path, tmp_path):
    schema = pa.schema([("key", pa.int64()), ("payload", pa.large_string() if path.startswith("runs") else pa.int64())])
    table = pa.table({"key": range(5_000), "payload": pa.array(range(5_000)).cast(schema[1].type)})
    source = iter(table.to_batches(max_chunksize=100))
    made = sort_batches(source, schema, ["key"], memory_bytes=128 * MIB, threads=2, scratch=tmp_path)
    assert next(made)["key"][0].as_py() == 0
    made.close()
    assert not list(tmp_path.glob("sort-*"))


def test_keys_that_do_not_fit_the_budget_are_refused_with_what_to_do(tmp_path):
    """The one thing that no limit can bound: DuckDB holds some thousand whole keys at once."""
    schema = pa.schema([("key", pa.large_binary())])

    def source():
        for i in range(3_000):
            yield pa.record_batch([pa.array([struct.pack(">I", i * 7919 % 3000) * 16_384], pa.large_binary())], schema)

    with pytest.raises(ConfigError, match="give the engine more memory"):
        list(sort_batches(source(), schema, ["key"], memory_bytes=8 * MIB, threads=1, scratch=tmp_path))
    assert not list(tmp_path.glob("sort-*"))
