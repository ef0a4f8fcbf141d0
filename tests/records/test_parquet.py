"""Parquet rows through the field mapping."""

from datetime import date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.records.record import Limits, Record, Reject
from formats.compressed import Budget
from formats.errors import CorruptDataError, SchemaMismatchError
from tests import faults
from tests.records.made_up_files import mapping, read, records, rejects


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_rows_are_records_named_by_their_row_over_all_groups(tmp_path, kind):
    texts = [f"tale {i % 9}" for i in range(600)]
    pq.write_table(pa.table({"text": pa.array(texts).cast(kind), "n": range(600)}), tmp_path / "f", row_group_size=250)
    found = read(tmp_path / "f", "parquet", "t.parquet")
    assert found == [Record(f"t.parquet#{i}", i, text) for i, text in enumerate(texts)]


def test_mapped_columns_are_read_also_from_structs(tmp_path):
    table = pa.table(
        {
            "body": [{"raw": "Tom naps."}, {"raw": None}, None],
            "at": pa.array([datetime(2024, 5, 6, 7, 8, 9, 10)] * 3, pa.timestamp("us", "UTC")),
            "url": ["http://a.example/", "http://b.example/", "http://c.example/"],
        }
    )
    pq.write_table(table, tmp_path / "f")
    found = read(tmp_path / "f", "parquet", fields=mapping(text="body.raw", date="at", url="url"))
    assert records(found) == [Record("http://a.example/", 0, "Tom naps.", crawl_date="2024-05-06T07:08:09Z")]
    assert rejects(found) == [(1, "no_text_field"), (2, "no_text_field")]


def test_a_day_is_its_midnight(tmp_path):
    pq.write_table(pa.table({"text": ["t"], "day": [date(2024, 5, 6)]}), tmp_path / "f")
    assert records(read(tmp_path / "f", "parquet", fields=mapping(date="day")))[0].crawl_date == "2024-05-06T00:00:00Z"


def test_a_row_that_is_not_utf8_is_a_reject_between_its_neighbours(tmp_path):
    text = pa.array([b"before", b"\xff\xfe", b"after"], pa.binary())
    pq.write_table(pa.table({"text": text.view(pa.string())}), tmp_path / "f")
    found = read(tmp_path / "f", "parquet")
    assert rejects(found) == [(1, "invalid_utf8")]
    assert [record.content for record in records(found)] == ["before", "after"]


def test_a_reject_is_named_by_its_own_url_where_that_can_be_read(tmp_path):
    text = pa.array([b"\xff\xfe", b"\xff\xfe", None], pa.binary()).view(pa.string())
    url = pa.array([b"http://a.example/", b"\xff", b"http://c.example/"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": text, "url": url}), tmp_path / "f")
    assert read(tmp_path / "f", "parquet", "t.parquet", fields=mapping(url="url")) == [
        Reject("http://a.example/", 0, "invalid_utf8"),
        Reject("t.parquet#1", 1, "invalid_utf8"),
        Reject("http://c.example/", 2, "no_text_field"),
    ]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (mapping(text="body"), "a column body"),
        (mapping(text="text.raw"), "a column text.raw"),
        (mapping(url="link"), "a column link"),
        (mapping(text="n"), "column n"),
    ],
)
def test_a_file_without_the_mapped_columns_is_an_error(tmp_path, fields, says):
    pq.write_table(pa.table({"text": ["t"], "n": [1]}), tmp_path / "f")
    with pytest.raises(SchemaMismatchError, match=says):
        read(tmp_path / "f", "parquet", fields=fields)


def test_a_broken_file_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "f"
    pq.write_table(pa.table({"text": [f"tale {i}" for i in range(1_000)]}), path)
    whole = path.read_bytes()
    for cut in (1, 100, len(whole) // 2, len(whole)):
        path.write_bytes(whole[:-cut])
        with pytest.raises(CorruptDataError, match=str(path)):
            read(path, "parquet")
    path.write_bytes(whole)
    faults.flip_byte(path, -1)
    with pytest.raises(CorruptDataError, match=str(path)):
        read(path, "parquet")


def test_a_file_that_would_grow_beyond_its_budget_is_stopped(tmp_path):
    pq.write_table(pa.table({"text": ["x" * 1_000_000] * 3}), tmp_path / "f", use_dictionary=False)
    with pytest.raises(CorruptDataError, match="uncompressed bytes"):
        read(tmp_path / "f", "parquet", limits=Limits(file_budget=Budget(max_bytes=10_000)))
