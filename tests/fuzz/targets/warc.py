"""WARC files, packed in every way; the second byte asks for pages or for texts (WET)."""

import gzip
from pathlib import Path

from corpus_assets.records import warc
from corpus_assets.records.record import Tally
from tests.fuzz.hold import LIMITS
from tests.fuzz.packed import every_way, unpacked
from tests.records.made_up_files import chunked, http, warc_record

WORDS = (
    b"WARC/1.0\r\n",
    b"WARC/1.1\r\n",
    b"WARC-Type: response\r\n",
    b"WARC-Type: conversion\r\n",
    b"WARC-Truncated: length\r\n",
    b"Content-Length: ",
    b"Content-Length: 0\r\n",
    b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Encoding: br\r\n",
    b"Content-Encoding: gzip\r\n",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
)


def seeds() -> list[bytes]:
    page = b"<html><p>The fox came by the mill at night.</p></html>"
    coded = http(gzip.compress(page, mtime=0), "200 OK", "text/html", "Content-Encoding: gzip")
    in_chunks = http(chunked(page), "200 OK", "text/html", "Transfer-Encoding: chunked")
    pages = b"".join(warc_record("response", content) for content in (http(page), coded, in_chunks))
    texts = warc_record("warcinfo", b"software: none") + warc_record("conversion", "Fuchs und Mühle".encode())
    return [b"\0" + one for one in every_way(pages)] + [b"\1" + one for one in every_way(texts)]


def run(data: bytes, folder: Path) -> None:
    path = folder / "file.warc"
    path.write_bytes(unpacked(data[1:]))
    read = warc.read_wet if data[:1] == b"\1" else warc.read_warc
    for _ in read(path, "file.warc", LIMITS, Tally()):
        pass
