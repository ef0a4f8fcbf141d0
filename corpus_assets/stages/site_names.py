"""Hosts and sites as lists name them: the one form of a host, and what a line of a list asks for.

Hosts follow the URL Standard (url.spec.whatwg.org, "host parsing"): escapes are decoded, names are mapped by UTS 46
without its transitional part, IPv4 is read in all its notations. What is a public suffix says the list of
publicsuffix.org, as the library brings it, its private section included.
"""

import hashlib
import ipaddress
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from urllib.parse import unquote_to_bytes

import idna
from publicsuffixlist import PublicSuffixList

from formats.errors import ConfigError
from formats.json_words import described

LIBRARIES = ("publicsuffixlist", "idna")
MARK = "*."
"""Before a public suffix: yes, every domain below it is meant."""
_PLAIN = re.compile(r"(?:[a-z0-9_-]+\.)*[a-z0-9_-]*[a-z_-][a-z0-9_-]*", re.ASCII)
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f#/:<>?@\[\\\]^|%]")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+", re.ASCII)
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#\\]*)(?P<rest>.*)", re.DOTALL)
_HOST_PORT = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>[0-9]*))?", re.ASCII)
DEFAULT_PORTS = ("", "80", "443")
"""They say nothing: http and https are one site."""


@dataclass(frozen=True)
class Site:
    """What a line asks for: a domain with all below it, or URLs of one host (and port) whose path begins so."""

    host: str
    port: str = ""
    path: str | None = None

    @property
    def is_domain(self) -> bool:
        return self.path is None


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(_suffix_bytes().decode("utf-8").splitlines())


def _suffix_bytes() -> bytes:
    return resources.files("publicsuffixlist").joinpath("public_suffix_list.dat").read_bytes()


@cache
def top_level_domains() -> frozenset[str]:
    """The top levels of the public suffixes, in their ASCII form; of the list's private section there are none."""
    rules = (line.strip().split(" ")[0] for line in _suffix_bytes().decode("utf-8").splitlines())
    lasts = {rule.rpartition(".")[2].lstrip("!*") for rule in rules if rule and not rule.startswith("//")}
    return frozenset(last if last.isascii() else f"xn--{last.encode('punycode').decode()}" for last in lasts if last)


@cache
def suffix_list_digest() -> str:
    """SHA-256 of the public suffix list in use; it belongs to the identity of what is decided by it."""
    return hashlib.sha256(_suffix_bytes()).hexdigest()


def canonical_host(written: str) -> str | None:
    """The one ASCII form of a host without user and port; None for what is none. IPv6 is in brackets."""
    if _PLAIN.fullmatch(written):
        return written
    if written.startswith("["):
        return _ipv6(written)
    host = written
    if "%" in host:
        try:
            host = unquote_to_bytes(host).decode("utf-8")
        except UnicodeDecodeError:
            return None
    if not host.isascii():
        try:
            host = idna.uts46_remap(host, std3_rules=False, transitional=False)
        except idna.IDNAError:
            return None
    host = host.lower().removesuffix(".")
    if not host or _FORBIDDEN.search(host):
        return None
    labels = host.split(".")
    if not all(labels):
        return None
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(labels)
    return ".".join(label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in labels)


def _ipv6(written: str) -> str | None:
    if not written.endswith("]"):
        return None
    try:
        return f"[{ipaddress.IPv6Address(written[1:-1].partition('%')[0]).compressed}]"
    except ValueError:
        return None


def _ipv4(labels: list[str]) -> str | None:
    """`127.1`, `0x7f000001` and `0177.0.0.1` are all 127.0.0.1 to a browser."""
    if len(labels) > 4 or not all(_NUMBER.fullmatch(label) for label in labels):
        return None
    numbers = []
    for label in labels:
        try:
            numbers.append(int(label[2:] or "0", 16) if label[:2] == "0x" else int(label, 8 if label[0] == "0" else 10))
        except ValueError:
            return None
    *first, last = numbers
    if any(number > 255 for number in first) or last >= 256 ** (5 - len(numbers)):
        return None
    value = last + sum(number << (24 - 8 * i) for i, number in enumerate(first))
    return str(ipaddress.IPv4Address(value))


def is_address(host: str) -> bool:
    """Whether a host in its one form is an IP address, below which there is nothing."""
    return host.startswith("[") or host.rpartition(".")[2].isdecimal()


def with_parents(host: str) -> list[str]:
    """The host and every domain above it, the longest first; an address alone."""
    if is_address(host):
        return [host]
    names = [host]
    while (at := names[-1].find(".")) >= 0:
        names.append(names[-1][at + 1 :])
    return names


def is_public_suffix(host: str) -> bool:
    """Whether anybody may register names directly below it: `co.uk`, `github.io`, and any top-level name."""
    return not is_address(host) and _suffixes().privatesuffix(host) is None


def registered_domain(host: str) -> str:
    """The domain that was registered: one name more than its public suffix; an address or a suffix is its own."""
    return host if is_address(host) else _suffixes().privatesuffix(host) or host


def parse_site(words: str) -> Site:
    """What a line of a list asks for. Raises ConfigError with what is wrong and what to write."""
    if (found := _URL.fullmatch(words)) is not None:
        return _url_prefix(words, found)
    marked = words.startswith(MARK)
    name = words.removeprefix(MARK)
    if "/" in name or "?" in name:
        raise ConfigError(f"{described(words)} is neither a domain nor a URL; write https:// before it")
    if "@" in name:
        raise ConfigError(f"{described(words)} has an @, expected a domain such as example.org")
    if re.search(r":[0-9]*$", name) and not name.startswith("["):
        raise ConfigError(f"{described(words)} has a port, expected a domain; write http://{name}/ for that port alone")
    host = canonical_host(name)
    if host is None or not (is_address(host) or _PLAIN.fullmatch(host)):
        raise ConfigError(f"{described(words)} is no domain; write one such as example.org")
    if marked and not is_public_suffix(host):
        raise ConfigError(
            f"{described(words)}: {host} is no public suffix; write {host}, which stands for all below it"
        )
    if not marked and is_public_suffix(host):
        raise ConfigError(
            f"{described(words)} is a public suffix, below which anybody has domains; write {MARK}{host} if all of "
            "them are meant"
        )
    return Site(host)


def _url_prefix(words: str, found: re.Match[str]) -> Site:
    if found["scheme"].lower() not in ("http", "https", "ftp"):
        raise ConfigError(f"{described(words)}: expected http, https or ftp, found {described(found['scheme'])}")
    if "@" in found["authority"]:
        raise ConfigError(f"{described(words)} names a user; leave everything up to the @ out")
    if "#" in found["rest"]:
        raise ConfigError(
            f"{described(words)} has a fragment, which is no part of what was fetched; leave # and more out"
        )
    place = _HOST_PORT.fullmatch(found["authority"])
    host = canonical_host(place["host"]) if place else None
    if place is None or host is None:
        raise ConfigError(f"{described(words)} has no host; write one such as https://example.org/path")
    port = (place["port"] or "").lstrip("0")
    return Site(host, "" if port in DEFAULT_PORTS else port, found["rest"])
