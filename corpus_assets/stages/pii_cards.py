"""Payment cards among groups of digits: issuer prefix, length, grouping as printed, Luhn.

Prefixes and lengths as the schemes publish them under ISO/IEC 7812.
"""

from itertools import pairwise

from stdnum import luhn

from corpus_assets.stages.pii_patterns import WORD_BYTES, Group, byte_at, compiled

_ISSUERS: tuple[tuple[int, int, tuple[int, ...]], ...] = (
    (4, 4, (13, 16, 19)),  # Visa
    (51, 55, (16,)),  # Mastercard
    (2221, 2720, (16,)),
    (34, 34, (15,)),  # American Express
    (37, 37, (15,)),
    (300, 305, (14, 16)),  # Diners Club
    (3095, 3095, (14, 16)),
    (36, 36, (14, 16)),
    (38, 39, (14, 16)),
    (6011, 6011, (16, 19)),  # Discover
    (644, 659, (16, 19)),
    (3528, 3589, (16,)),  # JCB
    (2131, 2131, (15,)),
    (1800, 1800, (15,)),
    (62, 62, (16, 17, 18, 19)),  # UnionPay
    (2200, 2204, (16,)),  # Mir
    (50, 50, (12, 13, 14, 15, 16, 19)),  # Maestro
    (56, 58, (12, 13, 14, 15, 16, 19)),
    (6304, 6304, (12, 13, 14, 15, 16, 19)),
    (67, 67, (12, 13, 14, 15, 16, 19)),
)
_GROUPINGS = ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (6, 13), *((size,) for size in range(12, 20)))
_GROUPINGS_BY_FIRST = {first: [g for g in _GROUPINGS if g[0] == first] for first in {g[0] for g in _GROUPINGS}}


def is_card(number: str) -> bool:
    """Whether the digits have an issuer's prefix, a length it uses, and a right Luhn digit."""
    if not 12 <= len(number) <= 19:
        return False
    known = any(low <= int(number[: len(str(low))]) <= high and len(number) in sizes for low, high, sizes in _ISSUERS)
    return known and bool(luhn.is_valid(number))


def card(text: bytes, groups: list[Group], at: int) -> int:
    """How many groups, from `at` on, are a card number as cards are printed; 0 for none."""
    for lengths in _GROUPINGS_BY_FIRST.get(groups[at][1] - groups[at][0], ()):
        span = groups[at : at + len(lengths)]
        if [e - s for s, e in span] != [*lengths]:
            continue
        gaps = {text[a[1] : b[0]] for a, b in pairwise(span)}
        number = b"".join(text[s:e] for s, e in span).decode("ascii")
        alike = gaps <= {b" "} or gaps <= {b"-"}
        if alike and is_card(number) and _card_may_stand(text, span[0][0], span[-1][1]):
            return len(lengths)
    return 0


_CARD_NAME = compiled(
    r"(?i)(?:(?:card|kreditkarte|tarjeta|carte|visa|mastercard|amex)|(?:\b|_)(?:ccn?|pan))"
    r"(?:[ _.-]?(?:number|num|no|nr|nummer|n))?[\"']?=\z"
)
"""What a card's number may touch by an equals sign."""


def _card_may_stand(text: bytes, start: int, end: int) -> bool:
    """No word, decimal or hyphenated part touches the number."""
    before, after = byte_at(text, start - 1), byte_at(text, end)
    if before in WORD_BYTES or before in b".-+#$/\\":
        return False
    if before == 0x3D and not _CARD_NAME.search(text[max(0, start - 32) : start]):
        return False
    return after not in WORD_BYTES and not (after in b".-/" and byte_at(text, end + 1) in WORD_BYTES)
