"""ARC: the same pages as the WARC of the same crawl, however the file is packed; a file that is cut or whose lengths
lead elsewhere is an error that names the byte.
"""

import bz2
import gzip

import pytest

from corpus_assets.records.record import Limits, Record
from formats.errors import CorruptDataError
from tests.records.made_up_files import (
    ARC_FILE,
    arc_record,
    chunked,
    http,
    lz4_frames,
    read,
    records,
    rejects,
    warc_record,
    zstd_frames,
)

PAGE = b"<!doctype html><title>Cat</title><p>Tom has a cat.</p>"
DNS = arc_record(
    b"20240506070809\ntales.example. 1 IN A 192.0.2.1\n",
    "dns:tales.example",
    head="192.0.2.9 20240506070809 text/dns",
)
RECORDS = [
    ARC_FILE,
    DNS,
    arc_record(http(PAGE)),
    arc_record(http(b"gone", "404 Not Found"), "http://tales.example/none"),
    arc_record(http(chunked(PAGE), "200 OK", "text/html", "Transfer-Encoding: chunked"), "http://tales.example/c"),
    arc_record(http(gzip.compress(PAGE), "200 OK", "text/html", "Content-Encoding: gzip"), "http://tales.example/z"),
    arc_record(http(b"\x89PNG", content_type="image/png"), "http://tales.example/i"),
    arc_record(http(b"Mia naps.", "200 OK", "text/plain"), "http://tales.example/nap"),
]
PACKED = {
    "plain": b"".join,
    "one member": lambda records: gzip.compress(b"".join(records), mtime=0),
    "a member each": lambda records: b"".join(gzip.compress(record, mtime=0) for record in records),
    "a zstd frame each": zstd_frames,
    "an lz4 frame each": lz4_frames,
    "bz2": lambda records: b"".join(map(bz2.compress, records)),
}
DATE = "2024-05-06T07:08:09Z"


def at(index: int) -> int:
    return sum(map(len, RECORDS[:index]))


@pytest.mark.parametrize("packed", PACKED)
def test_every_record_is_a_page_or_a_reject_however_the_file_is_packed(tmp_path, packed):
    path = tmp_path / "f"
    path.write_bytes(PACKED[packed](RECORDS))
    found = read(path, "warc", "tales.arc")
    assert records(found) == [
        Record("http://tales.example/cat", at(2), PAGE, True, "text/html", DATE),
        Record("http://tales.example/c", at(4), PAGE, True, "text/html", DATE),
        Record("http://tales.example/z", at(5), PAGE, True, "text/html", DATE),
        Record("http://tales.example/nap", at(7), b"Mia naps.", False, "text/plain", DATE),
    ]
    assert [(one.url, one.position, one.reason) for one in found if not isinstance(one, Record)] == [
        ("filedesc://tales.arc", 0, "not_a_response"),
        ("dns:tales.example", at(1), "not_http"),
        ("http://tales.example/none", at(3), "http_status_not_200"),
        ("http://tales.example/i", at(6), "media_type_not_text"),
    ]


def test_a_crawl_stored_as_arc_and_as_warc_gives_the_same_pages(tmp_path):
    pages = [(f"http://tales.example/{i}", http(PAGE + b"%d" % i)) for i in range(5)]
    (tmp_path / "a").write_bytes(ARC_FILE + b"".join(arc_record(content, url) for url, content in pages))
    (tmp_path / "w").write_bytes(b"".join(warc_record("response", content, url) for url, content in pages))
    arc, warc = ([record._replace(position=0) for record in records(read(tmp_path / n, "warc"))] for n in "aw")
    assert arc == warc
    assert len(arc) == 5


@pytest.mark.parametrize(
    ("head", "url", "date"),
    [
        ("192.0.2.1 20240506070809 text/html", "http://tales.example/cat", DATE),
        ("192.0.2.1 20240506070809 text/html; charset=utf-8", "http://tales.example/cat", DATE),
        ("192.0.2.1 20240506070809 ", "http://tales.example/cat", DATE),
        ("2001:db8::1 20240506070809 text/html", "http://tales.example/cat", DATE),
        ("- 20240506070809 text/html", "http://tales.example/cat", DATE),
        ("192.0.2.1 20240506070809 text/html 200 ABCDEF - 123456789 tales.arc", "http://tales.example/cat", DATE),
        ("192.0.2.1 20240506070809 text/html", "http://tales.example/a - b 192.0.2.7 c", DATE),
        ("192.0.2.1 20240506070809 text/html", "http://tales.example/größe", DATE),
        ("192.0.2.1 20240506 text/html", "http://tales.example/cat", None),
        ("192.0.2.1 20249999070809 text/html", "http://tales.example/cat", None),
        ("192.0.2.1 null text/html", "http://tales.example/cat", None),
    ],
    ids=["1", "type with a space", "no type", "IPv6", "no address", "version 2", "URL with spaces", "no ASCII",
         "short date", "wrong date", "no date"],
)  # fmt: skip
def test_headers_are_read_as_crawlers_write_them(tmp_path, head, url, date):
    path = tmp_path / "f"
    path.write_bytes(ARC_FILE + arc_record(http(PAGE), url, head=head) + RECORDS[2])
    first, second = records(read(path, "warc"))
    assert (first.url, first.crawl_date, first.content) == (url.replace(" ", "%20"), date, PAGE)
    assert second.position == len(ARC_FILE) + len(arc_record(http(PAGE), url, head=head))


