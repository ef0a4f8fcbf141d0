"""WARC and WET: every record is a page or a reject, however the file is packed; a cut file is an error."""

import gzip
import hashlib
import json
import zlib

import pytest

from corpus_assets.records.record import Limits, Record
from corpus_assets.records.warc import HTML_TYPES
from formats.errors import CorruptDataError
from tests.records.made_up_files import http, read, records, rejects, warc_record
from tests.shared_data import DATA, needs_shared_data

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


@pytest.mark.parametrize("packed", ["one member", "a member each", "members of another cut"])
def test_a_compressed_file_cut_inside_a_member_is_an_error(tmp_path, packed):
    path = tmp_path / "f"
    whole = PACKED[packed](RECORDS)
    ends = {0, len(whole)}
    if packed == "a member each":
        ends = {sum(len(gzip.compress(record, mtime=0)) for record in RECORDS[:i]) for i in range(len(RECORDS) + 1)}
    for length in {*range(0, len(whole), 7), *(end + n for end in ends for n in (-9, -8, -1, 1, 9))} & set(
        range(len(whole))
    ):
        path.write_bytes(whole[:length])
        if length not in ends:
            with pytest.raises(CorruptDataError, match=r"byte|beginning"):
                read(path, "warc")


@pytest.mark.parametrize("length", ["-5", "abc", "", "9" * 30, "10000000", None])
def test_a_length_that_cannot_be_right_is_an_error_at_its_place(tmp_path, length):
    path = tmp_path / "f"
    path.write_bytes(RECORDS[0] + warc_record("response", http(PAGE), Content_Length=length) + RECORDS[1])
    with pytest.raises(CorruptDataError, match=f"record at byte {len(RECORDS[0])}"):
        read(path, "warc")


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
CHUNKED = b"1b\r\n" + PAGE[:27] + b"\r\n%x\r\n" % (len(PAGE) - 27) + PAGE[27:] + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(PAGE, mtime=0), ["Content-Encoding: gzip"]),
        (zlib.compress(PAGE), ["Content-Encoding: deflate"]),
        (CHUNKED, ["Transfer-Encoding: chunked"]),
        (b"%x\r\n" % len(gzip.compress(PAGE, mtime=0)) + gzip.compress(PAGE, mtime=0) + b"\r\n0\r\n\r\n",
         ["Transfer-Encoding: chunked", "Content-Encoding: gzip"]),
    ],
)  # fmt: skip
def test_bodies_come_out_as_the_browser_saw_them(tmp_path, body, headers):
    path = tmp_path / "f"
    path.write_bytes(warc_record("response", http(body, "200 OK", "text/html", *headers)))
    assert [record.content for record in records(read(path, "warc"))] == [PAGE]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (warc_record("response", http(PAGE, "301 Moved")), "http_status_not_200"),
        (warc_record("response", http(b"%PDF", content_type="application/pdf")), "media_type_not_text"),
        (warc_record("response", http(b"\x89PNG", content_type=None)), "media_type_not_text"),
        (warc_record("response", http(PAGE, *GZIPPED)), "broken_http"),
        (warc_record("response", http(b"zz\r\n", "200 OK", "text/html", "Transfer-Encoding: chunked")), "broken_http"),
        (warc_record("response", b""), "http_status_not_200"),
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


@pytest.mark.parametrize("uri", ["<http://tales.example/cat>", " http://tales.example/cat "])
def test_the_url_is_the_target_without_angle_brackets(tmp_path, uri):
    path = tmp_path / "f"
    path.write_bytes(warc_record("response", http(PAGE), uri))
    assert [record.url for record in records(read(path, "warc"))] == ["http://tales.example/cat"]


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


BROKEN = {"chatnoir-resiliparse/clipped.warc.gz", "warcio/example-trunc.warc"}
"""Cut files of the collection."""
NOT_YET = (".arc", ".arc.gz", ".lz4", ".zst", "bad.arc")
WRONG_CHUNKS = "warcio/example-wrong-chunks.warc.gz"
"""Says chunked and is not: the reference reader gives an empty body, ours the page that is there."""


def expected_files() -> list[dict]:
    files = json.loads((DATA / "web-warc" / "expected-records.json").read_bytes()) if DATA.is_dir() else []
    return [one for one in files if not one["file"].endswith(NOT_YET) and one["file"] not in BROKEN]


@needs_shared_data
@pytest.mark.parametrize("expected", expected_files(), ids=lambda one: one["file"])
def test_real_files_give_every_record_and_every_page_that_other_readers_find(expected):
    file = expected["file"]
    kind = "wet" if ".wet" in file else "warc"
    found = read(DATA / "web-warc" / file, kind, file)
    counts = expected.get("fastwarc", expected["warcio"])["records"]
    if file != "warcio/example-bad.warc.gz.bad":  # the reference readers stop at its first record
        assert len(found) == sum(counts.values())
    if kind == "wet":
        assert len(records(found)) == counts["conversion"]
        return
    pages = [
        hashlib.sha256(record.content).hexdigest()
        for record in records(found)
        if record.is_html and record.content_type and record.content_type.split(";")[0].strip().lower() in HTML_TYPES
    ]
    theirs = [page["body_sha256"] for page in expected["html"]]
    if file == WRONG_CHUNKS:
        assert theirs == [hashlib.sha256(b"").hexdigest()]
        assert len(pages) == 1
    elif expected["warcio"]["error"]:  # it stopped early; what it found comes first
        assert pages[: len(theirs)] == theirs
    else:
        assert pages == theirs


@needs_shared_data
@pytest.mark.parametrize("file", sorted(BROKEN))
def test_real_files_that_were_cut_are_errors_with_their_place(file):
    with pytest.raises(CorruptDataError, match="byte"):
        read(DATA / "web-warc" / file, "warc", file)


@needs_shared_data
def test_the_same_crawl_in_three_packings_gives_the_same_pages():
    folder = DATA / "web-warc"
    one, two = (
        [(r.url, r.content) for r in records(read(folder / "webarchive-discovery" / name, "warc"))]
        for name in (
            "IAH-20080430204825-00000-blackbook-truncated.warc",
            "IAH-20080430204825-00000-blackbook-truncated.warc.gz",
        )
    )
    assert one == two
    assert len(one) == 3
