r"""Keys: the forms that their issuers document, and values that their name or their place says are secret.

Forms are RE2 alternatives over bytes (pii_patterns.py); what stands around a match, how random a value is and what its
name says is decided here, in a bounded piece of text.
"""

import math
from collections import Counter

from corpus_assets.stages.pii_patterns import WORD_BYTES, Hit, PiiRules, byte_at, compiled, has_any

MIN_QUOTED_MILLIBITS, MIN_BARE_MILLIBITS = 2_500, 3_000
MAX_NAME_BYTES, MAX_VALUE_BYTES = 60, 300
"""Of a line with a secret; less than what scrub_pii.py shows of a text whose hits it replaced."""
_HEADS = {b":AA": (10, compiled(r"[0-9]{8,10}\z")), b"-us": (31, compiled(r"[0-9a-f]{31}\z"))}
"""What stands before these: to ask for it in the pattern would double its cost, which runs of digits pay."""
_KINDS = (b"0123456789", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz")
_TAG = r"[ \t]{0,4}(?:>|!!binary)?[ \t]{0,4}"  # an arrow of PHP or Ruby, a tag of YAML
_QUOTED = compiled(_TAG + r"(?:[rbfu]?\"[^\"\\\s<>]{8,256}\"|[rbfu]?'[^'\\\s<>]{8,256}')")
_BARE = compiled(_TAG + r"[A-Za-z0-9+/=_.!#$%^&*~@-]{8,256}(?:[\s,;]|\z)")
_NO_SECRET_NAME = compiled(r"(?i)(?:hash|hashed|digest|public|csrf|next|page|pad|unk|bos|eos|sep|mask|cls)[_-]?\z")
_WEAK_NAME = compiled(r"(?i)(?:\A|[^A-Za-z0-9_-])key[0-9]?[\"']?[ \t]{0,4}[=:]\z")
MIN_STRONG_BYTES, MIN_STRONG_MILLIBITS = 24, 4_000
"""What can be nothing but a key under a name that may be one: so long, so random, letters of both cases and digits."""
MIN_RANDOM_BYTES, MIN_RANDOM_MILLIBITS = 32, 4_300
"""What is no word, name or placeholder, whatever letters stand in it by chance; `AKIA…EXAMPLE` and its like, too."""
_PLACEHOLDER = compiled(
    r"(?i)example|sample|dummy|change|placeholder|your|xxx|\*\*\*|\.\.\.|\$\{|\{\{|%\(|test|foo|secret|passw|kennw|token|none|null"
    r"|true|false|insert|redacted|https?:|localhost|user|admin|hidden|\(|\)"
)
_PLACEHOLDER_WORDS = compiled(
    r"(?i)(?:pass(?:w(?:or)?d)?|pwd|secret|token|user(?:name)?|name|admin|root|test|foo|bar|example|sample|dummy|change|null"
    r"|placeholder|insert|redacted|hidden|none|your|my|the|a|is|me|it|here|very|super|long|db|[0-9])+"
)
MIN_PHRASE_BYTES = 20
"""A password of a URL that is so long is a placeholder only where it consists of a placeholder's words."""
_SEQUENCE = compiled(r"(?i)abcdefgh|12345678")
_IDENTIFIER = compiled(
    r"[A-Za-z_]+(?:[-_./:][A-Za-z_]+)*|[a-z]+(?:[A-Z][a-z]*)*[0-9]?|[0-9.,_-]+|[/.~][A-Za-z0-9_./-]*"
)
_RANDOM = compiled(r"[A-Za-z0-9+/_-]+={0,2}")
_WORDS = compiled(r"(?:[A-Z]?[a-z]{2,}|[0-9]+[A-Za-z]?|[A-Z]+|[_/-])+")
"""CamelCaseNames2, paths and the like: a random string has single small letters."""
_LINE_NAME = compiled(
    r"[ \t]*(?:(?:export|set|-|const|let|var)[ \t]+)?[\"']?([A-Za-z_][A-Za-z0-9_.-]*)[\"']?[ \t]*[=:]"
)
_LINE_END = compiled(r"[\"']?[ \t]*[,;]?[ \t]*(?:(?:#|//)[^\n]*)?(?:\r?\n|\z)")
_OTHER_NAME = compiled(
    r"(?i)(?:\A|[_.-])(?:id|ids|uid|guid|uuid|hash|sha[0-9]*|md5|digest|checksum|sum|etag|integrity|sig|signature|public|pub|url|uri|path"
    r"|file|image|img|src|data|text|message|msg|expected|actual|result|encoded|decoded|output|input|version|commit|rev"
    r"|revision|nonce|fingerprint|cursor|class|alphabet|chars)(?:\z|[_.-])|(?:[a-z]I[dD]|Hash|Digest|Url|URL|Path)\z"
)
"""Names that say what the value is, and that it is no key."""


def url_password(text: bytes, start: int, end: int, _rules: PiiRules) -> list[Hit]:
    """The password alone of scheme://user:password@host."""
    colon = text.index(b":", start + 3, end)
    password = text[colon + 1 : end - 1]
    if byte_at(text, start - 1) not in WORD_BYTES or password[:1] in b"{$%[" or password == b"pass":
        return []
    is_phrase = len(password) >= MIN_PHRASE_BYTES and password.isalnum()
    if _PLACEHOLDER.search(password) and (not is_phrase or _PLACEHOLDER_WORDS.fullmatch(password)):
        return []
    return [("key", colon + 1, end - 1)]


def token(text: bytes, start: int, end: int, _rules: PiiRules) -> list[Hit]:
    """A key with its issuer's prefix, not a part of a longer word."""
    value = text[start:end]
    for name, (num_bytes, form) in _HEADS.items():
        if name in value[:4]:
            head = form.search(text[max(0, start - num_bytes) : start])
            if not head:
                return []
            start -= len(head.group())
    if byte_at(text, start - 1) in WORD_BYTES or byte_at(text, start - 1) == 0x2D or byte_at(text, end) in WORD_BYTES:
        return []
    if value.startswith((b"sk-", b"Bearer ", b"Basic ")):
        if not has_any(value, _KINDS[0]) or not has_any(value[1:], _KINDS[1]):
            return []  # class names of style sheets, words
        start += value.find(b" ") + 1
    return [("key", start, end)]


def named_secret(text: bytes, start: int, end: int, _rules: PiiRules) -> list[Hit]:
    """The value in `password = "…"`: random enough, no placeholder, no name of something else."""
    if _NO_SECRET_NAME.search(text[max(0, start - 12) : start]):
        return []
    is_weak = bool(_WEAK_NAME.search(text[max(0, start - 1) : end]))
    for form, least in ((_QUOTED, MIN_QUOTED_MILLIBITS), (_BARE, MIN_BARE_MILLIBITS)):
        match = form.match(text, end, end + 300)
        if not match:
            continue
        at, stop = match.span()
        piece = text[at:stop]
        if form is _QUOTED:
            stop -= 1
            at += piece.index(piece[-1:]) + 1
        else:
            stop = at + len(piece.rstrip(b" \t\r\n\f\v,;"))
            at += max(piece.rfind(b" ", 0, stop - at), piece.rfind(b"\t", 0, stop - at)) + 1
            at += text.startswith(b"!!binary", at) * len(b"!!binary") + text.startswith(b">", at)
        value = text[at:stop]
        if is_random(value):
            return [("key", at, stop)]
        if _PLACEHOLDER.search(value) or _IDENTIFIER.fullmatch(value) or entropy_millibits(value) < least:
            return []
        if is_weak and not _is_strong(value):
            return []
        return [("key", at, stop)]
    return []


def line_secret(text: bytes, start: int, _end: int, _rules: PiiRules) -> list[Hit]:
    """One random string as the whole of a line `name = value`, as in files of settings, unless its name says that it is
    something else.
    """
    begin = text.rfind(b"\n", max(0, start - MAX_NAME_BYTES), start) + 1
    if begin == 0 and start > MAX_NAME_BYTES:
        return []
    name = _LINE_NAME.fullmatch(text[begin : start + 1])
    value = _RANDOM.search(text, start + 1, start + MAX_VALUE_BYTES)
    if not name or _OTHER_NAME.search(name.group(1)) or not value or not is_random(value.group()):
        return []
    if not _LINE_END.match(text, value.end(), value.end() + MAX_VALUE_BYTES):
        return []
    return [("key", *value.span())]


def is_random(value: bytes) -> bool:
    """Whether a value is long and random in the alphabet of Base64, with letters of both cases and digits."""
    return (
        len(value) >= MIN_RANDOM_BYTES
        and bool(_RANDOM.fullmatch(value))
        and not (_SEQUENCE.search(value) or _WORDS.fullmatch(value))
        and all(has_any(value, kind) for kind in _KINDS)
        and entropy_millibits(value) >= MIN_RANDOM_MILLIBITS
    )


def _is_strong(value: bytes) -> bool:
    alone = not has_any(value, b" ./\\:#@%-_")  # no path, sentence, colour or name
    long = len(value) >= MIN_STRONG_BYTES and entropy_millibits(value) >= MIN_STRONG_MILLIBITS
    return alone and long and all(has_any(value, kind) for kind in _KINDS)


def entropy_millibits(value: bytes) -> int:
    """Shannon entropy of the bytes, in thousandths of a bit a byte."""
    counts = sorted(Counter(value).values())
    return round(1000 * sum(n * math.log2(len(value) / n) for n in counts) / max(1, len(value)))
