"""What a candidate really is: each validator gets the text and a pattern's match, and returns the spans to replace.

A validator is called on hits only, looks at a bounded piece around its match, and uses RE2 like the patterns do. RE2
has no lookaround, so what may stand before and after a span is decided here.
Cards and phones are found from pii_numbers.py on, keys in pii_keys.py and pii_private_keys.py.
"""

import ipaddress
from collections.abc import Callable

from corpus_assets.stages.pii_keys import line_secret, named_secret, token, url_password
from corpus_assets.stages.pii_numbers import digits, wide_digits
from corpus_assets.stages.pii_patterns import (
    AT_SIGN,
    DIGIT_BYTES,
    WORD_BYTES,
    Hit,
    PiiRules,
    byte_at,
    compiled,
    has_any,
)
from corpus_assets.stages.pii_private_keys import private_key, putty_key
from corpus_assets.stages.site_names import top_level_domains

Validator = Callable[[bytes, int, int, PiiRules], list[Hit]]


# E-mail addresses

_FILE_ENDINGS = frozenset(
    b"png jpg jpeg gif svg webp ico css js jsx ts tsx json html htm xml yml yaml txt pdf gz php cpp hpp exe dll".split()
)
_LABEL = compiled(r"[A-Za-z0-9\x80-\xff](?:[A-Za-z0-9\x80-\xff-]{0,61}[A-Za-z0-9\x80-\xff])?")
_URL_USER = compiled(r"://[^\s/:@\"'<>]*:\z")
_TOP_LEVEL = compiled(r"(?:[A-Za-z]{2,24}|xn--[A-Za-z0-9-]{2,59})")
_AT_SIGN = compiled(AT_SIGN)
_RESERVED = frozenset(("example", "test", "invalid", "local", "internal", "onion", "alt"))
"""Top levels that no registry gives out and that addresses are written with (RFC 2606, 6762, 7686, 9476)."""


def email(text: bytes, start: int, end: int, rules: PiiRules) -> list[Hit]:
    """name@domain with an alphabetic top level; `icon@2x.png`, `pkg@1.2.3`, `git@host:path` and `q@k.sum()` are none.

    In code the top level is one that there is: `a@b.T` multiplies.
    """
    sign = _AT_SIGN.search(text, start, end)
    at, behind = sign.span()
    while start < at and text[start] in b".'%+-":
        start += 1
    name, labels = text[start:at], text[behind:end].split(b".")
    while len(labels) > 1 and not _TOP_LEVEL.fullmatch(labels[-1]):
        labels.pop()
    domain = b".".join(labels)
    if len(labels) < 2 or len(domain) > 253 or any(not _LABEL.fullmatch(label) for label in labels):
        return []
    if labels[-1].lower() in _FILE_ENDINGS or all(label.isdigit() for label in labels[:-1]):
        return []
    stop = behind + len(domain)
    if byte_at(text, stop) == 0x28 or (rules.code and not _is_top_level(labels[-1])):
        return []
    if not 0 < len(name) <= 64 or name[-1:] in b".+-" or b".." in name or name == b"git":
        return []
    if byte_at(text, start - 1) == 0x3A and _URL_USER.search(text[max(0, start - 60) : start]):
        return []  # a placeholder of a URL's password: what is none was taken before
    return [("email", start, stop)]


def _is_top_level(label: bytes) -> bool:
    name = label.decode("ascii").lower()
    return name in _RESERVED or name in top_level_domains()


# IP addresses

