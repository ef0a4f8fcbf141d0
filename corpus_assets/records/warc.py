"""WARC and WET: pages as they were crawled, and their text as the crawler took it. Positions are bytes of the
decompressed stream, so one gzip member for all records, one a record and no compression read the same.

FastWARC parses; it ends quietly where a file was cut, so every record is held to its Content-Length here and the
stream to the blank lines that close its last record.
"""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from fastwarc.stream_io import GzipReader
from fastwarc.warc import ArchiveIterator, WarcHeader, WarcRecord, WarcRecordType

from corpus_assets.records.fields import utc_second
from corpus_assets.records.record import Limits, Record, Reject, RejectReason, Tally
from formats.compressed import CHUNK_BYTES, Decompressed, Readable, open_file
from formats.errors import CorruptDataError

CODE_VERSION = "1"
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = frozenset({"text/plain"})
_TODO = "fetch the file again, or take it out of the ledger row"
_RESPONSE = WarcRecordType.response
_CLOSING = b"\r\n\r\n"
_LOOKS_LIKE_HTML = re.compile(rb"[\xef\xbb\xbf\s]*(?:<!doctype html|<html)", re.IGNORECASE)


def read_warc(path: Path, url: str, limits: Limits, tally: Tally) -> Iterator[Record | Reject]:
    """The responses with status 200 that are HTML or plain text; all other records are rejects. Raises
    CorruptDataError where the file is cut or broken.
    """
    with _open(path, limits) as stream:
        for record, position in _records(stream, path):
            target = _target(record)
            place = target or f"{url}#{position}"
            reason: RejectReason | None = RejectReason.NOT_A_RESPONSE
            media_type = ""
            if record.record_type == _RESPONSE:
                reason, media_type = _why_no_page(record, target, limits)
            if reason is not None:
                _pass_over(record, position, path)
                yield Reject(place, position, reason)
                continue
            found = _page(record, _content(record, position, path), media_type, limits)
            if isinstance(found, RejectReason):
                yield Reject(place, position, found)
            else:
                is_html = media_type not in TEXT_TYPES
                content_type = record.http_headers.get("Content-Type")
                yield Record(place, position, found, is_html, content_type, _crawl_date(record))
        tally.decompressed_bytes = stream.position


def read_wet(path: Path, url: str, limits: Limits, tally: Tally) -> Iterator[Record | Reject]:
    """The conversion records, whose content is the text in UTF-8; all other records are rejects. As `read_warc`."""
    with _open(path, limits) as stream:
        for record, position in _records(stream, path):
            target = _target(record)
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
                yield Record(place, position, text, crawl_date=_crawl_date(record))
        tally.decompressed_bytes = stream.position


def _why_no_page(record: WarcRecord, target: str, limits: Limits) -> tuple[RejectReason | None, str]:
    """(why the response is no page, as far as its headers say; its media type, "" where it names none)."""
    if not target:
        return RejectReason.NO_TARGET_URI, ""
    if not record.is_http:
        return RejectReason.NOT_HTTP, ""
    if record.content_length > limits.max_record_bytes:
        return RejectReason.RECORD_TOO_LARGE, ""
    try:
        record.parse_http()
    except OSError:
        return RejectReason.BROKEN_HTTP, ""
    if record.http_headers is None or record.http_headers.status_code != 200:
        return RejectReason.HTTP_STATUS_NOT_200, ""
    media_type = (record.http_content_type or "").strip().lower()
    if media_type and media_type not in HTML_TYPES and media_type not in TEXT_TYPES:
        return RejectReason.MEDIA_TYPE_NOT_TEXT, media_type
    return None, media_type


def _why_no_conversion(record: WarcRecord, target: str, limits: Limits) -> RejectReason | None:
    if record.record_type != WarcRecordType.conversion:
        return RejectReason.NOT_A_CONVERSION
    if not target:
        return RejectReason.NO_TARGET_URI
    return RejectReason.RECORD_TOO_LARGE if record.content_length > limits.max_record_bytes else None


