"""An answer of a server: which bytes of the file it brings, decided by Content-Range and not by the status alone.

Everything that may pass is a `FailedTry`; what a person has to mend (404) is a ConfigError.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import urllib3

from formats.errors import ConfigError, TransientError
from resources.download.access import Access
from resources.download.partial_file import Validators
from resources.download.wanted import masked

_CONTENT_RANGE = re.compile(r"bytes\s+(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.IGNORECASE)
_UNSATISFIED = re.compile(r"bytes\s+\*/(\d{1,18})", re.IGNORECASE)
_ETAG = re.compile(r'(W/)?"[\x21\x23-\x7e]{1,200}"')
_NUMBER = re.compile(r"[0-9]{1,18}")
_MAY_PASS = frozenset({408, 421, 425, 429, 500, 502, 503, 504, 507, 509, 520, 521, 522, 523, 524, 529})
_STRONG_DATE_SECONDS = 60  # a Last-Modified this much older than Date is strong (RFC 7232, 2.2.2; RFC 9110 asks for 1)


class FailedTry(TransientError):
    """This try brought no more; another may. `ask_whole`: the next one must not ask for a range."""

    def __init__(self, words: str, *, retry_after_seconds: float | None = None, ask_whole: bool = False) -> None:
        super().__init__(words)
        self.retry_after_seconds, self.ask_whole = retry_after_seconds, ask_whole


class WrongTotal(FailedTry):
    """The server says that the whole file has another length than the ledger says."""

    def __init__(self, found: int, expected: int, encoding: str | None) -> None:
        words = f", sent with Content-Encoding {encoding[:40]}" if encoding else ""
        super().__init__(f"the server's file has {found} bytes, expected {expected}{words}")
        self.found = found


@dataclass
class Answer:
    """The bytes [start, stop) of a file of `total` bytes; None where the server does not say.

    Bodies are never decoded: many servers label a stored `.gz` file with a Content-Encoding, and length and SHA-256 of
    the ledger tell it from a file that was compressed on the way.
    """

    start: int
    stop: int | None
    total: int | None
    validators: Validators
    encoding: str | None
    read: Callable[[int], bytes]
    """The next bytes as they arrive, at most so many; b"" at the end. Raises FailedTry."""
    in_one_piece: bool = True
    """False where the bytes are asked for range by range, and the file may become another in between."""


def check_status(response: urllib3.BaseHTTPResponse, url: str, access: Access) -> None:
    status = response.status
    if status in (200, 206):
        return
    retry_after = retry_after_seconds(response.headers)
    if status == 416:
        if match := _UNSATISFIED.fullmatch(response.headers.get("Content-Range", "").strip()):
            raise FailedTry(f"status 416: the server's file has {match[1]} bytes", ask_whole=True)
        raise FailedTry("status 416: the range is refused", ask_whole=True)
    if status in _MAY_PASS or (status == 403 and retry_after is not None):
        raise FailedTry(f"status {status}", retry_after_seconds=retry_after)
    if status in (401, 403) and (found := access.credentials_of(url)):
        named = " and ".join(found[1].variables)
        todo = "mend them, or put the final address into the ledger: they go to the host of its url alone"
        raise ConfigError(f"{masked(url)}: the server answers {status} to the credentials of {named}; {todo}")
    todo = "mend the url in the ledger, or ask for access"
    if status in (401, 403):
        todo += " and name its credentials in corpus/fetch.yaml (formats/fetch_rules.md)"
    raise ConfigError(f"{masked(url)}: the server answers {status}; {todo}")


def extent_of(response: urllib3.BaseHTTPResponse) -> tuple[int, int | None, int | None]:
    """(start, stop, total) of the answer's bytes. A Content-Range counts with status 200 too, and 206 needs one."""
    headers = response.headers
    announced = headers.get("Content-Length", "").strip()
    length = int(announced) if _NUMBER.fullmatch(announced) else None
    header = headers.get("Content-Range")
    if header is None:
        if response.status == 206:
            raise FailedTry("status 206 without Content-Range", ask_whole=True)
        return 0, length, length
    match = _CONTENT_RANGE.fullmatch(header.strip())
    if not match:
        raise FailedTry(f"Content-Range {header[:80]!r} cannot be read", ask_whole=True)
    start, stop = int(match[1]), int(match[2]) + 1
    if stop <= start or (length is not None and length != stop - start):
        raise FailedTry(f"Content-Range {header[:80]!r} contradicts Content-Length {length}", ask_whole=True)
    return start, stop, None if match[3] == "*" else int(match[3])


def validators_of(headers: Mapping[str, str]) -> Validators:
    modified = (headers.get("Last-Modified") or "").strip() or None
    try:
        if modified is not None:
            age = parsedate_to_datetime(headers.get("Date", "")) - parsedate_to_datetime(modified)
            modified = modified if len(modified) < 64 and age.total_seconds() >= _STRONG_DATE_SECONDS else None
    except (ValueError, TypeError):  # one of the dates cannot be read, or only one has a zone
        modified = None
    etag = (headers.get("ETag") or "").strip()
    return Validators(etag if _ETAG.fullmatch(etag) else None, modified)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Retry-After as seconds from now: a number, or a date held against the answer's own Date."""
    value = (headers.get("Retry-After") or "").strip()
    if _NUMBER.fullmatch(value):
        return float(value)
    try:
        until = parsedate_to_datetime(value).timestamp()
    except ValueError:
        return None
    try:
        now = parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except ValueError:
        now = time.time()
    return max(0.0, until - now)
