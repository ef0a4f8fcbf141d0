"""Web archives: WARC and ARC, pages as they were crawled; WET, their text as the crawler took it. Positions are bytes
of the decompressed stream, so one gzip member for all records, one a record and no compression read the same.

A record that is no page is a reject, and the next one is read: requests, revisits, metadata, other statuses, media that
is no text, a body that does not decode. A file whose records cannot be told apart is an error that names the byte: cut,
a length that is no number or leads to something else, anything between records. What follows is not guessed at; the
pages before it do not make a source that is silently shorter.

FastWARC parses; it ends quietly where a file was cut, so every record is held to its Content-Length here and the
stream to the blank lines that close its last record.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from fastwarc.stream_io import GzipReader
from fastwarc.warc import ArchiveIterator, WarcHeader, WarcRecord, WarcRecordType

from corpus_assets.records import arc
from corpus_assets.records.fields import utc_second
from corpus_assets.records.record import Limits, Record, Reject, RejectReason, Tally, whole_number
from corpus_assets.records.web_page import Page, read_page, target_url
from formats.compressed import CHUNK_BYTES, Decompressed, Readable, open_file
from formats.errors import CorruptDataError
from formats.gunzip import Gunzip

CODE_VERSION = "2"
_TODO = "fetch the file again, or take it out of the ledger row"
_MAX_HEADER_BYTES = 1 << 20
"""Of one WARC header: crawlers of browsers store data: URLs as targets."""
_RESPONSE, _CONVERSION = WarcRecordType.response, WarcRecordType.conversion
_TARGET_URI, _DATE, _TRUNCATED = WarcHeader.WARC_TARGET_URI, WarcHeader.WARC_DATE, WarcHeader.WARC_TRUNCATED
_CLOSING = b"\r\n\r\n"


def read_warc(path: Path, url: str, limits: Limits, tally: Tally) -> Iterator[Record | Reject]:
    """The responses with status 200 that are HTML or plain text; all other records are rejects. Reads ARC, too. Raises
    CorruptDataError where the file is cut or broken.
    """
    with _open(path, limits) as stream:
        if stream.peek(len(arc.FIRST_BYTES)) == arc.FIRST_BYTES:
            yield from arc.read_arc(stream, path, limits)
        else:
            for record, position in _records(stream, path):
                found = record.headers.get(_TARGET_URI)
                target = target_url(found) if found else ""
                if record.record_type == _RESPONSE:
                    yield _response(record, position, path, target, url, limits)
                else:
                    _pass_over(record, position, path)
                    yield Reject(target or f"{url}#{position}", position, RejectReason.NOT_A_RESPONSE)
        tally.decompressed_bytes = stream.position


def _response(record: WarcRecord, position: int, path: Path, target: str, url: str, limits: Limits) -> Record | Reject:
    if not target:
        found: Page | RejectReason = RejectReason.NO_TARGET_URI
    elif record.content_length > limits.max_record_bytes:
        found = RejectReason.RECORD_TOO_LARGE
    else:
        found = read_page(record.reader, limits, is_cut=record.headers.get(_TRUNCATED) is not None)
    _pass_over(record, position, path)
    if isinstance(found, RejectReason):
        return Reject(target or f"{url}#{position}", position, found)
    crawl_date = utc_second(record.headers.get(_DATE))
    return Record(target, position, found.body, found.is_html, found.content_type, crawl_date)


def read_wet(path: Path, url: str, limits: Limits, tally: Tally) -> Iterator[Record | Reject]:
    """The conversion records, whose content is the text in UTF-8; all other records are rejects. As `read_warc`."""
    with _open(path, limits) as stream:
        for record, position in _records(stream, path):
            target = target_url(record.headers.get(_TARGET_URI) or "")
            place = target or f"{url}#{position}"
            reason = _why_no_conversion(record, target, limits)
            if reason is not None:
                _pass_over(record, position, path)
                yield Reject(place, position, reason)
                continue
            try:
                text = _content(record, position, path).decode("utf-8")
            except UnicodeDecodeError:
                yield Reject(place, position, RejectReason.INVALID_UTF8)
            else:
                yield Record(place, position, text, crawl_date=utc_second(record.headers.get(_DATE)))
        tally.decompressed_bytes = stream.position


def _why_no_conversion(record: WarcRecord, target: str, limits: Limits) -> RejectReason | None:
    if record.record_type != _CONVERSION:
        return RejectReason.NOT_A_CONVERSION
    if not target:
        return RejectReason.NO_TARGET_URI
    return RejectReason.RECORD_TOO_LARGE if record.content_length > limits.max_record_bytes else None


def _records(stream: "_Tail", path: Path) -> Iterator[tuple[WarcRecord, int]]:
    """Each record with its position. The caller takes the content before it asks for the next."""
    position = -1
    try:
        for record in _iterator(stream):
            position = stream.record = record.stream_pos
            if not record.content_length:
                _check_length(record, position, path)
            yield record, position
    except OSError as error:
        place = f"what follows the record at byte {position}" if position >= 0 else "its beginning"
        raise CorruptDataError(path, place, "a WARC record", f"something else ({error})", _TODO) from None
    if stream.read(1) or (position >= 0 and stream.tail != _CLOSING):
        found = f"an end at byte {stream.position} without them"
        raise CorruptDataError(path, f"record at byte {position}", "closed by two line ends", found, _TODO)


def _iterator(stream: "_Tail") -> ArchiveIterator:
    return ArchiveIterator(
        stream,  # type: ignore[arg-type]  # it needs no more than read(n)
        parse_http=False,
        stream_detect=False,
        max_header_len=_MAX_HEADER_BYTES,
        inplace=True,
    )


def _check_length(record: WarcRecord, position: int, path: Path) -> None:
    """A length of 0 may be one that FastWARC could not read."""
    found = record.headers.get(WarcHeader.CONTENT_LENGTH)
    if found is None or whole_number(found) != record.content_length:
        raise CorruptDataError(
            path, f"Content-Length of the record at byte {position}", "a number", repr(found)[:60], _TODO
        )


def _content(record: WarcRecord, position: int, path: Path) -> bytes:
    content = record.reader.read()
    _pass_over(record, position, path)
    return content


def _pass_over(record: WarcRecord, position: int, path: Path) -> None:
    """Go to the end of the record's content. Raises CorruptDataError where the file ends before it."""
    reader = record.reader
    reader.consume()
    if (found := reader.tell()) != record.content_length:
        expected = f"{record.content_length} bytes"
        raise CorruptDataError(path, f"content of the record at byte {position}", expected, f"cut at {found}", _TODO)


