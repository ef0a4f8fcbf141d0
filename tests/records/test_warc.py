"""WARC and WET: every record is a page or a reject, however the file is packed; a cut file is an error."""

import bz2
import gzip
import random

import pytest

from corpus_assets.records.record import Limits, Record
from formats.errors import CorruptDataError
from tests.records.made_up_files import (
    http,
    lz4_frames,
    raw_dictionary,
    read,
    records,
    rejects,
    trained_dictionary,
    warc_record,
    zstd_frames,
    zstd_with_dictionary,
)

PAGE = b"<!doctype html><title>Cat</title><p>Tom has a cat.</p>"
RECORDS = [
    warc_record("warcinfo", b"software: made by hand\r\n", None),
    warc_record("request", b"GET / HTTP/1.1\r\n\r\n"),
    warc_record("response", http(PAGE, "200 OK", "text/html; charset=utf-8")),
    warc_record("response", http(b"gone", "404 Not Found"), "http://tales.example/none"),
    warc_record("response", http(b"Mia naps.", "200 OK", "text/plain"), "http://tales.example/nap"),
]


def cut_in_two(data: bytes) -> tuple[bytes, bytes]:
    return data[:700], data[700:]


PACKED = {
    "plain": b"".join,
    "one member": lambda records: gzip.compress(b"".join(records), mtime=0),
    "a member each": lambda records: b"".join(gzip.compress(record, mtime=0) for record in records),
    "members of another cut": lambda records: b"".join(map(gzip.compress, cut_in_two(b"".join(records)))),
    "a zstd frame each": zstd_frames,
    "one zstd frame": lambda records: zstd_frames([b"".join(records)]),
    "zstd and its dictionary": lambda records: zstd_with_dictionary(records, trained_dictionary(records)),
    "zstd and its packed dictionary":
        lambda records: zstd_with_dictionary(records, trained_dictionary(records), is_packed=True),
    "zstd and mere content": lambda records: zstd_with_dictionary(records, raw_dictionary(records[2])),
    "an lz4 frame each": lz4_frames,
    "one lz4 frame": lambda records: lz4_frames([b"".join(records)]),
    "bz2": lambda records: b"".join(map(bz2.compress, records)),
}  # fmt: skip


def positions() -> list[int]:
    return [sum(map(len, RECORDS[:i])) for i in range(len(RECORDS))]


@pytest.mark.parametrize("packed", PACKED)
def test_the_records_are_the_same_however_the_file_is_packed(tmp_path, packed):
    path = tmp_path / "f"
    path.write_bytes(PACKED[packed](RECORDS))
    at = positions()
    found = read(path, "warc", "t.warc")
    date = "2024-05-06T07:08:09Z"
    assert records(found) == [
        Record("http://tales.example/cat", at[2], PAGE, True, "text/html; charset=utf-8", date),
        Record("http://tales.example/nap", at[4], b"Mia naps.", False, "text/plain", date),
    ]
    assert [(one.url, one.position, one.reason) for one in found if not isinstance(one, Record)] == [
        ("t.warc#0", 0, "not_a_response"),
        ("http://tales.example/cat", at[1], "not_a_response"),
        ("http://tales.example/none", at[3], "http_status_not_200"),
    ]


def test_a_plain_file_cut_inside_a_record_is_an_error(tmp_path):
    path = tmp_path / "f"
    whole = b"".join(RECORDS)
    ends = [*positions()[1:], len(whole)]
    for length in sorted({*range(1, len(whole), 11), *(end - n for end in ends for n in range(12))}):
        path.write_bytes(whole[:length])
        closing = min(end - length for end in ends if end >= length)  # bytes missing of the record that was cut
        if closing > 4:
            with pytest.raises(CorruptDataError, match=r"byte|beginning"):
                read(path, "warc")
        elif closing == 0:
            assert len(read(path, "warc")) == ends.index(length) + 1


