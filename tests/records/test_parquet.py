"""Parquet rows through the field mapping."""

import random
from datetime import date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.records.parquet_bounds import rows_at_once
from corpus_assets.records.read import read_file
from corpus_assets.records.record import Limits, Record, Reject, Tally
from formats.compressed import Budget
from formats.errors import CorruptDataError, SchemaMismatchError
from tests import faults
from tests.peak_memory import peak_growth
from tests.records.made_up_files import mapping, read, records, rejects, row


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


def write(path, table, **options):
    pq.write_table(pa.table(table), path, **options)
    return path


TEXTS = ["Tom naps.", None, "", "Mia ünï 🦊"]
AS_BYTES = [text if text is None else text.encode() for text in TEXTS]


@pytest.mark.parametrize("store_schema", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        pa.array(TEXTS, pa.string()),
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS, pa.string_view()),
        pa.array(TEXTS).dictionary_encode(),
        pa.array(AS_BYTES, pa.binary()),
        pa.array(AS_BYTES, pa.large_binary()),
        pa.array(AS_BYTES, pa.binary()).dictionary_encode(),
    ],
    ids=lambda array: str(array.type),
)
def test_text_is_text_however_it_is_stored(tmp_path, text, store_schema):
    columns = {"flat": text, "meta": pa.StructArray.from_arrays([text], ["body"])}
    if pa.types.is_string_view(text.type) or pa.types.is_dictionary(text.type):
        del columns["meta"]
    path = write(tmp_path / "f", columns, store_schema=store_schema)
    for name in ("flat", "meta.body")[: len(columns)]:
        found = read(path, "parquet", fields=mapping(text=name))
        assert [record.content for record in records(found)] == [TEXTS[0], *TEXTS[2:]]
        assert rejects(found) == [(1, "no_text_field")]


def test_a_list_of_strings_is_one_text_a_line_each(tmp_path):
    lists = [["Tom naps.", "Mia naps, too."], [], None, ["one", None], ["one"]]
    for kind in (pa.list_(pa.string()), pa.large_list(pa.large_string())):
        path = write(tmp_path / "f", {"lines": pa.array(lists, kind)})
        found = read(path, "parquet", fields=mapping(text="lines"))
        assert [record.content for record in records(found)] == ["Tom naps.\nMia naps, too.", "", "one"]
        assert rejects(found) == [(2, "no_text_field"), (3, "text_not_a_string")]


def test_a_null_anywhere_above_a_field_is_no_field(tmp_path):
    meta = [{"page": {"url": "http://a.example/"}}, {"page": {"url": None}}, {"page": None}, None]
    path = write(tmp_path / "f", {"text": ["a", "b", "c", "d"], "meta": meta})
    found = read(path, "parquet", "t", fields=mapping(url="meta.page.url"))
    assert records(found) == [Record("http://a.example/", 0, "a")]
    assert rejects(found) == [(i, "no_url_field") for i in (1, 2, 3)]


def test_a_column_of_exactly_the_mapped_name_comes_before_a_field_of_a_struct(tmp_path):
    path = write(tmp_path / "f", {"meta": [{"text": "nested"}], "meta.text": ["flat"]})
    assert [record.content for record in read(path, "parquet", fields=mapping(text="meta.text"))] == ["flat"]
    path = write(tmp_path / "g", {"meta": [{"text": "nested"}], "meta.other": ["flat"]})
    assert [record.content for record in read(path, "parquet", fields=mapping(text="meta.text"))] == ["nested"]


@pytest.mark.parametrize(
    "times",
    [
        pa.array([1_714_979_289_000_000_001, 2**63 - 1, -1, None], pa.timestamp("ns")),
        pa.array([1_714_979_289_000_001, 2**62, -1, None], pa.timestamp("us", "UTC")),
        pa.array([1_714_979_289_001, 2**62, -1, None], pa.timestamp("ms", "Europe/Athens")),
        pa.array([19_849, 2**30, -1, None], pa.date32()),
        pa.array([19_849 * 86_400_000, 2**30 * 86_400_000, -86_400_000, None], pa.date64()),
    ],
    ids=lambda array: str(array.type),
)
def test_times_come_out_in_utc_and_seconds_and_those_of_no_calendar_are_rejects(tmp_path, times):
    path = write(tmp_path / "f", {"text": ["a", "b", "c", "d"], "at": times})
    found = read(path, "parquet", fields=mapping(date="at"))
    is_day = pa.types.is_date(times.type)
    late = "2262-04-11T23:47:16Z" if str(times.type) == "timestamp[ns]" else None
    expected = ["2024-05-06T00:00:00Z" if is_day else "2024-05-06T07:08:09Z", late,
                "1969-12-31T00:00:00Z" if is_day else "1969-12-31T23:59:59Z", None]  # fmt: skip
    dates = {record.position: record.crawl_date for record in records(found)}
    assert dates == {i: date for i, date in enumerate(expected) if i != 1 or late}
    assert rejects(found) == ([] if late else [(1, "bad_date")])


