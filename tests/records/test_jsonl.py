"""JSON lines and the field mapping: every line is a record or a reject that says why."""

import gzip
import json

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.records.fields import utc_second
from corpus_assets.records.record import Limits, Record, Reject
from formats.errors import CorruptDataError
from formats.reject_reasons import DAMAGED, RejectReason
from tests.records.made_up_files import mapping, read, records, rejects


def lines(*values: object) -> bytes:
    return b"".join(value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n" for value in values)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
def test_lines_are_records_named_by_their_line(tmp_path, pack):
    path = tmp_path / "f"
    path.write_bytes(pack(lines({"text": "Tom has a cat."}, {"text": "Mia naps.", "more": [1]})))
    assert read(path, "jsonl", "t.jsonl") == [
        Record("t.jsonl#0", 0, "Tom has a cat."),
        Record("t.jsonl#1", 1, "Mia naps."),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "cut off in the mid', "broken_json"),
        (b"{'text': 'single quotes'}", "broken_json"),
        (b'{"text": "raw \x01 control"}', "broken_json"),
        (b'{"n": ' + b"9" * 5_000 + b', "text": "t"', "broken_json"),
        (b'{"text": ' + b"9" * 5_000 + b"}", "text_not_a_string"),
        (b"[" * 100_000, "broken_json"),
        (b'{"text": "\xe9t\xe9"}', "invalid_utf8"),
        (b'{"text": "cut in a sign \xf0\x9f\x98', "invalid_utf8"),
        (b'{"text": "\xed\xa0\x80"}', "invalid_utf8"),
        (b"[1]", "not_an_object"),
        (b'"text"', "not_an_object"),
        (b"", "blank_line"),
        (b"  \r", "blank_line"),
        (b'{"body": "t"}', "no_text_field"),
        (b'{"text": null}', "no_text_field"),
        (b'{"text": 5}', "text_not_a_string"),
        (b'{"text": {"t": "t"}}', "text_not_a_string"),
        (b'{"text": ["t", 5]}', "text_not_a_string"),
        (b'{"text": ["t", null]}', "text_not_a_string"),
        (b'{"text": true}', "text_not_a_string"),
    ],
)
def test_a_line_that_cannot_be_used_is_a_reject_between_its_neighbours(tmp_path, line, reason):
    path = tmp_path / "f"
    path.write_bytes(lines({"text": "before"}, line + b"\n", {"text": "after"}))
    found = read(path, "jsonl")
    assert rejects(found) == [(1, reason)]
    assert [record.content for record in records(found)] == ["before", "after"]


