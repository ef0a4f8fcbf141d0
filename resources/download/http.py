"""One request and its answer: which bytes of the file it brings, decided by Content-Range and not by the status alone.

Everything that may pass is a `FailedTry`; what a person has to mend (404, a forbidden redirect) is a ConfigError.
"""

import base64
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from formats.errors import ConfigError, TransientError
from resources.download.access import Access
from resources.download.addresses import NotPublicError, check_literal, host_of, public_pools
from resources.download.partial_file import Validators
from resources.download.settings import FetchSettings
from resources.download.wanted import HTTP_SCHEMES, mask_text, masked

_CONTENT_RANGE = re.compile(r"bytes\s+(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.IGNORECASE)
_UNSATISFIED = re.compile(r"bytes\s+\*/(\d{1,18})", re.IGNORECASE)
_ETAG = re.compile(r'(W/)?"[\x21\x23-\x7e]{1,200}"')
_NUMBER = re.compile(r"[0-9]{1,18}")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAY_PASS = frozenset({408, 421, 425, 429, 500, 502, 503, 504, 507, 509, 520, 521, 522, 523, 524, 529})
_STRONG_DATE_SECONDS = 60  # a Last-Modified this much older than Date is strong (RFC 7232, 2.2.2; RFC 9110 asks for 1)
_READ_BYTES = 256 * 1024


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


class Connections:
    """Open connections, kept alive between files, through the proxies of the environment. Safe for threads.

    `access` says how long each request waits, which `pause` does, and with which credentials it is sent.
    """

    def __init__(
        self, settings: FetchSettings, access: Access | None = None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._settings, self._access, self._pause = settings, access or Access(), pause
        timeout = urllib3.Timeout(connect=settings.connect_timeout_seconds, read=settings.read_timeout_seconds)
        options: dict[str, Any] = {"timeout": timeout, "maxsize": settings.parallel_files, "retries": False}
        self._public, self._named = public_pools(**options), urllib3.PoolManager(**options)
        self._proxies = {
            scheme: urllib3.ProxyManager(proxy, proxy_headers=_basic_auth(proxy, "Proxy-Authorization"), **options)
            for scheme, proxy in getproxies().items()
            if scheme in HTTP_SCHEMES and proxy.startswith(("http://", "https://"))
        }

    def __enter__(self) -> "Connections":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for manager in (self._public, self._named, *self._proxies.values()):
            manager.clear()

    @contextmanager
    def get(self, url: str, position: int, if_range: str | None) -> Iterator[Answer]:
        """Ask for the file from byte `position` on; redirects are followed, within one scheme or from http to https,
        and to public addresses. Hosts that the settings name may be private, and may redirect to each other.

        Raises FailedTry, ConfigError.
        """
        headers = {"Accept-Encoding": "identity", "User-Agent": self._settings.user_agent}
        if position:
            headers["Range"] = f"bytes={position}-"
            if if_range is not None:
                headers["If-Range"] = if_range
        response = self._follow(url, headers)
        try:
            _check_status(response, url, self._access)
            start, stop, total = _extent(response)
            encoding = response.headers.get("Content-Encoding")
            yield Answer(start, stop, total, _validators(response.headers), encoding, lambda n: _read(response, n))
        finally:
            response.close()  # a response read to its end has given its connection back already

    def _follow(self, url: str, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        here, named = url, True
        for _ in range(self._settings.max_redirects + 1):
            # A public host must not send us to a private one, also not to one that the settings name for other files.
            named = named and self._settings.may_be_private(host_of(here))
            credentials = self._credentials(here) if _same_origin(url, here) else {}
            if (seconds := self._access.before_request(here)) > 0:
                self._pause(seconds)
            response = self._request(here, {**headers, **credentials}, named, url)
            location = response.headers.get("Location")
            if response.status not in _REDIRECTS or location is None:
                return response
            response.close()
            there = urljoin(here, location)
            try:
                before, after = urlsplit(here), urlsplit(there)
                allowed = bool(after.hostname) and after.scheme in (before.scheme, "https")
            except ValueError:
                allowed = False
            if not allowed:
                raise ConfigError(
                    f"{masked(url)}: redirects to {masked(there)}, allowed are the same scheme and http to https; "
                    "put the final address into the ledger"
                )
            here = there
        raise ConfigError(
            f"{masked(url)}: more than {self._settings.max_redirects} redirects; put the final address into the ledger"
        )

    def _credentials(self, url: str) -> dict[str, str]:
        """The header for the url's own origin: what the rules of this machine name, else what stands in the url."""
        if (value := self._access.authorization(url, self._settings)) is None:
            return _basic_auth(url)
        if urlsplit(url).scheme == "http" and self._proxy(url):
            host = host_of(url)
            raise ConfigError(
                f"{masked(url)}: its credentials would go through a proxy that reads them; name {host} in no_proxy"
            )
        return {"Authorization": value}

    def _proxy(self, url: str) -> urllib3.ProxyManager | None:
        parts = urlsplit(url)
        return None if proxy_bypass(parts.hostname or "") else self._proxies.get(parts.scheme)

    def _request(self, url: str, headers: dict[str, str], named: bool, first: str) -> urllib3.BaseHTTPResponse:
        parts = urlsplit(url)
        proxy = self._proxy(url)
        bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
        try:
            if proxy and not named:
                check_literal(host_of(url))
            return (proxy or (self._named if named else self._public)).request(
                "GET", bare, headers=headers, preload_content=False, decode_content=False, redirect=False, retries=False
            )
        except NotPublicError as error:
            raise error.as_config_error(first) from None
        except urllib3.exceptions.LocationValueError as error:
            raise ConfigError(f"{masked(url)}: not a URL ({_words_of(error)}); mend the ledger") from None
        except urllib3.exceptions.HTTPError as error:
            raise FailedTry(f"no answer: {_words_of(error)}") from None


def _read(response: urllib3.BaseHTTPResponse, max_bytes: int) -> bytes:
    try:
        return response.read1(min(max_bytes, _READ_BYTES), decode_content=False)
    except urllib3.exceptions.HTTPError as error:
        raise FailedTry(f"the connection broke: {_words_of(error)}") from None


def _check_status(response: urllib3.BaseHTTPResponse, url: str, access: Access) -> None:
    status = response.status
    if status in (200, 206):
        return
    retry_after = _retry_after_seconds(response.headers)
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


def _extent(response: urllib3.BaseHTTPResponse) -> tuple[int, int | None, int | None]:
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


def _validators(headers: Mapping[str, str]) -> Validators:
    modified = (headers.get("Last-Modified") or "").strip() or None
    try:
        if modified is not None:
            age = parsedate_to_datetime(headers.get("Date", "")) - parsedate_to_datetime(modified)
            modified = modified if len(modified) < 64 and age.total_seconds() >= _STRONG_DATE_SECONDS else None
    except (ValueError, TypeError):  # one of the dates cannot be read, or only one has a zone
        modified = None
    etag = (headers.get("ETag") or "").strip()
    return Validators(etag if _ETAG.fullmatch(etag) else None, modified)


def _retry_after_seconds(headers: Mapping[str, str]) -> float | None:
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


def _same_origin(a: str, b: str) -> bool:
    first, second = urlsplit(a), urlsplit(b)
    return (first.scheme, first.hostname, first.port) == (second.scheme, second.hostname, second.port)


def _basic_auth(url: str, header: str = "Authorization") -> dict[str, str]:
    """The header for a URL's `user:password@`, which is sent to that URL's own origin only."""
    parts = urlsplit(url)
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {header: "Basic " + base64.b64encode(pair.encode()).decode()}


def _words_of(error: Exception) -> str:
    """What the library says, in our words where it is what servers do every day."""
    for one in (error, *error.args):
        if isinstance(one, urllib3.exceptions.IncompleteRead):
            return f"it ended {one.expected} bytes before the length it announced"
    if isinstance(error, urllib3.exceptions.ReadTimeoutError):
        return "nothing came for as long as is waited"
    return f"{type(error).__name__}: {mask_text(str(error))}"


class _MaskSecrets(logging.Filter):
    """urllib3 logs request lines at DEBUG, query fields included."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = mask_text(record.getMessage()), ()
        return True


logging.getLogger("urllib3.connectionpool").addFilter(_MaskSecrets())
