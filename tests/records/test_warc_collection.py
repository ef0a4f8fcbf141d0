"""Every web archive of the shared collection, held to what two public readers found in it, record by record and page
by page; what was decided about each file that is broken on purpose.
"""

import hashlib
import json

import pytest

from corpus_assets.records.record import Record, Reject
from corpus_assets.records.web_page import HTML_TYPES
from formats.errors import CorruptDataError
from tests.records.made_up_files import read, records, rejects
from tests.shared_data import DATA, needs_shared_data

FOLDER = DATA / "web-warc"
EXAMPLE = "3587cb776ce0e4e8237f215800b7dffba0f25865cb84550e87ea8bbac838c423"
"""SHA-256 of the one page of most of the small files."""
BROKEN = {
    # A record of 680 bytes is followed by the middle of another; the record before it has no date, which alone is fine.
    "aut/badexample.arc.gz": "what follows the record at byte 2369 is something else at byte 3107",
    # One gzip member, cut inside its only record.
    "chatnoir-resiliparse/clipped.warc.gz": "is broken in the member that begins at compressed byte 0 ",
    # Lengths of -1 and abc, the first at the beginning.
    "warcio/bad.arc": "its beginning, at byte 0,",
    # A response shorter than its length says: where it ends, no record begins.
    "warcio/example-trunc.warc": "what follows the record at byte 1197",
    # A list of files, no archive.
    "whirlwind-python/CC-MAIN-2024-22.warc.paths.gz": "its beginning",
}
"""Broken files are errors: path -> where, as the message says it."""
READ_ALTHOUGH = {
    # One gzip member for six records: the reference reader refuses, every record is there.
    "warcio/example-bad-non-chunked.warc.gz": (6, [EXAMPLE]),
    "warcio/example-bad.warc.gz.bad": (6, [EXAMPLE]),
    # Without newlines between its records; every length is right.
    "webarchive-discovery/IAH-20080430204825-00000-blackbook-truncated.arc": (9, None),
    # Says nothing of chunks, as it should: the reference reader takes the page for empty.
    "warcio/example-wrong-chunks.warc.gz": (2, None),
}
"""Files that a reference reader stops in or misreads: (records, pages; None where a test below says which)."""
TWINS = {
    "chatnoir-resiliparse/warcfile.warc.lz4": "chatnoir-resiliparse/warcfile.warc",
    "derived/warcfile.dict.warc.zst": "chatnoir-resiliparse/warcfile.warc",
    "derived/warcfile.nodict.warc.zst": "chatnoir-resiliparse/warcfile.warc",
    "webarchive-discovery/transfer_compression_brotli.warc": "webarchive-discovery/transfer_compression_none.warc",
    "webarchive-discovery/transfer_compression_brotli.warc.gz": "webarchive-discovery/transfer_compression_none.warc",
}
"""Files of which only a record count is known, and the file with the same pages."""


def expected() -> dict[str, dict]:
    if not DATA.is_dir():
        return {}
    return {one["file"]: one for one in json.loads((FOLDER / "expected-records.json").read_bytes())}


def all_files() -> list[str]:
    return sorted(str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*")) if DATA.is_dir() else []


def found_in(file: str) -> list[Record | Reject]:
    return read(FOLDER / file, "wet" if ".warc.w" in file else "warc", file)


def pages(found: list[Record | Reject]) -> list[str]:
    """The HTML pages' digests, in order, as the expectations count them: by their declared media type."""
    return [
        hashlib.sha256(record.content).hexdigest()
        for record in records(found)
        if record.is_html and record.content_type and record.content_type.split(";")[0].strip().lower() in HTML_TYPES
    ]


@needs_shared_data
@pytest.mark.parametrize("file", [file for file in all_files() if file not in BROKEN])
def test_every_record_and_every_page_that_other_readers_find_is_found(file):
    theirs = expected()[file]
    found = found_in(file)
    counts = (theirs.get("fastwarc") or theirs["warcio"])["records"]
    positions = [one.position for one in found]
    assert positions == sorted(set(positions))
    if file in READ_ALTHOUGH:
        num_records, digests = READ_ALTHOUGH[file]
        assert len(found) == num_records
        assert digests is None or pages(found) == digests
        return
    assert len(found) == sum(counts.values())
    by_reason = [reason for _, reason in rejects(found)]
    if ".warc.w" in file:
        assert len(records(found)) == counts.get("conversion", 0)
        assert by_reason == ["not_a_conversion"] * (len(found) - counts.get("conversion", 0))
        return
    assert by_reason.count("not_a_response") == len(found) - counts.get("response", 0)
    if file in TWINS:
        twin = found_in(TWINS[file])
        assert pages(found) == pages(twin) == [page["body_sha256"] for page in expected()[TWINS[file]]["html"]]
        assert [record.url for record in records(found)] == [record.url for record in records(twin)]
        return
    uris = [record.url for record in records(found) if record.is_html]
    assert pages(found) == [page["body_sha256"] for page in theirs.get("html", [])]
    assert set(uris) >= {page["uri"] for page in theirs.get("html", [])}


@needs_shared_data
@pytest.mark.parametrize("file", BROKEN)
def test_a_broken_file_is_an_error_that_says_where_and_what_to_do(file):
    with pytest.raises(CorruptDataError, match=r"expected .*; fetch the file again") as caught:
        found_in(file)
    assert BROKEN[file] in str(caught.value)
    assert caught.value.path == str(FOLDER / file)


@needs_shared_data
def test_every_file_with_expectations_is_there_and_every_broken_one():
    assert {*expected(), "whirlwind-python/CC-MAIN-2024-22.warc.paths.gz"} == set(all_files())
    assert {*BROKEN, *READ_ALTHOUGH, *TWINS} <= set(all_files())


@needs_shared_data
def test_a_page_after_which_the_reference_reader_loses_its_place_is_whole():
    [page] = records(found_in("warcio/example-wrong-chunks.warc.gz"))
    assert page.content.startswith(b"<!doctype html>")
    assert page.content.endswith(b"</html>\n")


def crawl(file: str) -> list[tuple[str, str | bytes, str | None]]:
    return [(record.url, record.content, record.crawl_date) for record in records(found_in(file))]


@needs_shared_data
def test_the_same_crawl_in_several_containers_gives_the_same_pages():
    name = "webarchive-discovery/IAH-20080430204825-00000-blackbook-truncated"
    first, *others = (crawl(f"{name}.{end}") for end in ("arc", "arc.gz", "warc", "warc.gz"))
    assert len(first) == 3
    assert others == [first] * 3
    whole = crawl("aut/example.arc.gz")
    assert whole == crawl("aut/example.warc.gz")
    assert set(first) <= set(whole)