def _page(record: WarcRecord, body: bytes, media_type: str, limits: Limits) -> bytes | RejectReason:
    """The body as the browser saw it, or why it is none."""
    headers = record.http_headers
    coded = {name: headers.get(name) for name in ("Transfer-Encoding", "Content-Encoding")}
    if any(coded.values()):
        http = WarcRecord()
        lines = ["HTTP/1.1 200 OK", *(f"{name}: {value}" for name, value in coded.items() if value)]
        http.set_bytes_content("\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body)
        http.is_http = True
        try:
            http.parse_http(auto_decode="all")
            body = http.reader.read(limits.max_record_bytes + 1)
        except OSError:
            return RejectReason.BROKEN_HTTP
    if len(body) > limits.max_record_bytes:
        return RejectReason.RECORD_TOO_LARGE
    if not media_type and not _LOOKS_LIKE_HTML.match(body):
        return RejectReason.MEDIA_TYPE_NOT_TEXT
    return body


def _target(record: WarcRecord) -> str:
    """The page's URL; wget writes it in angle brackets."""
    found = record.headers.get(WarcHeader.WARC_TARGET_URI)
    return found.strip().removeprefix("<").removesuffix(">") if found else ""


def _crawl_date(record: WarcRecord) -> str | None:
    return utc_second(record.headers.get(WarcHeader.WARC_DATE))


def _records(stream: "_Tail", path: Path) -> Iterator[tuple[WarcRecord, int]]:
    """Each record with its position. The caller takes the content before it asks for the next."""
    position = -1
    try:
        for record in ArchiveIterator(stream, parse_http=False, stream_detect=False):  # type: ignore[arg-type]
            position = record.stream_pos
            if not record.content_length:
                _check_length(record, position, path)
            yield record, position
    except OSError as error:
        place = f"what follows the record at byte {position}" if position >= 0 else "its beginning"
        raise CorruptDataError(path, place, "a WARC record", f"something else ({error})", _TODO) from None
    if stream.read(1) or (position >= 0 and stream.tail != _CLOSING):
        found = f"an end at byte {stream.position} without them"
        raise CorruptDataError(path, f"record at byte {position}", "closed by two line ends", found, _TODO)


def _check_length(record: WarcRecord, position: int, path: Path) -> None:
    """A length of 0 may be one that FastWARC could not read."""
    found = record.headers.get(WarcHeader.CONTENT_LENGTH)
    if found is None or not found.isascii() or not found.isdigit() or int(found) != record.content_length:
        raise CorruptDataError(path, f"Content-Length of the record at byte {position}", "a number", repr(found), _TODO)


def _content(record: WarcRecord, position: int, path: Path) -> bytes:
    """What is left of the record's content: all of it, or what follows its HTTP header once that was parsed."""
    content = record.reader.read()
    if len(content) != record.content_length:
        raise _cut(record, len(content), position, path)
    return content


def _pass_over(record: WarcRecord, position: int, path: Path) -> None:
    if (found := record.reader.consume()) != record.content_length:
        raise _cut(record, found, position, path)


def _cut(record: WarcRecord, found: int, position: int, path: Path) -> CorruptDataError:
    expected = f"{record.content_length} bytes"
    return CorruptDataError(path, f"content of the record at byte {position}", expected, f"cut at {found}", _TODO)


class _Tail:
    """A stream that remembers its last bytes."""

    def __init__(self, stream: Decompressed) -> None:
        self._stream, self.tail = stream, b""

    @property
    def position(self) -> int:
        return self._stream.position

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        if data:
            self.tail = (self.tail + data[-len(_CLOSING) :])[-len(_CLOSING) :]
        return data

    def tell(self) -> int:
        return self._stream.position

    def __enter__(self) -> "_Tail":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def _open(path: Path, limits: Limits) -> _Tail:
    return _Tail(open_file(path, budget=limits.file_budget, gunzip=lambda source: _Gunzip(source, path)))


class _Gunzip:
    """FastWARC's gzip decoder: twice as fast as zlib's, but silent where the last member is cut, so that one member
    is inflated once more at the end.
    """

    def __init__(self, source: Readable, path: Path) -> None:
        self._reader, self._path, self._checked = GzipReader(source), path, False  # type: ignore[arg-type]

    def read(self, size: int) -> bytes:
        data = self._reader.read(size)
        if not data and not self._checked:
            self._checked = True
            self._check_last_member()
        return data

    def close(self) -> None:
        self._reader.close()

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