class _Tail:
    """A stream that remembers its last bytes, and names the record at hand where it is broken."""

    def __init__(self, stream: Decompressed) -> None:
        self._stream, self._peeked, self._last, self.record = stream, b"", b"", 0

    def peek(self, size: int) -> bytes:
        """The first bytes, before anything is read."""
        while len(self._peeked) < size and (more := self._stream.read(size - len(self._peeked))):
            self._peeked += more
        self._last = self._peeked
        return self._peeked

    @property
    def position(self) -> int:
        return self._stream.position

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, or those that were peeked at."""
        if self._peeked:
            data, self._peeked = self._peeked, b""
            return data
        try:
            data = self._stream.read(size)
        except CorruptDataError as error:
            field = f"{error.field}, in the record at byte {self.record} or after it,"
            raise CorruptDataError(error.path, field, error.expected, error.found, error.todo) from None
        if data:
            self._last = data if len(data) >= len(_CLOSING) else self._last[-len(_CLOSING) :] + data
        return data

    @property
    def tail(self) -> bytes:
        return self._last[-len(_CLOSING) :]

    def tell(self) -> int:
        return self._stream.position - len(self._peeked)

    def __enter__(self) -> "_Tail":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def _open(path: Path, limits: Limits) -> _Tail:
    return _Tail(open_file(path, budget=limits.file_budget, gunzip=lambda source: _Gunzip(source, path)))


class _Gunzip:
    """FastWARC's gzip decoder: twice as fast as zlib's, but silent where the last member is cut, so that one member
    is inflated once more at the end. Where it stumbles, over the zeros after the last member, too, zlib reads the file
    again up to there, goes on, and says what is wrong.
    """

    def __init__(self, source: Readable, path: Path) -> None:
        self._reader, self._path, self._checked = GzipReader(source), path, False  # type: ignore[arg-type]  # likewise
        self._position = 0
        self._file: BinaryIO | None = None
        self._exact: Gunzip | None = None

    def read(self, size: int) -> bytes:
        if self._exact:
            return self._exact.read(size)
        try:
            data = self._reader.read(size)
            if not data and not self._checked:
                self._checked = True
                self._check_last_member()
        except OSError:
            return self._begin_again().read(size)
        self._position += len(data)
        return data

    @property
    def begin(self) -> int | None:
        return self._exact.begin if self._exact else None

    @property
    def begin_position(self) -> int | None:
        return self._exact.begin_position if self._exact else None

    def close(self) -> None:
        self._reader.close()
        if self._file:
            self._file.close()

    def _begin_again(self) -> Gunzip:
        self._file = open(self._path, "rb")  # noqa: SIM115  closed with the reader
        self._exact = Gunzip(self._file)
        left = self._position
        while left and (data := self._exact.read(min(left, CHUNK_BYTES))):
            left -= len(data)
        return self._exact

    def _check_last_member(self) -> None:
        member = zlib.decompressobj(31)
        with open(self._path, "rb") as file:
            file.seek(self._reader.frame_start_position() or 0)
            data = b""
            while not member.eof:
                data = member.unconsumed_tail or file.read(CHUNK_BYTES)
                if not data:
                    raise OSError("Truncated compressed stream")
                try:
                    member.decompress(data, CHUNK_BYTES)
                except zlib.error as error:
                    raise OSError(str(error)) from None