def ends_of_pieces(packed: str) -> set[int]:
    """Where a file may end and be whole: before a piece, since nothing says how many there are."""
    if "each" not in packed and packed != "bz2" and not packed.startswith("zstd"):
        return {0, len(PACKED[packed](RECORDS))}
    return {0, *(len(PACKED[packed](RECORDS)) - len(tail_of(packed, i)) for i in range(len(RECORDS) + 1))}


def tail_of(packed: str, first: int) -> bytes:
    """The last records' bytes in the packed file."""
    whole, rest = PACKED[packed](RECORDS), RECORDS[first:]
    if packed.startswith("zstd"):
        dictionary = raw_dictionary(RECORDS[2]) if "content" in packed else trained_dictionary(RECORDS)
        found = zstd_frames(rest, dictionary)
    else:
        found = PACKED[packed](rest) if rest else b""
    assert whole.endswith(found)
    return found


@pytest.mark.parametrize("packed", [name for name in PACKED if name != "plain"])
def test_a_compressed_file_cut_inside_a_member_is_an_error(tmp_path, packed):
    path = tmp_path / "f"
    whole = PACKED[packed](RECORDS)
    ends = ends_of_pieces(packed)
    for length in {*range(0, len(whole), 7), *(end + n for end in ends for n in (-9, -8, -1, 1, 9))} & set(
        range(len(whole))
    ):
        path.write_bytes(whole[:length])
        if length not in ends:
            with pytest.raises(CorruptDataError, match=r"byte|beginning"):
                read(path, "warc")


@pytest.mark.parametrize("packed", ["one member", "a zstd frame each", "zstd and its dictionary"])
def test_a_cut_file_names_the_record_in_which_it_ends(tmp_path, packed):
    path = tmp_path / "f"
    large = warc_record("response", http(random.Random(1).randbytes(300_000)), "http://tales.example/large")
    path.write_bytes(PACKED[packed]([*RECORDS, large])[:-5_000])
    with pytest.raises(CorruptDataError, match=f"in the record at byte {sum(map(len, RECORDS))} or after it"):
        read(path, "warc")


@pytest.mark.parametrize("length", ["-5", "abc", "", "9" * 30, "9" * 5_000, "10000000", None])
def test_a_length_that_cannot_be_right_is_an_error_at_its_place(tmp_path, length):
    path = tmp_path / "f"
    path.write_bytes(RECORDS[0] + warc_record("response", http(PAGE), Content_Length=length) + RECORDS[1])
    with pytest.raises(CorruptDataError, match=f"record at byte {len(RECORDS[0])}"):
        read(path, "warc")


@pytest.mark.parametrize("length", ["9" * 5_000, "\xb3", "-1", ""])
def test_a_page_whose_own_length_cannot_be_read_is_read(tmp_path, length):
    path = tmp_path / "f"
    path.write_bytes(warc_record("response", http(PAGE, "200 OK", "text/html", f"Content-Length: {length}")))
    assert [record.content for record in records(read(path, "warc"))] == [PAGE]


@pytest.mark.parametrize("change", [-30, -1, 40])
def test_a_length_that_is_wrong_is_an_error_after_its_record(tmp_path, change):
    path = tmp_path / "f"
    content = http(PAGE)
    path.write_bytes(
        RECORDS[0] + warc_record("response", content, Content_Length=str(len(content) + change)) + RECORDS[1]
    )
    with pytest.raises(CorruptDataError, match="byte"):
        read(path, "warc")


@pytest.mark.parametrize("data", [b"junk\r\n", b"junk\r\n\r\n", b"\0" * 40, b"WARC/1.0\r\n\r\n", b"<html>" * 99])
@pytest.mark.parametrize("where", ["before", "between", "after"])
def test_what_is_no_record_is_an_error_not_passed_over(tmp_path, data, where):
    path = tmp_path / "f"
    at = {"before": 0, "between": 2, "after": len(RECORDS)}[where]
    path.write_bytes(b"".join([*RECORDS[:at], data, *RECORDS[at:]]))
    with pytest.raises(CorruptDataError):
        read(path, "warc")


def test_an_empty_file_has_no_records(tmp_path):
    (tmp_path / "f").write_bytes(b"")
    assert read(tmp_path / "f", "warc") == []