def test_a_last_line_without_its_newline_counts(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(lines({"text": "whole"}, {"text": "also"})[:-1])
    assert [record.content for record in records(read(path, "jsonl"))] == ["whole", "also"]
    path.write_bytes(lines({"text": "whole"}, {"text": "also"})[:-9])
    assert rejects(read(path, "jsonl")) == [(1, "broken_json")]


def test_a_byte_order_mark_and_windows_line_ends_are_no_fault(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "b"}\r\n')
    assert [record.content for record in records(read(path, "jsonl"))] == ["a", "b"]


def test_a_line_beyond_the_limit_is_a_reject_and_the_next_is_read(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(lines({"text": "x" * 3_000_000}, {"text": "short"}))
    found = read(path, "jsonl", limits=Limits(max_record_bytes=1_000))
    assert rejects(found) == [(0, "record_too_large")]
    assert [record.content for record in records(found)] == ["short"]


def test_a_cut_compressed_file_is_an_error_not_fewer_records(tmp_path):
    path = tmp_path / "f"
    whole = zstandard.compress(lines(*({"text": f"tale {i}"} for i in range(500))))
    path.write_bytes(whole[:-1])
    with pytest.raises(CorruptDataError, match="zstd stream"):
        read(path, "jsonl")


def test_an_empty_file_has_no_records(tmp_path):
    (tmp_path / "f").write_bytes(b"")
    assert read(tmp_path / "f", "jsonl") == []


def test_mapped_fields_are_followed_into_objects(tmp_path):
    path = tmp_path / "f"
    value = {
        "body": {"raw": "Tom naps."},
        "meta": {"url": "http://tales.example/1", "day": "2024-05-06"},
        "l": "cc0-1.0",
    }
    path.write_bytes(lines(value, {"body": "flat"}))
    fields = mapping(text="body.raw", url="meta.url", date="meta.day", license="l")
    found = read(path, "jsonl", fields=fields)
    assert found[0] == Record("http://tales.example/1", 0, "Tom naps.", crawl_date="2024-05-06T00:00:00Z")
    assert rejects(found) == [(1, "no_text_field")]


def test_a_field_of_exactly_the_mapped_name_comes_before_one_in_an_object(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(
        lines(
            {"meta.text": "flat", "meta": {"text": "nested"}},
            {"meta": {"text": "nested"}},
            {"meta": {"text.raw": "half", "text": {"raw": "deep"}}},
            {"meta": ["text"]},
        )
    )
    found = read(path, "jsonl", fields=mapping(text="meta.text"))
    assert [record.content for record in records(found)] == ["flat", "nested"]
    assert rejects(found) == [(2, "text_not_a_string"), (3, "no_text_field")]
    found = read(path, "jsonl", fields=mapping(text="meta.text.raw"))
    assert [record.content for record in records(found)] == ["half"]


def test_a_list_of_strings_is_one_text_a_line_each(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(lines({"text": ["Tom naps.", "", "Mia naps, too."]}, {"text": ["one"]}, {"text": []}))
    assert [record.content for record in records(read(path, "jsonl"))] == ["Tom naps.\n\nMia naps, too.", "one", ""]


@pytest.mark.parametrize(
    ("escapes", "text"),
    [
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\ud83d", "\ud83d"),
        (r"a\ude00b", "a\ude00b"),
        (r"\ude00\ud83d", "\ude00\ud83d"),
        (r"\ud83d\ud83d\ude00", "\ud83d\U0001f600"),
    ],
)
def test_surrogate_escapes_are_a_sign_where_they_are_a_pair_and_stay_what_they_are_else(tmp_path, escapes, text):
    """Lone ones cannot become a document: the raw set rejects them, see tests/plans/test_raw_set.py."""
    (tmp_path / "f").write_bytes(b'{"text": "%b"}\n' % escapes.encode())
    assert records(read(tmp_path / "f", "jsonl")) == [Record("tales.dat#0", 0, text)]


def test_fifty_megabytes_in_one_line_are_one_record_between_two_others(tmp_path):
    long = "A fox and a crow. " * (50_000_000 // 18)
    (tmp_path / "f").write_bytes(lines({"text": "before"}, {"text": long}, {"text": "after"}))
    assert [record.content for record in records(read(tmp_path / "f", "jsonl"))] == ["before", long, "after"]


@pytest.mark.parametrize("at", range(1, 5))
def test_a_file_cut_inside_a_sign_loses_its_last_line_alone_and_says_so(tmp_path, at):
    whole = '{"text": "Tom naps."}\n{"text": "a fox 🦊"}\n'.encode()
    (tmp_path / "f").write_bytes(whole[: whole.index("🦊".encode()) + at])
    found = read(tmp_path / "f", "jsonl")
    assert [record.content for record in records(found)] == ["Tom naps."]
    assert rejects(found) == [(1, "invalid_utf8" if at < 4 else "broken_json")]


@pytest.mark.parametrize("digits", [640, 641, 4_300, 4_301, 5_000, 100_000])
def test_a_number_of_any_length_beside_the_text_is_no_fault(tmp_path, digits):
    (tmp_path / "f").write_bytes(b'{"text": "Tom naps.", "n": -' + b"9" * digits + b', "m": [%d]}\n' % 10**19)
    assert [record.content for record in records(read(tmp_path / "f", "jsonl"))] == ["Tom naps."]


@pytest.mark.parametrize(
    ("line", "fields", "is_repeated"),
    [
        (b'{"text": "FIRST", "text": "SECOND"}', {}, True),
        (b'{"text": "FIRST", "\\u0074ext": "SECOND"}', {}, True),
        (b'{"text": "same", "id": 1, "text": "same"}', {}, True),
        (b'{"text": "t", "id": 1, "id": 2}', {}, False),
        (b'{"text": "t", "more": {"text": "a", "text": "b"}}', {}, False),
        (b'{"text": "text", "more": ["text", "text"]}', {}, False),
        (b'{"text": "t", "url": "http://a.example/", "url": "http://b.example/"}', {"url": "url"}, True),
        (b'{"meta": {"text": "a", "text": "b"}}', {"text": "meta.text"}, True),
        (b'{"meta": {"text": "a"}, "meta": {"text": "b"}}', {"text": "meta.text"}, True),
        (b'{"meta.text": "a", "meta": {"text": "b", "text": "c"}}', {"text": "meta.text"}, False),
        (b'{"text": "t", "d": null, "d": "2024-05-06"}', {"date": "d"}, True),
        (b'{"text": "a", "n": ' + b"9" * 5_000 + b', "text": "b"}', {}, True),
    ],
)
def test_a_mapped_field_that_is_given_twice_is_a_reject_since_one_of_them_would_be_lost(
    tmp_path, line, fields, is_repeated
):
    (tmp_path / "f").write_bytes(line + b'\n{"text": "t", "meta": {"text": "t"}, "url": "http://c.example/"}\n')
    found = read(tmp_path / "f", "jsonl", fields=mapping(**fields))
    assert rejects(found) == ([(0, "duplicate_field")] if is_repeated else [])
    assert RejectReason.DUPLICATE_FIELD in DAMAGED


def test_a_run_of_blank_lines_is_one_reject_and_later_lines_keep_their_numbers(tmp_path):
    packed = gzip.compress(b'{"text": "a"}\n' + b"\n" * 5_000_000 + b' \r\n{"text": "b"}\n\n[]\n\n', mtime=0)
    (tmp_path / "f").write_bytes(packed)
    found = read(tmp_path / "f", "jsonl", "t")
    assert [(one.url, one.content) for one in records(found)] == [("t#0", "a"), ("t#5000002", "b")]
    assert rejects(found) == [
        (1, "blank_line"),
        (5_000_003, "blank_line"),
        (5_000_004, "not_an_object"),
        (5_000_005, "blank_line"),
    ]


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n", b"\xef\xbb\xbf\n\n", b"\n"])
def test_a_file_of_nothing_but_marks_and_line_ends_has_blank_lines(tmp_path, data):
    (tmp_path / "f").write_bytes(data)
    assert {reason for _, reason in rejects(read(tmp_path / "f", "jsonl"))} == {"blank_line"}


def test_a_mark_in_the_middle_is_no_mark(tmp_path):
    (tmp_path / "f").write_bytes(b'{"text": "a"}\n\xef\xbb\xbf{"text": "b"}\n')
    assert rejects(read(tmp_path / "f", "jsonl")) == [(1, "broken_json")]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"url": "http://a.example/"}, None),
        ({"url": ""}, "no_url_field"),
        ({"url": 3}, "no_url_field"),
        ({}, "no_url_field"),
    ],
)
def test_a_mapped_url_has_to_be_there(tmp_path, value, reason):
    path = tmp_path / "f"
    path.write_bytes(lines({"text": "t", **value}))
    assert rejects(read(path, "jsonl", fields=mapping(url="url"))) == ([(0, reason)] if reason else [])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({}, "no_text_field"),
        ({"text": 5}, "text_not_a_string"),
        ({"text": "t", "d": "2024-13-01"}, "bad_date"),
        ({"text": "t"}, "license_missing"),
        ({"text": "t", "l": "proprietary"}, "license_mismatch"),
    ],
)
def test_a_reject_is_named_by_its_own_url_where_it_has_one(tmp_path, value, reason):
    path = tmp_path / "f"
    path.write_bytes(lines({**value, "url": "http://a.example/"}, value, {**value, "url": ""}))
    found = read(path, "jsonl", "t.jsonl", fields=mapping(url="url", date="d", license="l"))
    assert found[0] == Reject("http://a.example/", 0, reason)
    assert [one.url for one in found[1:]] == ["t.jsonl#1", "t.jsonl#2"]