def test_files_of_no_row_one_row_and_rows_in_many_groups(tmp_path):
    schema = pa.schema([("text", pa.string())])
    pq.write_table(schema.empty_table(), tmp_path / "none")
    with pq.ParquetWriter(tmp_path / "no group", schema):
        pass
    assert read(tmp_path / "none", "parquet") == read(tmp_path / "no group", "parquet") == []
    assert read(write(tmp_path / "one", {"text": ["a"]}), "parquet", "t") == [Record("t#0", 0, "a")]
    with pq.ParquetWriter(tmp_path / "groups", schema) as writer:
        for size in (1, 0, 300, 2):
            writer.write_table(pa.table({"text": [str(i) for i in range(size)]}, schema=schema))
    found = read(tmp_path / "groups", "parquet")
    assert [(one.position, one.content) for one in records(found)] == list(
        enumerate([*map(str, range(1)), *map(str, range(300)), *map(str, range(2))])
    )


def test_a_column_of_nothing_has_no_text(tmp_path):
    path = write(tmp_path / "f", {"text": pa.nulls(2)})
    assert rejects(read(path, "parquet")) == [(0, "no_text_field"), (1, "no_text_field")]


def test_a_text_beyond_the_limit_is_a_reject_and_the_next_is_read(tmp_path):
    path = write(tmp_path / "f", {"text": ["x" * 2_000, "short"]})
    found = read(path, "parquet", limits=Limits(max_record_bytes=1_000))
    assert (rejects(found), [record.content for record in records(found)]) == ([(0, "record_too_large")], ["short"])


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            mapping(text="body"),
            r"list of columns is text, n, meta\.lang, meta\.n, tags, at, expected one named body; .* --text-field of",
        ),
        (mapping(text="text.raw"), r"one named text\.raw"),
        (mapping(text="meta.body"), r"meta\.lang, .*expected one named meta\.body"),
        (mapping(text="meta"), "column meta is struct.*expected a string, or a list of strings"),
        (mapping(text="n"), "column n is int64, expected a string"),
        (mapping(text="meta.n"), r"column meta\.n is int64, expected a string"),
        (mapping(url="link"), "one named link"),
        (mapping(url="n"), "column n is int64, expected a string"),
        (mapping(license="tags"), "column tags is list<.*, expected a string"),
        (mapping(date="n"), "column n is int64, expected a date, a time, or a string"),
    ],
)
def test_a_file_without_the_mapped_columns_is_an_error_that_says_what_is_there(tmp_path, fields, says):
    table = {"text": ["t"], "n": [1], "meta": [{"lang": "en", "n": 1}], "tags": [["a"]], "at": [date(2024, 5, 6)]}
    path = write(tmp_path / "f", table)
    with pytest.raises(SchemaMismatchError, match=f"{path}: .*{says}"):
        read(path, "parquet", fields=fields)


def test_two_columns_of_one_name_are_an_error(tmp_path):
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"]), tmp_path / "f")
    with pytest.raises(SchemaMismatchError, match="number of columns named text is 2, expected 1"):
        read(tmp_path / "f", "parquet")


def repeated(path, text: str, rows: int) -> None:
    """A file whose one text stands for every row."""
    indices = pa.array([0] * rows, pa.int32())
    table = pa.table({"text": pa.DictionaryArray.from_arrays(indices, pa.array([text]))})
    pq.write_table(table, path, compression="zstd", dictionary_pagesize_limit=1 << 30, store_schema=False)


def test_rows_that_repeat_one_huge_text_are_decoded_few_at_a_time_and_stopped_by_the_budget(tmp_path):
    repeated(tmp_path / "f", "x" * (16 << 20), 100_000)
    assert (tmp_path / "f").stat().st_size < 100_000

    def decode() -> None:
        found = read_file(tmp_path / "f", "t", row("parquet"), Limits(), Tally())
        first = [next(found) for _ in range(15)]
        assert [len(record.content) for record in first] == [16 << 20] * 15
        del first
        with pytest.raises(CorruptDataError, match="decoded bytes"):
            next(found)

    assert peak_growth(decode) < 900 << 20


