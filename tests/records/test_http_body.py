"""Bodies of stored responses: decoded as the browser saw them, declared rightly, wrongly or not at all; in bounded
memory; broken ones are rejects.
"""

import gzip
import random
import string
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.records.http_body import decode
from corpus_assets.records.record import Limits, Reject
from formats.compressed import Budget
from tests.records.made_up_files import chunked, http, read, records, rejects, warc_record, zstd_frames

PAGE = b"<!doctype html><title>Cat</title><p>Tom has a cat; it naps in the sun.</p>" * 9
CONTROLS = bytes(range(256)) * 9


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


CODED = {
    "gzip": gzip.compress(PAGE, mtime=0),
    "deflate": zlib.compress(PAGE),
    "br": brotli.compress(PAGE),
    "zstd": zstandard.compress(PAGE),
}


def decoded(body: bytes, transfer: str = "", coding: str = "", *, limits: Limits | None = None, is_cut: bool = False):
    return decode(body, transfer, coding, limits or Limits(), is_cut=is_cut)


@pytest.mark.parametrize(
    ("body", "transfer", "coding"),
    [
        *((body, "", coding) for coding, body in CODED.items()),
        *((chunked(body), "chunked", coding) for coding, body in CODED.items()),
        (CODED["gzip"], "", " GZIP "),
        (CODED["gzip"], "", "x-gzip"),
        (bare_deflate(PAGE), "", "deflate"),
        (gzip.compress(PAGE[:50]) + gzip.compress(PAGE[50:]), "", "gzip"),
        (CODED["gzip"] + b"\0\0 what a proxy left", "", "gzip"),
        (brotli.compress(CODED["gzip"]), "", "gzip, br"),
        (chunked(CODED["gzip"]), "gzip, chunked", ""),
        (chunked(PAGE, 7), "Chunked", "identity"),
        (chunked(PAGE).replace(b"\r\n", b" ; of=cats\r\n", 1), "chunked", ""),
        (chunked(PAGE).replace(b"\r\n", b"\n"), "chunked", ""),
        (b"00" + chunked(PAGE, 200)[:-2] + b"Expires: never\r\n\r\n", "chunked", ""),
        (zstandard.compress(PAGE[:50]) + zstandard.compress(PAGE[50:]), "", "zstd"),
    ],
)
def test_a_body_comes_out_as_the_browser_saw_it(body, transfer, coding):
    assert decoded(body, transfer, coding) == PAGE


@pytest.mark.parametrize("coding", [*CODED, "utf-8", "none", "compress"])
@pytest.mark.parametrize("transfer", ["", "chunked"])
def test_plain_text_stays_whatever_is_declared(coding, transfer):
    """Crawlers store bodies decoded and the header as it was."""
    assert decoded(PAGE, transfer, coding) == PAGE


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip", "zstd", "br, br"])
def test_plain_text_stays_whatever_it_begins_with(coding):
    """A digit is the whole of a brotli stream of nothing, and what follows it is passed over."""
    for first in string.printable:
        text = f"{first} tales of the mill, and the ferry. ".encode() * 3
        assert decoded(text, "", coding) == text, first


@pytest.mark.parametrize("coding", ["deflate", "gzip"])
def test_what_follows_a_coded_body_is_passed_over(coding):
    """As browsers do, where the body is no plain text itself."""
    assert decoded(CODED[coding] + b"\r\n", "", coding) == PAGE


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_what_begins_as_gzip_or_zstd_is_decoded_though_nothing_declares_it(coding):
    assert decoded(CODED[coding]) == PAGE
    assert decoded(CODED[coding], "", "br" if coding == "zstd" else "identity") in (PAGE, "broken_http")
    twice = {"gzip": gzip.compress, "zstd": zstandard.compress}[coding](CODED[coding])
    assert decoded(twice, "", coding) == PAGE


@pytest.mark.parametrize(
    ("body", "transfer", "coding"),
    [
        *((body[:-9], "", coding) for coding, body in CODED.items()),
        *((body[:20] + b"\xff\x00" * 9 + body[38:], "", coding) for coding, body in CODED.items()),
        *((CONTROLS, "", coding) for coding in (*CODED, "compress", "sdch")),
        (CODED["gzip"][:-9], "", ""),
        (chunked(PAGE)[:-40], "chunked", ""),
        (chunked(PAGE)[: -len(b"0\r\n\r\n")], "chunked", ""),
        (chunked(PAGE)[:22] + b"zz" + chunked(PAGE)[24:], "chunked", ""),
        (chunked(CODED["gzip"])[:-40], "chunked", "gzip"),
    ],
)
def test_a_body_that_does_not_decode_is_a_reject(body, transfer, coding):
    assert decoded(body, transfer, coding) == "broken_http"


