"""What is asked of the fetcher, what it plans, and how a URL is shown: never with its secrets."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from formats import ledger_urls, secret_fields, userinfo
from formats.errors import ConfigError
from formats.json_fields import LINE
from formats.ledger_urls import STORE_SCHEMES
from formats.partial import EMPTY_SHA256
from formats.userinfo import MASK

HTTP_SCHEMES = ("http", "https")
_HEX = re.compile(r"[0-9a-f]{64}")
_LINE = re.compile(LINE, re.DOTALL)
_UNSAFE = re.compile(r"[\x20\ud800-\udfff]")
_MAX_URL = 4_000
_LONG_BARE_VALUE = 16  # `?<long opaque word>` without a name is a token more often than not
_LEAST = 3  # shorter secrets would be found in every word of a message
_QUERY_IN_TEXT = re.compile(r"([?&])([^\s?&='\"#]+)(=[^\s&'\"#]*)?")


@dataclass(frozen=True)
class Wanted:
    """One file of the ledger. `local_path` is set for a file on this machine, whatever its `url` looks like."""

    url: str = field(repr=False)
    sha256: str
    num_bytes: int
    local_path: Path | None = None

    @property
    def name(self) -> str:
        """The URL as messages and logs may show it; a local path has no query or fragment to hide."""
        return masked(self.url) if self.local_path is None else self.url

    @property
    def scheme(self) -> str:
        """Of a file that is to be fetched; "" for a local one."""
        return urlsplit(self.url).scheme if self.local_path is None else ""


@dataclass(frozen=True)
class Planned:
    """What a fetch would do about one file. `url` is masked; `verified_bytes` need no download."""

    url: str
    state: str  # "planned" | "partial" | "verified"
    num_bytes: int
    verified_bytes: int


def check(wanted: Wanted) -> None:
    """Raises ConfigError for what no fetch can mend: a bad digest, length, URL or scheme, a missing local file."""
    name = wanted.name
    if not isinstance(wanted.sha256, str) or not _HEX.fullmatch(wanted.sha256):
        raise ConfigError(f"{name}: sha256 is {wanted.sha256!r}, expected 64 lower-case hex digits; mend the ledger")
    if type(wanted.num_bytes) is not int or wanted.num_bytes < 0:
        raise ConfigError(f"{name}: num_bytes is {wanted.num_bytes!r}, expected a whole number >= 0; mend the ledger")
    if wanted.num_bytes == 0 and wanted.sha256 != EMPTY_SHA256:
        raise ConfigError(f"{name}: num_bytes is 0 but sha256 is not the one of no bytes; mend the ledger")
    if wanted.local_path is not None:
        if not wanted.local_path.is_file():
            raise ConfigError(f"{name}: {wanted.local_path} is not a file; mend the url in the ledger or put it there")
        return
    if not _LINE.fullmatch(wanted.url) or _UNSAFE.search(wanted.url) or len(wanted.url) > _MAX_URL:
        shown = mask_text(repr(wanted.url))[:200]
        todo = f"a URL has no spaces or control characters and at most {_MAX_URL} characters; mend the ledger"
        raise ConfigError(f"{shown}: {todo}")
    try:
        parts = urlsplit(wanted.url)
        host, scheme = parts.hostname, parts.scheme
        _ = parts.port  # raises ValueError when it is not a number
    except ValueError:  # whose words may repeat a password
        raise ConfigError(f"{name}: not a URL, host or port cannot be read; mend the ledger") from None
    if scheme not in (*HTTP_SCHEMES, *STORE_SCHEMES):
        known = ", ".join((*HTTP_SCHEMES, *STORE_SCHEMES))
        raise ConfigError(f"{name}: no fetcher for the scheme {scheme!r}; expected {known} or a local file")
    if not host:
        raise ConfigError(f"{name}: the URL names no host; mend the ledger")
    if scheme in STORE_SCHEMES and userinfo.is_in(wanted.url):
        raise ConfigError(f"{name}: {ledger_urls.USER_IN_URL}; mend the ledger")


def masked(url: str) -> str:
    """The URL without user, password, fragment, and values of query fields that look like secrets."""
    shown, _, _ = userinfo.mask_url(url).partition("#")
    place, mark, query = shown.partition("?")
    return f"{place}?{'&'.join(map(_masked_field, query.split('&')))}" if mark else place


def mask_text(text: str) -> str:
    """Any message, with whatever looks like a URL's secrets masked."""
    return _QUERY_IN_TEXT.sub(lambda m: m[1] + _masked_field(m[2] + (m[3] or "")), userinfo.mask(text))


def mask_foreign(error: BaseException, url: str) -> str:
    """The words of a library's error about `url`, whatever of the url's secrets they repeat in whatever form."""
    text = mask_text(f"{type(error).__name__}: {error}")
    for secret in sorted(_secrets_of(url), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets_of(url: str) -> set[str]:
    """The parts of a URL that its masked form does not have, as written and decoded."""
    authority = url.partition("://")[2].rpartition("@")[0]
    fields = [text.partition("=")[2] for text in url.partition("#")[0].partition("?")[2].split("&")]
    hidden = [text for text in (*authority.split(":", 1), *fields) if len(text) >= _LEAST and text not in masked(url)]
    return {form for text in hidden for form in (text, unquote(text))}


def mask_values(value: Any) -> Any:
    """A JSON value with every text in it masked: for what is shown of a row that nobody has found right yet."""
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, list):
        return [mask_values(one) for one in value]
    return {key: mask_values(one) for key, one in value.items()} if isinstance(value, dict) else value


def _masked_field(text: str) -> str:
    name, equals, _ = text.partition("=")
    if not equals:
        return MASK if len(name) >= _LONG_BARE_VALUE else text
    return f"{name}={MASK}" if secret_fields.is_masked(unquote(name)) else text
