"""Stored HTTP responses: head, transfer and content codings. The first byte says whether the crawler cut it."""

import bz2
import gzip
import io
import zlib
from pathlib import Path

import zstandard

from corpus_assets.records.web_page import read_page
from tests.fuzz.hold import LIMITS
from tests.records.made_up_files import chunked, http

WORDS = (
    b"Content-Encoding: ",
    b"Transfer-Encoding: chunked\r\n",
    b"gzip, deflate, br, zstd",
    b"Content-Length: ",
    b"\r\n\r\n",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"fffffffffffffff\r\n",
    b"0\r\n\r\n",
    b"HTTP/1.1 200",
)
# A brotli stream of "made by hand": an uncompressed meta-block, then the last, empty one (RFC 7932, section 9.2).
_BROTLI = b"\x0b\x05\x80made by hand\x03"


def seeds() -> list[bytes]:
    page = b"<html><p>The fox came by the mill at night.</p></html>"
    bodies = {
        "gzip": gzip.compress(page, mtime=0),
        "deflate": zlib.compress(page),
        "zstd": zstandard.ZstdCompressor().compress(page),
        "br": _BROTLI,
        "x-bzip": bz2.compress(page),
        "identity": page,
    }
    coded = [http(body, "200 OK", "text/html", f"Content-Encoding: {name}") for name, body in bodies.items()]
    both = http(chunked(bodies["gzip"]), "200 OK", None, "Transfer-Encoding: chunked", "Content-Encoding: gzip, gzip")
    return [cut + one for cut in (b"\0", b"\1") for one in [*coded, both, http(page)]]


def run(data: bytes, folder: Path) -> None:
    del folder
    read_page(io.BytesIO(data[1:]), LIMITS, is_cut=data[:1] == b"\1")
