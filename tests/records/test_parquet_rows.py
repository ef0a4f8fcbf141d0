"""Benchmarks as Parquet: which rows and texts they have, what is refused and by which row, and rows left out."""

import gzip
import io
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.plans import eval_index
from corpus_assets.records import parquet_rows
from corpus_assets.stages import eval_items
from formats.benchmark_rules import EvalSet
from formats.errors import CorruptDataError


def packed(table, **how):
    out = io.BytesIO()
    pq.write_table(pa.table(table), out, **how)
    return out.getvalue()


def fields_of(data, *columns, **how):
    return [row for _, _, row in parquet_rows.rows(data, "quiz.parquet", columns, **how)]


def texts(data, *fields):
    eval_set = EvalSet("quiz", "quiz.parquet", "0" * 64, "parquet", fields)
    return found(eval_set, eval_index._rows(eval_set, data, "quiz.parquet"))


def found(eval_set, rows):
    return [(one.item, one.field, one.text) for one in eval_items.texts_of(eval_set, rows, "quiz.parquet")]


ROWS = {"q": ["one", "two", "three"], "choices": [["a", "b"], [], ["c"]], "n": [1, 2, 3]}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("how", [{}, {"row_group_size": 1}, {"use_dictionary": False}, {"data_page_version": "2.0"}])
def test_strings_and_lists_of_strings_are_texts_named_by_row(how, pack):
    data = pack(packed(ROWS, **how))
    expected = [(0, "q", "one"), (0, "choices.0", "a"), (0, "choices.1", "b"), (1, "q", "two"), (2, "q", "three")]
    assert texts(data, "q", "choices") == [*expected, (2, "choices.0", "c")]


def test_parquet_has_the_texts_of_the_same_rows_as_json_lines():
    """The same benchmark protects the same, whatever it is stored as."""
    lines = (
        b'{"q": "one", "c": {"text": ["x", "y"], "label": ["A", "B"]}}\n{"q": "two", "c": {"text": [], "label": ["A"]}}'
    )
    as_lines = EvalSet("quiz", "quiz.jsonl", "0" * 64, "jsonl", ("q", "c"))
    expected = found(as_lines, eval_items.read_rows("jsonl", io.BytesIO(lines), "quiz"))
    table = pa.Table.from_pylist(
        [{"q": "one", "c": {"text": ["x", "y"], "label": ["A", "B"]}}, {"q": "two", "c": {"text": [], "label": ["A"]}}]
    )
    assert len(expected) == 7
    assert texts(packed(table), "q", "c") == expected


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())]
)
def test_every_type_of_text_is_read(kind):
    assert texts(packed({"q": pa.array(["één", "two"]).cast(kind)}), "q") == [(0, "q", "één"), (1, "q", "two")]


BAD = {
    "no such column": (ROWS, "answer", "columns is q, choices, n, expected answer"),
    "a column of numbers": (ROWS, "n", "column n is int64, expected strings, or lists of strings"),
    "a null": ({"q": ["one", None]}, "q", "row 2 (counted from 1), fields is none, expected q"),
    "all null": ({"q": pa.nulls(1)}, "q", "row 1 (counted from 1), fields is none, expected q"),
    "not UTF-8": ({"q": [b"one", b"two", b"t\xff"]}, "q", "row 3 (counted from 1), q is none from its byte 2 on"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_protected_is_told_by_its_row(name):
    table, field, words = BAD[name]
    with pytest.raises(CorruptDataError) as raised:
        texts(packed(table), field)
    assert str(raised.value).startswith(f"quiz.parquet: {words}")


def test_a_column_twice_is_refused():
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["q", "q"])
    with pytest.raises(CorruptDataError, match="columns is q more than once, expected each once"):
        texts(packed(table), "q")


@pytest.mark.parametrize("cut", [0, 3, 40, -1, -9])
def test_a_cut_file_and_other_bytes_are_refused(cut):
    with pytest.raises(CorruptDataError, match=r"Parquet file from row 1 \(counted from 1\) on is broken"):
        texts(packed(ROWS)[:cut], "q")


def test_two_files_one_behind_the_other_are_refused():
    """The second one's metadata would say where its columns lie in the first one."""
    one = packed({"q": ["one"]})
    with pytest.raises(CorruptDataError, match=r"end of another|broken"):
        texts(one + one, "q")


def test_a_file_that_stands_for_more_than_it_may_is_refused():
    big = packed({"q": pa.array(["x" * 3_000_000] * 400)}, compression="zstd")
    assert len(big) < 100_000
    with pytest.raises(CorruptDataError, match=r"decoded bytes is .*, expected at most 268435456"):
        texts(big, "q")


def test_without_columns_those_that_hold_text_are_read_and_no_pictures():
    table = {
        "id": [7], "q": ["one"], "picture": [{"bytes": b"\x89PNG", "path": "a.png"}], "n": [1.5],
        "c": [{"text": "two", "at": datetime(2021, 8, 1)}],
    }  # fmt: skip
    assert fields_of(packed(table), also=("id",)) == [
        {"id": 7, "q": "one", "c": {"text": "two", "at": datetime(2021, 8, 1)}}
    ]


@pytest.mark.parametrize("compression", ["zstd", "snappy", "none", "gzip"])
def test_what_is_left_has_every_column_the_schema_and_its_metadata(compression):
    table = pa.table({**ROWS, "picture": [b"\x89", None, b""]}).replace_schema_metadata({"huggingface": "{}"})
    data = packed(table, row_group_size=2, compression=compression)
    left = parquet_rows.without(data, "quiz.parquet", {1}.__contains__)
    found, first = pq.ParquetFile(io.BytesIO(left)), pq.ParquetFile(io.BytesIO(data))
    assert found.schema.equals(first.schema)
    assert found.schema_arrow.equals(first.schema_arrow, check_metadata=True)
    assert found.schema_arrow.metadata == {b"huggingface": b"{}"}
    assert found.read().equals(first.read().take([0, 2]))
    codecs = {one.metadata.row_group(0).column(0).compression for one in (found, first)}
    assert len(codecs) == 1
    assert pq.read_table(io.BytesIO(parquet_rows.without(data, "quiz.parquet", lambda _: True))).num_rows == 0


def test_a_file_without_rows_has_no_items():
    data = packed({"q": pa.array([], pa.string())})
    assert texts(data, "q") == []
    assert pq.read_table(io.BytesIO(parquet_rows.without(data, "quiz.parquet", bool))).num_rows == 0
