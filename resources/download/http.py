"""HTTP: one request with its redirects, proxies and credentials; its answer is http_answer's.

Everything that may pass is a `FailedTry`; what a person has to mend (a forbidden redirect) is a ConfigError.
"""

import base64
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from formats.errors import ConfigError
from resources.download.access import Access
from resources.download.addresses import NotPublicError, check_literal, host_of, public_pools
from resources.download.http_answer import Answer, FailedTry, check_status, extent_of, validators_of
from resources.download.settings import FetchSettings
from resources.download.wanted import HTTP_SCHEMES, mask_text, masked

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_READ_BYTES = 256 * 1024


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
            check_status(response, url, self._access)
            start, stop, total = extent_of(response)
            encoding = response.headers.get("Content-Encoding")
            yield Answer(start, stop, total, validators_of(response.headers), encoding, lambda n: _read(response, n))
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