GZIPPED = ("200 OK", "text/html", "Content-Encoding: gzip")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (warc_record("response", http(PAGE, "301 Moved")), "http_status_not_200"),
        (warc_record("response", http(b"%PDF", content_type="application/pdf")), "media_type_not_text"),
        (warc_record("response", http(b"\x89PNG", content_type=None)), "media_type_not_text"),
        (warc_record("response", http(gzip.compress(PAGE)[:-9], *GZIPPED)), "broken_http"),
        (warc_record("response", b"HTTP/1.1 fine\r\n\r\n"), "broken_http"),
        (warc_record("response", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000), "record_too_large"),
        (warc_record("response", b""), "not_http"),
        (warc_record("response", PAGE, Content_Type="text/dns"), "not_http"),
        (warc_record("response", http(PAGE), None), "no_target_uri"),
        (warc_record("revisit", http(b"")), "not_a_response"),
        (warc_record("resource", PAGE), "not_a_response"),
        (warc_record("conversion", b"text"), "not_a_response"),
        (warc_record("response", http(b"x" * 5_000)), "record_too_large"),
        (warc_record("response", http(gzip.compress(b"x" * 50_000, mtime=0), *GZIPPED)), "record_too_large"),
    ],
)  # fmt: skip
def test_what_is_no_page_is_a_reject_between_its_neighbours(tmp_path, record, reason):
    path = tmp_path / "f"
    path.write_bytes(RECORDS[2] + record + RECORDS[4])
    found = read(path, "warc", limits=Limits(max_record_bytes=4_000))
    assert rejects(found) == [(len(RECORDS[2]), reason)]
    assert len(records(found)) == 2


@pytest.mark.parametrize(
    ("content_type", "is_html"),
    [
        ("TEXT/HTML", True),
        ("application/xhtml+xml; charset=utf-8", True),
        ("text/plain;charset=utf-8", False),
        (None, True),
    ],
)
def test_the_media_type_says_what_a_page_is_and_its_first_bytes_where_there_is_none(tmp_path, content_type, is_html):
    path = tmp_path / "f"
    path.write_bytes(warc_record("response", http(b"\n" + PAGE, content_type=content_type)))
    assert [record.is_html for record in records(read(path, "warc"))] == [is_html]


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("<http://tales.example/cat>", "http://tales.example/cat"),
        (" http://tales.example/cat ", "http://tales.example/cat"),
        ("http://tales.example/a cat", "http://tales.example/a%20cat"),
        ("<http://tales.example/a cat>", "http://tales.example/a%20cat"),
        ("http://tales.example/größe", "http://tales.example/größe"),
        ("http://tales.example/" + "x" * 90_000, "http://tales.example/" + "x" * 90_000),
    ],
    ids=["brackets", "spaces around", "space inside", "both", "no ASCII", "very long"],
)
def test_the_url_is_the_target_without_brackets_and_spaces(tmp_path, uri, url):
    path = tmp_path / "f"
    path.write_bytes(warc_record("response", http(PAGE), uri) + RECORDS[1])
    assert [record.url for record in records(read(path, "warc"))] == [url]


@pytest.mark.parametrize("version", ["WARC/0.17", "WARC/1.0", "WARC/1.1"])
def test_every_version_of_warc_is_read(tmp_path, version):
    path = tmp_path / "f"
    dates = {"WARC_Date": "2024-05-06T07:08:09.123456Z"} if version == "WARC/1.1" else {}
    record = warc_record("response", http(PAGE), "http://tales.example/a cat", **dates)
    path.write_bytes(record.replace(b"WARC/1.0", version.encode(), 1))
    [found] = records(read(path, "warc"))
    assert (found.url, found.crawl_date) == ("http://tales.example/a%20cat", "2024-05-06T07:08:09Z")