_NUMBERING = compiled(
    r"(?i)(?:version|ver|release|rev|build|section|sec|chapter|clause|rule|table|fig|figure|oid|=|\xc2\xa7)\.? ?\z"
)
_SOFTWARE = compiled(
    r"(?i)\b(?:python|pypy|java|jdk|jre|openjdk|nodejs|node\.js|ruby|rails|perl|php|golang|rust|gcc|clang|llvm|kotlin|scala|log4j2?"
    r"|mysql|mariadb|postgres(?:ql)?|sqlite|oracle|db2|mongodb|redis|elasticsearch|kafka|hadoop|nginx|tomcat|jetty|jenkins|gitlab"
    r"|firefox|chrome|chromium|safari|opera|thunderbird|webkit|gecko|android|ios|ipados|macos|windows|linux|ubuntu|debian"
    r"|fedora|centos|rhel|kernel|django|flask|hibernate|angular|docker|kubernetes|openssl|openssh|zlib|boost|qt|cmake|bash"
    r"|excel|acrobat|photoshop|flash|firmware|bios|patch|hotfix|upgraded? to|updated? to|versions?"
    r"|releases?|sdk|ndk|sections?|chapters?|paragraphs?|abschnitt|kapitel)"
    r"[ _-]?(?:(?:db|community|enterprise|esr|lts|version)[ -]?)?\z"
)
"""What a number of four parts behind it is a version or a section of."""
_VERSION_AFTER = compiled(
    r"(?i),? (?:(?:or|and) (?:later|newer|above|higher|earlier|older|below|up)|release|beta|alpha|rc[0-9]?|esr|lts)\b"
)
_NETWORK = compiled(
    r"(?i)\b(?:ip|ips|ipv4|address|addresses|addr|host|hosts|server|servers|dns|nameserver|ping|traceroute|whois|ssh|curl|gateway"
    r"|router|port|proxy|from|client|peer|block|blocked|ban|banned|connect|connected|connection|request|login|attack|attacker)\b"
)
_WORD_BEFORE = compiled(r"[A-Za-z\x80-\xff)][,:;]? \z")
_EMBEDDED = compiled(r"(?i)(?:\A|[^0-9a-z_:.])(::(?:ffff:(?:0:)?)?|64:ff9b::)\z")
"""The head of an IPv6 address that holds an IPv4 address (RFC 4291, 6052)."""
_NOT_PUBLIC: dict[int, list[ipaddress.IPv4Network] | list[ipaddress.IPv6Network]] = {
    4: [
        ipaddress.IPv4Network(block)
        for block in (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
        )
    ],
    6: [
        ipaddress.IPv6Network(block)
        for block in (
            *("::/8", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16"),
            *("3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "ff00::/8"),
        )
    ],
}
"""Private, local, shared, documentation and multicast blocks: IANA's special-purpose registries, written down here
because the standard library's own answer changes with the version of Python.
"""
_HOLD_IPV4 = (ipaddress.IPv6Network("::ffff:0:0/96"), ipaddress.IPv6Network("64:ff9b::/96"))
_HEADING = compiled(r" {1,3}[A-Z][a-z]")


def ipv4(text: bytes, start: int, end: int, rules: PiiRules) -> list[Hit]:
    """Four parts, and no version, section number, OID or part of a longer number; public, unless the rules say all."""
    before, after = byte_at(text, start - 1), byte_at(text, end)
    parts = text[start:end].split(b".")
    if any(int(part) > 255 or (len(part) > 1 and part[0] == 0x30) for part in parts):
        return []
    follows = byte_at(text, end + 1)
    if before in WORD_BYTES or before in b".-+" or after in WORD_BYTES:
        return []
    if (after in b".+" and follows in WORD_BYTES) or (after == 0x2D and follows in WORD_BYTES - DIGIT_BYTES):
        return []
    embedded = _EMBEDDED.search(text[max(0, start - 14) : start])
    if embedded:
        return [("ip", start - len(embedded.group(1)), end)] if _ip(text, start, end, rules) else []
    context = text[max(0, start - 40) : start]
    product = before == 0x2F and byte_at(text, start - 2) in WORD_BYTES  # Chrome/1.2.3.4
    if product or (_NUMBERING.search(context[-14:]) and not _NETWORK.search(context)):
        return []
    network = text[start - 3 : start] == b"://" or (after in b":/" and follows in DIGIT_BYTES)
    if not network and _SOFTWARE.search(context[-36:]):
        return []
    if not network and not _NETWORK.search(context) and not text.startswith(b" - ", end):
        if _VERSION_AFTER.match(text, end, end + 20):
            return []
        numbers = [int(part) for part in parts]
        line_start = byte_at(text, start - 1) in b"\n\0"
        if max(numbers) < 30 and _WORD_BEFORE.search(context[-4:]):
            return []  # sections and versions: one address in 5,000 is so low
        if max(numbers) < 10 or (max(numbers) < 30 and line_start and _HEADING.match(text, end, end + 8)):
            return []
    return _ip(text, start, end, rules)


def ipv6(text: bytes, start: int, end: int, rules: PiiRules) -> list[Hit]:
    """Eight groups or `::`, with five hex digits and a decimal one at least: no C++ name, time or MAC address."""
    while end > start and text[end - 1] in b".:" and text[end - 2 : end] != b"::":
        end -= 1
    if text[start - 2 : start] == b"::" and text[start : start + 5].lower() == b"ffff:":
        start -= 2
    value = text[start:end]
    if len(value) > 45 or (b"::" not in value and value.count(b":") != 7):
        return []
    if len(value) - value.count(b":") < 5 or not has_any(value, b"0123456789"):
        return []
    if byte_at(text, start - 1) in WORD_BYTES or byte_at(text, start - 1) in b":.-" or byte_at(text, end) in WORD_BYTES:
        return []
    return _ip(text, start, end, rules)


def _ip(text: bytes, start: int, end: int, rules: PiiRules) -> list[Hit]:
    try:
        address = ipaddress.ip_address(text[start:end].decode("ascii"))
    except ValueError:
        return []
    if isinstance(address, ipaddress.IPv6Address) and any(address in network for network in _HOLD_IPV4):
        address = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if rules.ips == "public" and any(address in network for network in _NOT_PUBLIC[address.version]):
        return []
    return [("ip", start, end)]


VALIDATORS: dict[str, Validator] = {
    function.__name__: function
    for function in (
        *(private_key, putty_key, url_password, token, named_secret, line_secret),
        *(email, ipv6, ipv4, digits, wide_digits),
    )
}
