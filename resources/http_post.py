"""A POST of JSON to a URL that may itself be a secret: no message names it, and nothing is redirected."""

import email.utils
import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from formats.errors import ConfigError, TransientError
from resources.outbox import BusyError, RefusedError

_UNSAFE = re.compile(r"[^\x21-\x7e]")
_MAY_PASS = frozenset({408, 425, 429})
"""Of the 4xx, those that say nothing about what was sent."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET, without the alert, and count as delivered."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


@dataclass(frozen=True)
class Tries:
    """How often and how long a receiver is asked at once; what it does not take then waits."""

    tries: int
    timeout_seconds: float
    backoff_seconds: float


def check_url(variable: str, url: str) -> None:
    """Raises ConfigError, without the URL, for one that cannot be posted to."""
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"{variable}: expected a URL that begins with http:// or https://")
    wrong = bool(_UNSAFE.search(url))
    try:
        parts = urlsplit(url)
        wrong |= not parts.hostname or parts.port == 0 or "@" in parts.netloc
    except ValueError:
        wrong = True
    if wrong:
        raise ConfigError(f"{variable}: is not a URL of ASCII characters with a host and no user name or password")


def post(variable: str, url: str, data: bytes, tries: Tries, now: Callable[[], float] = time.time) -> None:
    """Returns once the receiver answered with 2xx. Raises ConfigError, RefusedError, BusyError or TransientError, which
    name `variable` and what was answered.
    """
    check_url(variable, url)
    failed = f"{variable}: {tries.tries} tries to post an alert failed, the last with: "
    refused, words = False, ""
    for attempt in range(tries.tries):
        if attempt:
            time.sleep(tries.backoff_seconds * 2 ** (attempt - 1))
        refused, words, seconds = _once(url, data, tries.timeout_seconds, now)
        if not words:
            return
        if seconds is not None:
            raise BusyError(f"{variable}: {words}, and to try again after {seconds:.0f} s", seconds)
    raise RefusedError(failed + words) if refused else TransientError(failed + words)


def _once(url: str, data: bytes, timeout: float, now: Callable[[], float]) -> tuple[bool, str, float | None]:
    """Whether the alert was refused, what went wrong ("" for nothing), and when to try again, if that was said.

    Returned and not raised: the errors of the library hold the URL.
    """
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with _OPENER.open(request, timeout=timeout):
            return False, "", None
    except urllib.error.HTTPError as error:
        refused = 400 <= error.code < 500 and error.code not in _MAY_PASS
        wait = _seconds(error.headers.get("Retry-After"), now) if error.code in (429, 503) else None
        error.close()
        return refused, f"the receiver answered HTTP {error.code}", wait
    except urllib.error.URLError as error:
        return False, _words(error.reason), None
    except (OSError, ValueError, http.client.HTTPException) as error:
        return False, _words(error), None


def _words(error: object) -> str:
    """What a library said, without texts of its own, which may hold parts of the URL or of an answer."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (error.strerror if isinstance(error, OSError) else "") or type(error).__name__


def _seconds(retry_after: str | None, now: Callable[[], float]) -> float | None:
    """Retry-After, a number or a date (RFC 9110, 10.2.3); None where there is none that can be read."""
    if retry_after is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", retry_after.strip()):
        return float(retry_after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - now())
    except (ValueError, OverflowError):
        return None