@pytest.mark.parametrize(("num_bytes", "rows"), [(100, 256), (1 << 20, 256), (4 << 20, 64), (64 << 20, 4)])
def test_the_largest_value_of_a_dictionary_decides_how_many_rows_are_decoded_at_once(tmp_path, num_bytes, rows):
    repeated(tmp_path / "f", "x" * (num_bytes - 16), 3)
    with pq.ParquetFile(tmp_path / "f") as file:
        assert rows_at_once(tmp_path / "f", file, 0, ["text"]) == rows


def test_values_that_share_their_beginnings_count_as_long_as_all_of_them(tmp_path):
    table = {"meta": [{"text": "x" * (2 << 20) + str(i)} for i in range(4)]}
    write(tmp_path / "f", table, use_dictionary=False, column_encoding={"meta.text": "DELTA_BYTE_ARRAY"})
    with pq.ParquetFile(tmp_path / "f") as file:
        bound = file.metadata.row_group(0).column(0).total_uncompressed_size
        assert rows_at_once(tmp_path / "f", file, 0, ["meta.text"]) == min(256, (256 << 20) // bound)
    assert len(records(read(tmp_path / "f", "parquet", fields=mapping(text="meta.text")))) == 4


def test_damage_anywhere_gives_rows_or_an_error_that_names_the_file(tmp_path):
    """Nothing else comes out: no other exception, no crash."""
    pick = random.Random(7)
    table = {"text": [f"tale {i}" for i in range(300)], "meta": [{"url": f"http://a.example/{i}"} for i in range(300)]}
    whole = write(tmp_path / "whole", table, row_group_size=100).read_bytes()
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(pick.randrange(1, 4)):
            data[pick.randrange(len(data))] = pick.randrange(256)
        (tmp_path / "f").write_bytes(data)
        failure = None
        try:
            read(tmp_path / "f", "parquet", fields=mapping(url="meta.url"))
        except CorruptDataError as error:
            failure = error
        assert failure is None or failure.path == str(tmp_path / "f")


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


def test_no_flipped_bit_of_the_metadata_makes_a_file_shorter(tmp_path):
    path = write(tmp_path / "f", {"text": [f"tale {i}" for i in range(50)]}, row_group_size=25, compression="none")
    whole = path.read_bytes()
    size = int.from_bytes(whole[-8:-4], "little")
    pick = random.Random(3)
    bits = range((len(whole) - 8 - size) * 8, (len(whole) - 8) * 8)
    seen = set()
    for bit in pick.sample(bits, 1_200):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        try:
            seen.add(len(read(path, "parquet")))
        except CorruptDataError:
            seen.add(None)
    assert seen == {50, None}


@pytest.mark.parametrize("first", [{"text": ["a", "b"]}, {"text": ["a tale"] * 9, "n": list(range(9))}])
def test_files_that_were_joined_are_an_error_not_the_last_of_them(tmp_path, first):
    """The places in the last one's metadata are looked up in the first one: here they are the same."""
    last = write(tmp_path / "last", {"text": ["a", "b"]}).read_bytes()
    (tmp_path / "f").write_bytes(write(tmp_path / "first", first).read_bytes() + last)
    with pytest.raises(CorruptDataError, match=str(tmp_path / "f")):
        read(tmp_path / "f", "parquet")


def test_a_page_with_a_checksum_is_held_to_it(tmp_path):
    path = tmp_path / "f"
    pq.write_table(
        pa.table({"text": [f"tale {i}" for i in range(50)]}),
        path,
        write_page_checksum=True,
        compression="none",
        use_dictionary=False,
    )
    whole = path.read_bytes()
    assert len(records(read(path, "parquet"))) == 50
    path.write_bytes(whole.replace(b"tale 7", b"tale 8"))
    with pytest.raises(CorruptDataError, match="CRC"):
        read(path, "parquet")


@pytest.mark.parametrize("holds", ["text", "url", "date", "license"])
def test_a_column_that_is_not_there_is_told_with_the_option_that_names_it(tmp_path, holds):
    path = write(tmp_path / "f", {"text": ["a"], "content": ["a"]})
    with pytest.raises(SchemaMismatchError) as caught:
        read(path, "parquet", fields=mapping(**{holds: "body"}))
    todo = f"say which holds the {holds}: fields.{holds} of the row, --{holds}-field of `corpus ledger add`"
    assert str(caught.value) == f"{path}: list of columns is text, content, expected one named body; {todo}"


def test_what_is_no_parquet_file_is_told_in_a_sentence(tmp_path):
    (tmp_path / "f").write_bytes(b"Tom has a cat. " * 10)
    with pytest.raises(
        CorruptDataError, match=r"f: Parquet file from row 0 on is broken \(Parquet magic .*expected whole"
    ):
        read(tmp_path / "f", "parquet")
