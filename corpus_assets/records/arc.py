"""ARC 1.0 and 1.1: what crawlers wrote before WARC. A record is a line (URL, IP address, 14-digit date, media type,
length; version 2 has more fields between type and length), that many bytes, and a newline that some writers leave out
after all records.

The first record describes the file (`filedesc://`) and counts as one. The lengths are all there is to hold a file to:
one that was cut between two records looks whole. A last record that is shorter than its length is an error, except a
page that is whole by its own HTTP length: line ends of ARC files were converted, which shortens the heads.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path

from corpus_assets.records.fields import utc_second
from corpus_assets.records.record import Limits, Record, Reject, RejectReason, whole_number
from corpus_assets.records.web_page import Page, read_page, target_url
from formats.compressed import CHUNK_BYTES, Readable
from formats.errors import CorruptDataError

FIRST_BYTES = b"filedesc:"
"""How every ARC file begins."""
_TODO = "fetch the file again, or take it out of the ledger row"
_MAX_LINE_BYTES = 1 << 20
_ADDRESS = rb"(?:[0-9]+(?:\.[0-9]+){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+|-)"
_HEADERS = [
    re.compile(rb"(?P<url>.+?) " + _ADDRESS + rb" (?P<date>" + date + rb") (?:.* )?(?P<length>\S+)\s*")
    for date in (rb"[0-9]{12,}", rb"\S+")
]
"""A URL may hold spaces, and a date be no date: the first pattern that fits counts."""
_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})")


def read_arc(stream: Readable, path: Path, limits: Limits) -> Iterator[Record | Reject]:
    """As `warc.read_warc`, of a stream that begins with FIRST_BYTES. Raises CorruptDataError where the file is cut, or
    holds something else where a record belongs.
    """
    file = _File(stream)
    before, is_separated = "its beginning", False
    while (position := file.to_next_line()) is not None:
        if is_separated and not file.num_blank_lines:
            expected = "a newline, as after those before it"
            raise CorruptDataError(path, before, expected, f"something else at byte {position}", _TODO)
        is_separated = file.num_blank_lines > 0
        header = _Header(file.line(), path, position, before)
        content = _Content(file, header.length)
        found = _read(header, content, limits)
        if (missing := content.skip()) and not (isinstance(found, Page) and found.is_whole):
            expected, cut = f"{header.length} bytes", f"cut at {header.length - missing}"
            raise CorruptDataError(path, f"content of the record at byte {position}", expected, cut, _TODO)
        if isinstance(found, Page):
            yield Record(header.url, position, found.body, found.is_html, found.content_type, header.crawl_date)
        else:
            yield Reject(header.url, position, found)
        before = f"what follows the record at byte {position}"


def _read(header: "_Header", content: "_Content", limits: Limits) -> Page | RejectReason:
    if header.url.startswith("filedesc:"):
        return RejectReason.NOT_A_RESPONSE
    if header.length > limits.max_record_bytes:
        return RejectReason.RECORD_TOO_LARGE
    return read_page(content, limits, is_cut=False)


class _Header:
    """The line before a record's content."""

    def __init__(self, line: bytes, path: Path, position: int, place: str) -> None:
        found = _HEADERS[0].fullmatch(line) or _HEADERS[1].fullmatch(line)
        length = whole_number(found["length"].decode("latin-1")) if found else None
        if found is None or length is None or not line.endswith(b"\n"):
            said = repr(line[:100].decode("latin-1"))
            raise CorruptDataError(path, f"{place}, at byte {position},", "the header of an ARC record", said, _TODO)
        self.length = length
        self.url = target_url(_decoded(found["url"]))
        self._date = found["date"].decode("latin-1")

    @property
    def crawl_date(self) -> str | None:
        parts = _DATE.fullmatch(self._date)
        return utc_second("{}-{}-{}T{}:{}:{}Z".format(*parts.groups())) if parts else None


def _decoded(url: bytes) -> str:
    try:
        return url.decode("utf-8")
    except UnicodeDecodeError:
        return url.decode("latin-1")


class _Bytes(io.RawIOBase):
    """A stream as Python's buffered reader takes it."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # BufferedReader's own buffer is one
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _File:
    """The decompressed file; `position` counts the bytes given so far."""

    def __init__(self, stream: Readable) -> None:
        self._bytes, self._position, self._line = io.BufferedReader(_Bytes(stream), 1 << 16), 0, b""
        self.num_blank_lines = 0

    def to_next_line(self) -> int | None:
        """Go past blank lines; the position of the line after them, None at the end."""
        self.num_blank_lines = 0
        while True:
            self._line = self._bytes.readline(_MAX_LINE_BYTES)
            if not self._line:
                return None
            self._position += len(self._line)
            if self._line not in (b"\n", b"\r\n"):
                return self._position - len(self._line)
            self.num_blank_lines += 1

    def line(self) -> bytes:
        """The line that `to_next_line` found."""
        return self._line

    def read(self, size: int) -> bytes:
        data = self._bytes.read(size)
        self._position += len(data)
        return data


class _Content:
    """The content of one record, as far as the file has it."""

    def __init__(self, file: _File, length: int) -> None:
        self._file, self._left = file, length

    def read(self, size: int) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data

    def skip(self) -> int:
        """Read what is left; how many bytes are missing."""
        while self._left and self.read(CHUNK_BYTES):
            pass
        return self._left