def test_a_folded_header_is_one_line(tmp_path):
    path = tmp_path / "f"
    folded = warc_record(
        "response", http(PAGE, "200 OK", "text/html;\r\n charset=utf-8"), "http://tales.example/\r\n cat"
    )
    path.write_bytes(folded)
    [found] = records(read(path, "warc"))
    assert (found.content, found.content_type) == (PAGE, "text/html; charset=utf-8")


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\nContent-Type: text/html\n\n",
        b"HTTP/1.1 200\r\nContent-Type: text/html\r\n\r\n",
        b"HTTP/2 200\r\ncontent-type:text/html\r\n\r\n",
        b"HTTP/1.1  200  OK\r\nCONTENT-TYPE :\ttext/html\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno field\r\nX-Content-Type: a\r\nContent-Type-X: b\r\nContent-Type: text/html\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: " + b"x" * 5_000 + b"\r\nContent-Type: text/html\r\n\r\n",
    ],
    ids=["LF", "no words", "HTTP/2", "spaces", "odd fields", "long"],
)
def test_heads_are_read_as_servers_write_them(tmp_path, head):
    path = tmp_path / "f"
    path.write_bytes(warc_record("response", head + PAGE))
    assert records(read(path, "warc")) == [
        Record("http://tales.example/cat", 0, PAGE, True, "text/html", "2024-05-06T07:08:09Z")
    ]


def test_a_head_without_end_is_a_reject(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(RECORDS[2] + warc_record("response", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000) + RECORDS[4])
    assert rejects(read(path, "warc")) == [(len(RECORDS[2]), "broken_http")]


@pytest.mark.parametrize("date", ["2004", "2004-05", "yesterday", None])
def test_a_date_that_cannot_be_read_leaves_the_page_in(tmp_path, date):
    path = tmp_path / "f"
    path.write_bytes(warc_record("response", http(PAGE), WARC_Date=date))
    assert [record.crawl_date for record in records(read(path, "warc"))] == [None]


def test_wet_gives_the_text_of_conversions(tmp_path):
    path = tmp_path / "f"
    parts = [
        RECORDS[0],
        warc_record("conversion", "Tom hat eine große Katze.\n".encode()),
        warc_record("conversion", b"\xff\xfe", "http://tales.example/latin"),
        warc_record("conversion", b"t", None),
    ]
    path.write_bytes(b"".join(map(gzip.compress, parts)))
    found = read(path, "wet")
    at = [sum(map(len, parts[:i])) for i in range(4)]
    assert records(found) == [
        Record("http://tales.example/cat", at[1], "Tom hat eine große Katze.\n", crawl_date="2024-05-06T07:08:09Z")
    ]
    assert rejects(found) == [(0, "not_a_conversion"), (at[2], "invalid_utf8"), (at[3], "no_target_uri")]


@pytest.mark.parametrize("num_zeros", [1, 9, 512, 200_000])
@pytest.mark.parametrize("is_one_member", [True, False])
def test_zeros_after_the_last_gzip_member_are_padding_and_cost_no_record(tmp_path, num_zeros, is_one_member):
    pages = [warc_record("response", http(b"<p>Tom has a ball. %d</p>" % i)) for i in range(40)]
    packed = gzip.compress(b"".join(pages)) if is_one_member else b"".join(map(gzip.compress, pages))
    (tmp_path / "whole").write_bytes(packed)
    (tmp_path / "padded").write_bytes(packed + bytes(num_zeros))
    found = read(tmp_path / "padded", "warc")
    assert found == read(tmp_path / "whole", "warc")
    assert len(found) == 40


def test_a_broken_gzip_member_of_a_web_archive_is_named_by_its_first_byte(tmp_path):
    page = warc_record("response", http(b"<p>Tom has a ball.</p>"))
    before = gzip.compress(page) * 3
    for tail, words in {b"junk": "neither another member nor zeros", gzip.compress(page)[:-20]: "Truncated"}.items():
        (tmp_path / "f").write_bytes(before + tail)
        with pytest.raises(CorruptDataError, match=words) as caught:
            read(tmp_path / "f", "warc")
        assert f"in the member that begins at compressed byte {len(before)} " in str(caught.value)
        assert f"the {3 * len(page)} bytes decompressed before it are whole, " in str(caught.value)
