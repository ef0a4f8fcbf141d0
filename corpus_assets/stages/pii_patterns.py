r"""Where personal data may be: one RE2 pattern each, over UTF-8 bytes. Validators decide (pii_validators.py).

A pattern only finds candidates, so it is wide and flat: no captures, no optional long tail, no context. RE2 keeps
every search linear. Patterns are ASCII text with \x escapes and mean single bytes (Latin-1 mode); \xc3-\xc9 with a
continuation byte is a Latin letter with a diacritic. The order is the order of precedence: an earlier pattern wins.
"""

from dataclasses import dataclass

import re2

from corpus_assets.kernels.pii_candidates import Needs
from formats.stage_tables import PII_KINDS

PLACEHOLDER = {kind: f"<{kind.upper()}>".encode("ascii") for kind in PII_KINDS}
PLACEHOLDERS = tuple(PLACEHOLDER.values())
DIGIT_BYTES = frozenset(b"0123456789")
WORD_BYTES = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")

Hit = tuple[str, int, int]
"""(kind, start, end): bytes [start, end) of the text are of that kind (formats.stage_tables.PII_KINDS)."""
Group = tuple[int, int]
"""(start, end) of digits without a gap."""


@dataclass(frozen=True)
class PiiRules:
    """What a source's config sets. `code`: a local phone number needs a context word, whatever its form."""

    ips: str
    phone_regions: tuple[str, ...]
    code: bool


def compiled(pattern: str) -> "re2._Regexp":
    """An RE2 over bytes: one byte is one character, so that offsets are byte offsets."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return re2.compile(pattern.encode("ascii"), options=options)


def byte_at(text: bytes, at: int) -> int:
    """The byte there, 0 outside the text."""
    return text[at] if 0 <= at < len(text) else 0


def has_any(value: bytes, of: bytes) -> bool:
    return any(byte in of for byte in value)


@dataclass(frozen=True)
class Pattern:
    """`name` also names its validator. A text that lacks what the pattern `needs` (when given) holds no candidate."""

    name: str
    regex: str
    needs: Needs | None = None


_DIGIT_GAP = r"(?:[ .()/-]|\xc2\xa0|\xe2\x80[\x90-\x93\xaf]){0,3}"
_WIDE_DIGIT = r"(?:[0-9]|\xef\xbc[\x90-\x99])"
_WIDE_GAP = r"(?:[ .()/-]|\xef\xbc[\x88\x89\x8d\x8e\x8f]|\xe3\x80\x80){0,3}"
_NAME = r"(?:[A-Za-z0-9._%+'-]|[\xc3-\xc9][\x80-\xbf])+"
AT_SIGN = "(?:@|&#0{0,3}64;|&#[xX]0{0,3}40;|&commat;)"
"""Or the sign's character reference in HTML."""
_LABEL = r"(?:[A-Za-z0-9-]|[\xc3-\xc9][\x80-\xbf])+"

_TOKENS = (
    r"(?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA|ABIA|ACCA)[A-Z2-7]{16}",  # AWS
    r"gh[oprsu]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255}",
    r"gl(?:pat|ptt|dt|rt|soat|cbt|imt|agent)-[A-Za-z0-9_-]{20,}",  # GitLab
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}|hooks\.slack\.com/services/[A-Za-z0-9/]{30,}",
    r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,}",
    r":AA[A-Za-z0-9_-]{33}",  # Telegram, behind a number
    r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}",  # Stripe
    r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",  # Square, Shopify
    r"AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{28}",  # Google
    r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}|xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}",  # SendGrid, Brevo
    r"[0-9a-f]-us[0-9]{1,2}",  # Mailchimp, behind 31 digits more
    r"(?:SK|AC)[0-9a-f]{32}",  # Twilio
    r"npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|rubygems_[0-9a-f]{48}|dckr_pat_[A-Za-z0-9_-]{27}",
    r"sk-[A-Za-z0-9_-]{20,}|gsk_[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{37}|pplx-[A-Za-z0-9]{40,}|hf_[A-Za-z0-9]{30,}",
    r"do[opr]_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}|hv[sb]\.[A-Za-z0-9_-]{24,}|NRAK-[A-Z0-9]{27}",
    r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|lin_api_[A-Za-z0-9]{40}|ntn_[A-Za-z0-9]{40,}|figd_[A-Za-z0-9_-]{40,}",
    r"ATATT3[A-Za-z0-9_=-]{100,}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|LTAI[A-Za-z0-9]{16,24}|AKC[A-Za-z0-9]{64,}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
    r"(?:Bearer|Basic) [A-Za-z0-9._~+/-]{16,}={0,2}",  # of HTTP's Authorization
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",  # JSON Web Token
)
_SECRET_NAMES = (
    r"passw(?:or)?d|passphrase|passwd|pwd|secret|secret[_-]?(?:key|value)s?|token|api[_-]?key|access[_-]?key(?:[_-]?id)?"
    r"|(?:auth|private|priv|encryption|service|account|client|master|signing|db|database|session)[_-]?key"
    r"|client[_-]?secret|credentials?"
    r"|contrase(?:n|\xc3\xb1)a|senha|mot[_-]?de[_-]?passe|pass?wort|kennwort"
)
_WEAK_NAMES = r"\bkey"
"""Only where the value could be nothing but a key."""

PATTERNS = (
    Pattern("private_key", r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", Needs.BEGIN),
    Pattern("putty_key", r"Private-Lines: [0-9]{1,4}", Needs.NAMED),
    Pattern("url_password", r"://[^\s/:@\"'<>]{0,128}:[^\s/@\"'<>]{1,256}@", Needs.LOGIN),
    Pattern("token", "|".join(_TOKENS)),
    Pattern("named_secret", rf"(?i)(?:{_SECRET_NAMES}|{_WEAK_NAMES})[0-9]?[\"']?[ \t]{{0,4}}(?:=|:)", Needs.NAMED),
    Pattern("line_secret", r"[=:][ \t]{0,4}[\"']?[A-Za-z0-9+/_-]{32}", Needs.RANDOM),
    Pattern("email", rf"{_NAME}{AT_SIGN}{_LABEL}(?:\.{_LABEL})+", Needs.EMAIL),
    Pattern("ipv6", r"[0-9A-Fa-f]{1,4}:(?:[0-9A-Fa-f]{1,4}:|:)[0-9A-Fa-f:.]*", Needs.IPV6),
    Pattern("ipv4", r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}", Needs.IPV4),
    Pattern("digits", rf"\+?\(?[0-9](?:{_DIGIT_GAP}[0-9]){{6,}}", Needs.DIGITS),
    Pattern(
        "wide_digits",
        rf"(?:\+|\xef\xbc\x8b)?(?:\(|\xef\xbc\x88)?\xef\xbc[\x90-\x99](?:{_WIDE_GAP}{_WIDE_DIGIT}){{6,}}",
        Needs.WIDE_DIGIT,
    ),
)