@pytest.mark.parametrize("between", [b"", b"\n", b"\n\n", b"\r\n"])
def test_the_newline_between_records_may_be_missing_or_more(tmp_path, between):
    path = tmp_path / "f"
    path.write_bytes(b"".join(record[:-1] + between for record in RECORDS))
    assert len(read(path, "warc")) == len(RECORDS)


def test_a_file_cut_inside_a_record_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "f"
    whole = b"".join(RECORDS)
    ends = {at(i) - n for i in range(len(RECORDS) + 1) for n in (0, 1)}
    for length in sorted({*range(len("filedesc:"), len(whole), 7), *(end - 1 for end in ends if end > 1)}):
        path.write_bytes(whole[:length])
        if length in ends:
            read(path, "warc")
        else:
            begun = max(at(i) for i in range(len(RECORDS)) if at(i) < length)
            with pytest.raises(CorruptDataError, match=f"at byte {begun}"):
                read(path, "warc")


@pytest.mark.parametrize("packed", ["one member", "a member each", "a zstd frame each", "an lz4 frame each", "bz2"])
def test_a_packed_file_that_lacks_its_last_byte_is_an_error(tmp_path, packed):
    path = tmp_path / "f"
    path.write_bytes(PACKED[packed](RECORDS)[:-1])
    with pytest.raises(CorruptDataError, match="byte"):
        read(path, "warc")


def test_a_last_page_that_is_whole_by_its_own_length_may_be_shorter_than_its_record(tmp_path):
    """As where a tool turned CR LF of the head into LF."""
    path = tmp_path / "f"
    content = http(PAGE, "200 OK", "text/html", f"Content-Length: {len(PAGE)}")
    short = arc_record(content).replace(b"\r\n", b"\n")
    path.write_bytes(ARC_FILE + short)
    assert [record.content for record in records(read(path, "warc"))] == [PAGE + b"\n"]
    for broken in (short[:-2], arc_record(content) + short[:-20], ARC_FILE + short + RECORDS[2]):
        path.write_bytes(ARC_FILE + broken)
        with pytest.raises(CorruptDataError, match="byte"):
            read(path, "warc")


@pytest.mark.parametrize("length", ["-1", "abc", "", "1e3", "9" * 5_000])
@pytest.mark.parametrize("where", [0, 2])
def test_a_length_that_is_no_number_is_an_error_at_its_place(tmp_path, length, where):
    path = tmp_path / "f"
    line, _, content = RECORDS[where].partition(b"\n")
    broken = line.rpartition(b" ")[0] + b" " + length.encode() + b"\n" + content
    path.write_bytes(b"".join([*RECORDS[:where], broken, *RECORDS[where + 1 :]]))
    with pytest.raises(CorruptDataError, match=f"at byte {at(where)}, is .* expected the header of an ARC record"):
        read(path, "warc")


def test_a_header_without_its_line_end_is_an_error(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(ARC_FILE + b"http://tales.example/cat 192.0.2.1 20240506070809 text/html 0")
    with pytest.raises(CorruptDataError, match=f"at byte {len(ARC_FILE)}"):
        read(path, "warc")


@pytest.mark.parametrize("change", [-30, 40])
def test_a_length_that_leads_elsewhere_is_an_error_after_its_record(tmp_path, change):
    path = tmp_path / "f"
    line, _, content = RECORDS[2].partition(b"\n")
    head, _, length = line.rpartition(b" ")
    broken = head + b" %d\n" % (int(length) + change) + content
    path.write_bytes(b"".join([*RECORDS[:2], broken, *RECORDS[3:]]))
    with pytest.raises(CorruptDataError, match=f"what follows the record at byte {at(2)}"):
        read(path, "warc")


def test_a_record_beyond_the_limit_is_a_reject_between_its_neighbours(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(ARC_FILE + arc_record(http(b"x" * 5_000)) + RECORDS[7])
    found = read(path, "warc", limits=Limits(max_record_bytes=4_000))
    assert rejects(found) == [(0, "not_a_response"), (len(ARC_FILE), "record_too_large")]
    assert len(records(found)) == 1
