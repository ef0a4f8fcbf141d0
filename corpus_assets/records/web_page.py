"""The page in a stored HTTP response, of a WARC or an ARC record: status 200, HTML or plain text, body decoded."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from corpus_assets.records import http_body
from corpus_assets.records.record import Limits, RejectReason, whole_number
from formats.compressed import Readable

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = frozenset({"text/plain"})
_FIRST_BYTES, _MAX_HEAD_BYTES = 1 << 10, 1 << 17
_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+([0-9]{3})(?![0-9])")
_MEDIA_TYPE = re.compile(r"[^\s;,]*")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_LOOKS_LIKE_HTML = re.compile(rb"[\xef\xbb\xbf\s]*(?:<!doctype html|<html)", re.IGNORECASE)


class Page(NamedTuple):
    """A decoded body; `content_type` is its HTTP header, None where it has none. `is_whole` when the response's own
    Content-Length shows that nothing of the body is missing.
    """

    body: bytes
    is_html: bool
    content_type: str | None
    is_whole: bool


def read_page(response: Readable, limits: Limits, *, is_cut: bool) -> Page | RejectReason:
    """The page in a stored response, or why there is none: then the response is not read to its end. `read(-1)` of
    `response` gives the rest of it. `is_cut` when the crawler says that it stored only the beginning.
    """
    head = response.read(_FIRST_BYTES)
    if not head.startswith(b"HTTP/"):
        return RejectReason.NOT_HTTP
    while (end := _HEAD_END.search(head)) is None and (more := response.read(_FIRST_BYTES)):
        head += more
        if len(head) > _MAX_HEAD_BYTES:
            return RejectReason.BROKEN_HTTP
    status = _STATUS.match(head)
    if status is None:
        return RejectReason.BROKEN_HTTP
    if status[1] != b"200":
        return RejectReason.HTTP_STATUS_NOT_200
    size = end.end() if end else len(head)
    names = head[:size].lower()
    content_type = _field(head, names, b"\ncontent-type")
    media_type = _media_type(content_type)
    if media_type and media_type not in HTML_TYPES and media_type not in TEXT_TYPES:
        return RejectReason.MEDIA_TYPE_NOT_TEXT
    body = head[size:] + response.read(-1)
    length = whole_number(_field(head, names, b"\ncontent-length"))
    is_whole = length is not None and length <= len(body)
    transfer, coding = _list(head, names, b"\ntransfer-encoding"), _list(head, names, b"\ncontent-encoding")
    if transfer or coding or body.startswith(http_body.MAGIC):
        decoded = http_body.decode(body, transfer, coding, limits, is_cut=is_cut)
        if isinstance(decoded, RejectReason):
            return decoded
        body = decoded
    if not media_type and not _LOOKS_LIKE_HTML.match(body):
        return RejectReason.MEDIA_TYPE_NOT_TEXT
    return Page(body, media_type not in TEXT_TYPES, content_type or None, is_whole)


def target_url(found: str) -> str:
    """A record's target as a URL: wget writes it in angle brackets, and crawlers leave spaces in it."""
    if found[:1] != "<" and " " not in found:
        return found
    return found.strip().removeprefix("<").removesuffix(">").replace(" ", "%20")


@lru_cache(maxsize=1024)
def _media_type(content_type: str) -> str:
    found = _MEDIA_TYPE.match(content_type)
    return found[0].lower() if found else ""


def _field(head: bytes, names: bytes, name: bytes) -> str:
    """The first value of a header field, "" where there is none; `names` is the head in lower case."""
    return next(_values(head, names, name), "")


def _list(head: bytes, names: bytes, name: bytes) -> str:
    """The values of a header field that may stand there several times, as one list."""
    return ",".join(_values(head, names, name))


def _values(head: bytes, names: bytes, name: bytes) -> Iterator[str]:
    at = names.find(name)
    while at >= 0:
        at += len(name)
        colon = names.find(b":", at)
        if colon >= 0 and not names[at:colon].strip(b" \t"):
            yield _value(head, colon + 1, len(names))
        at = names.find(name, at)


def _value(head: bytes, begin: int, size: int) -> str:
    """What stands from `begin` on, with the lines that begin with white space."""
    end = head.find(b"\n", begin, size)
    while end >= 0 and head[end + 1 : end + 2] in (b" ", b"\t"):
        end = head.find(b"\n", end + 1, size)
    return _FOLD.sub(b" ", head[begin : end if end >= 0 else size]).strip().decode("latin-1")