@pytest.mark.parametrize(
    ("row_license", "value", "reason"),
    [
        ("MIT", {"l": "MIT"}, None),
        ("MIT", {"l": " mit "}, None),
        ("MIT OR Apache-2.0", {"l": "apache-2.0"}, None),
        ("MIT OR Apache-2.0", {"l": "MIT or Apache-2.0"}, None),
        ("MIT AND CC-BY-4.0", {"l": "MIT"}, "license_mismatch"),
        ("(MIT OR ISC) AND BSD-3-Clause", {"l": "ISC"}, "license_mismatch"),
        ("MIT", {"l": "MIT-0"}, "license_mismatch"),
        ("MIT", {"l": "proprietary"}, "license_mismatch"),
        ("MIT", {"l": ""}, "license_missing"),
        ("MIT", {"l": None}, "license_missing"),
        ("MIT", {}, "license_missing"),
    ],
)
def test_a_record_has_to_name_the_licence_of_its_row(tmp_path, row_license, value, reason):
    path = tmp_path / "f"
    path.write_bytes(lines({"text": "t", **value}))
    found = read(path, "jsonl", fields=mapping(license="l"), license_spdx=row_license)
    assert rejects(found) == ([(0, reason)] if reason else [])


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("2024-05-06", "2024-05-06T00:00:00Z"),
        ("2024-05-06T07:08:09Z", "2024-05-06T07:08:09Z"),
        ("2024-05-06T07:08:09.999999Z", "2024-05-06T07:08:09Z"),
        ("2024-05-06 07:08", "2024-05-06T07:08:00Z"),
        ("2024-05-06T01:00:00+02:00", "2024-05-05T23:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00+02:00", None),
        ("2024-02-30", None),
        ("2024-05", None),
        ("yesterday", None),
        ("", None),
        (1715000000, None),
        (True, None),
    ],
)
def test_dates_come_out_in_utc_and_seconds_or_not_at_all(value, date):
    assert utc_second(value) == date


def test_a_bad_date_is_a_reject_and_a_missing_one_is_not(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(lines({"text": "t", "d": "2024-13-01"}, {"text": "t", "d": None}, {"text": "t"}))
    found = read(path, "jsonl", fields=mapping(date="d"))
    assert rejects(found) == [(0, "bad_date")]
    assert [record.crawl_date for record in records(found)] == [None, None]


@given(st.lists(st.text(), max_size=8))
def test_any_json_text_comes_back_with_its_escapes_undone(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("jsonl") / "f"
    path.write_bytes(lines(*({"text": text} for text in texts)))
    assert [record.content for record in records(read(path, "jsonl"))] == texts