LONG = random.Random(7).randbytes(200_000).hex().encode()


@pytest.mark.parametrize(
    ("pack", "transfer", "coding"),
    [
        (gzip.compress, "", "gzip"),
        (zlib.compress, "", "deflate"),
        (lambda data: zstd_frames([data]), "", "zstd"),
        (chunked, "chunked", ""),
        (lambda data: chunked(gzip.compress(data), 1000), "chunked", "gzip"),
    ],
)
def test_a_body_that_the_crawler_cut_gives_what_came(pack, transfer, coding):
    body = pack(LONG)
    for end in range(len(body) // 2, len(body) // 2 + 25):
        found = decoded(body[:end], transfer, coding, is_cut=True)
        assert len(LONG) // 4 < len(found) < len(LONG)
        assert LONG.startswith(found)
    damaged = body[:1000] + CONTROLS + body[1000 + len(CONTROLS) :]
    assert decoded(damaged, transfer, coding, is_cut=True) == "broken_http"


def test_a_record_that_says_it_is_cut_is_a_page_and_another_is_not(tmp_path):
    body = http(gzip.compress(LONG)[:90_000], "200 OK", "text/plain", "Content-Encoding: gzip")
    cut = warc_record("response", body, "http://tales.example/cut", WARC_Truncated="length")
    path = tmp_path / "f"
    path.write_bytes(cut + warc_record("response", body, "http://tales.example/broken"))
    found = read(path, "warc")
    assert [record.url for record in records(found)] == ["http://tales.example/cut"]
    assert rejects(found) == [(len(cut), "broken_http")]


ZEROS = bytes(1 << 26)
GIGABYTE = {
    "gzip": gzip.compress(ZEROS) * 16,
    "deflate": zlib.compress(ZEROS * 4),
    "br": brotli.compress(ZEROS * 4, quality=1),
    "zstd": zstandard.compress(ZEROS) * 16,
}
"""A quarter of it where a stream cannot be repeated."""


@pytest.mark.parametrize("coding", GIGABYTE)
@pytest.mark.parametrize("declared", [True, False])
def test_a_body_that_unfolds_beyond_its_budget_is_a_reject_in_bounded_memory(tmp_path, coding, declared):
    path = tmp_path / "f"
    fields = [f"Content-Encoding: {coding}"] if declared else []
    bomb = warc_record("response", http(GIGABYTE[coding], "200 OK", "text/html", *fields), "http://tales.example/bomb")
    path.write_bytes(bomb + warc_record("response", http(PAGE)))
    tracemalloc.start()
    try:
        first, second = read(path, "warc", limits=Limits(max_record_bytes=8 << 20))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert second.content == PAGE
    if declared or coding in ("gzip", "zstd"):
        assert first == Reject("http://tales.example/bomb", 0, "record_too_large")
    assert peak < 64 << 20


def test_the_budget_of_the_file_holds_for_bodies_too():
    limits = Limits(file_budget=Budget(min_bytes=1000, max_ratio=10))
    assert decoded(gzip.compress(bytes(9_000)), "", "gzip", limits=limits) == "record_too_large"
    assert decoded(gzip.compress(PAGE), "", "gzip", limits=limits) == PAGE


@given(st.binary(max_size=300), st.sampled_from(["", "chunked"]), st.sampled_from(["", *CODED]), st.booleans())
def test_any_bytes_are_a_body_or_a_reject(body, transfer, coding, is_cut):
    found = decoded(body, transfer, coding, is_cut=is_cut)
    assert isinstance(found, bytes) or found in ("broken_http", "record_too_large")


@given(st.binary(max_size=3_000), st.integers(1, 500), st.sampled_from(["gzip", "deflate", "zstd", "br"]))
def test_whatever_was_coded_comes_back(body, size, coding):
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress, "br": brotli.compress}[coding]
    found = decoded(chunked(pack(body), size), "chunked", coding)
    assert found == body or body.startswith((b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"))


@pytest.mark.parametrize(
    ("pack", "headers"),
    [
        (brotli.compress, ("Content-Encoding: identity", "Content-Encoding: br")),
        (lambda data: brotli.compress(gzip.compress(data)), ("Content-Encoding: gzip", "content-encoding : br")),
        (brotli.compress, ("Content-Encoding: br", "Content-Encoding: br")),
        (lambda data: chunked(zlib.compress(data)), ("Transfer-Encoding: deflate", "Transfer-Encoding: chunked")),
    ],
)
def test_codings_that_stand_in_several_headers_are_one_list(tmp_path, pack, headers):
    (tmp_path / "f").write_bytes(warc_record("response", http(pack(LONG), "200 OK", "text/plain", *headers)))
    [found] = records(read(tmp_path / "f", "warc"))
    assert found.content == LONG
