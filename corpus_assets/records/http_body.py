"""The body of an HTTP message as the browser saw it: chunks joined, content codings taken off, in bounded memory.

Servers and crawlers declare wrongly, and crawlers store bodies decoded under the header that was served. So the bytes
decide where they can: what is declared as chunked or coded and is plain text stays as it is; gzip and zstd are known by
their first bytes and taken off though nothing declares them. A coded body that breaks off is broken, unless the crawler
says it cut the record (`WARC-Truncated`): then what came counts. No coding is guessed, and nothing is made up.
"""

import io
import re
import zlib
from collections.abc import Callable, Iterator

import zstandard
from fastwarc.stream_io import BrotliReader

from corpus_assets.records.record import Limits, RejectReason

_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
MAGIC = (_GZIP, _ZSTD)
"""How a body begins that is coded, whatever its header says."""
_PIECE_BYTES = 1 << 20
_ZSTD_FEED_BYTES = 1 << 10
"""A zstd block takes four bytes at least and gives 128 KiB at most."""
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CHUNK_BEGUN = re.compile(rb"(?:\r?\n)?[ \t]*[0-9A-Fa-f]{0,15}[ \t]*(?:;[^\r\n]*)?\r?")
"""What may stand between two chunks where a body was cut there."""
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Bytes that text does not have; compressed data has one among its first few."""
_PLAIN_BYTES = 1024


class _Broken(Exception):
    """The bytes are not what they are declared as, from here on."""


class _CutShort(_Broken):
    """They end too early; what came before is right."""


class _EndsEarly(_Broken):
    """They end before the body does, which browsers pass over, and as plain text does where it is taken for coded."""


class _TooLarge(Exception):
    """More than the limit."""


def decode(
    body: bytes, transfer_encoding: str, content_encoding: str, limits: Limits, *, is_cut: bool
) -> bytes | RejectReason:
    """The decoded body, or why there is none; `is_cut` when the crawler says that it stored only the beginning."""
    codings = [*_names(content_encoding), *_names(transfer_encoding)]
    limit = min(limits.max_record_bytes, limits.file_budget.limit(len(body)))
    try:
        if "chunked" in codings:
            body = _joined_chunks(body, is_cut)
        for coding in reversed(codings):
            body = _without(coding, body, limit, is_cut)
        if body.startswith(MAGIC):
            body = _without("gzip" if body.startswith(_GZIP) else "zstd", body, limit, is_cut)
    except _Broken:
        return RejectReason.BROKEN_HTTP
    except _TooLarge:
        return RejectReason.RECORD_TOO_LARGE
    return body


def _names(header: str) -> list[str]:
    return [name for part in header.split(",") if (name := part.strip().lower().removeprefix("x-"))]


def _joined_chunks(body: bytes, is_cut: bool) -> bytes:
    chunks: list[bytes] = []
    at = 0
    while size := _CHUNK_SIZE.match(body, at):
        num_bytes, at = int(size[1], 16), size.end()
        if not num_bytes:
            return b"".join(chunks)
        chunks.append(body[at : at + num_bytes])
        at += num_bytes
        if body[at : at + 2] == b"\r\n":
            at += 2
        elif body[at : at + 1] == b"\n":
            at += 1
        elif at < len(body):
            break
    if not chunks and _is_plain(body):
        return body
    if is_cut and _CHUNK_BEGUN.fullmatch(body, at):
        return b"".join(chunks)
    raise _Broken


def _is_plain(data: bytes) -> bool:
    return _CONTROL.search(data, 0, _PLAIN_BYTES) is None


def _without(coding: str, body: bytes, limit: int, is_cut: bool) -> bytes:
    """The body with one coding taken off; as it is where it is plain text that does not have this coding."""
    pieces = _DECODERS.get(coding)
    if pieces is None:
        if coding in _NO_CODING or _is_plain(body):
            return body
        raise _Broken
    held: list[bytes] = []
    num_bytes = 0
    try:
        for piece in pieces(body):
            num_bytes += len(piece)
            if num_bytes > limit:
                raise _TooLarge
            held.append(piece)
    except _Broken as error:
        if _is_plain(body):
            return body
        if not (isinstance(error, _EndsEarly) or (is_cut and isinstance(error, _CutShort))):
            raise
    return b"".join(held)


_NO_CODING = ("chunked", "identity", "none")


def _gunzipped(data: bytes) -> Iterator[bytes]:
    if data and not data.startswith(_GZIP):
        raise _Broken
    return _inflated(data, 31)


def _undeflated(data: bytes) -> Iterator[bytes]:
    """The standard says zlib's format, some servers send the bare stream."""
    has_zlib_head = len(data) > 1 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
    return _inflated(data, 15 if has_zlib_head else -15)


def _inflated(data: bytes, wbits: int) -> Iterator[bytes]:
    """All members; what follows the last one is passed over, as browsers do."""
    at = 0
    while at < len(data):
        member = zlib.decompressobj(wbits)
        while not member.eof:
            feed = member.unconsumed_tail
            if not feed:
                feed = data[at : at + _PIECE_BYTES]
                at += len(feed)
            try:
                piece = member.decompress(feed, _PIECE_BYTES)
            except zlib.error:
                raise _Broken from None
            if piece:
                yield piece
            elif not feed and not member.eof:
                raise _CutShort
        at -= len(member.unused_data)
        if wbits != 31 and at < len(data):
            raise _EndsEarly
        if wbits != 31 or not data.startswith(_GZIP, at):
            return


def _unzstd(data: bytes) -> Iterator[bytes]:
    """All frames; skippable ones give nothing."""
    frame: zstandard.ZstdDecompressionObj | None = None
    for at in range(0, len(data), _ZSTD_FEED_BYTES):
        feed = data[at : at + _ZSTD_FEED_BYTES]
        while feed:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                piece = frame.decompress(feed)
            except zstandard.ZstdError:
                raise _Broken from None
            feed = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
            if piece:
                yield piece
    if frame:
        raise _CutShort


def _unbrotli(data: bytes) -> Iterator[bytes]:
    reader, is_empty = BrotliReader(io.BytesIO(data)), len(data) > 1
    try:
        while piece := reader.read(_PIECE_BYTES):
            is_empty = False
            yield piece
    except OSError:
        raise _Broken from None
    if is_empty:  # one byte is the whole of a stream of nothing: a 3, 5, 7 or 9, for instance
        raise _EndsEarly


_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gunzipped,
    "deflate": _undeflated,
    "zstd": _unzstd,
    "br": _unbrotli,
}
