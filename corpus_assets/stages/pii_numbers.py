"""Cards and phones among digits: a run of digits and gaps is cut into groups; cards are taken first, then phones.

Cards: issuer prefix, length, grouping as printed, Luhn. Phones: in international form and valid anywhere; or with a
context word such as "Phone:" close by; or, in prose, written with gaps and valid in one of the rules' regions.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import phonenumbers
from phonenumbers import PhoneNumberType
from stdnum import isbn, luhn

from corpus_assets.stages.pii_patterns import DIGIT_BYTES, PLACEHOLDERS, WORD_BYTES, Hit, PiiRules, byte_at, compiled
from formats.errors import ConfigError

Group = tuple[int, int]
_GROUP = compiled(r"[0-9]+")


def digits(text: bytes, start: int, end: int, rules: PiiRules) -> list[Hit]:
    """Cards and phones of one run of digits, in time linear in the run."""
    groups = [match.span() for match in _GROUP.finditer(text, start, end)]
    hits: list[Hit] = []
    rest: list[Group] = []
    free = 0
    for at, group in enumerate(groups):
        if at < free:
            continue
        num_groups = _card(text, groups, at) if group[1] - group[0] in _GROUPINGS_BY_FIRST else 0
        if num_groups:
            hits += _phones(text, rest, rules)
            rest = []
            free = at + num_groups
            hits.append(("card", group[0], groups[free - 1][1]))
        else:
            rest.append(group)
    return hits + _phones(text, rest, rules)


def wide_digits(text: bytes, start: int, end: int, rules: PiiRules) -> list[Hit]:
    """As `digits`, for full-width digits and signs: judged as their ASCII twins, with their neighbours."""
    low, high = max(0, start - CONTEXT_BYTES), min(len(text), end + 16)
    while low < start and text[low] & 0xC0 == 0x80:
        low += 1
    while high > end and byte_at(text, high) & 0xC0 == 0x80:
        high -= 1
    narrow, origin = bytearray(), []
    at = low
    for character in text[low:high].decode("utf-8"):
        code = ord(character)
        twin = chr(code - 0xFEE0) if 0xFF01 <= code <= 0xFF5E else " " if code == 0x3000 else character
        encoded = twin.encode("utf-8")
        narrow += encoded
        origin += [at] * len(encoded)
        at += len(character.encode("utf-8"))
    origin.append(at)
    first = next(i for i, place in enumerate(origin) if place >= start)
    last = next(i for i in range(first, len(origin)) if origin[i] >= end)
    return [(kind, origin[s], origin[e]) for kind, s, e in digits(bytes(narrow), first, last, rules)]


# Cards. Prefixes and lengths as the schemes publish them under ISO/IEC 7812.

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


def _card(text: bytes, groups: list[Group], at: int) -> int:
    """How many groups, from `at` on, are a card number as cards are printed; 0 for none."""
    for lengths in _GROUPINGS_BY_FIRST[groups[at][1] - groups[at][0]]:
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


# Phones

CONTEXT_BYTES = 40
"""How far before a number its context word may stand."""
_CONTEXT = compiled(
    r"(?i)(?:\b|_)(?:(?:tele|cell|mobile|smart|home|work)?[ _-]?phone|cell(?:ular)?(?:[ _-]?(?:number|no)|:)|desk:|fax"
    r"|mobile|mobil|tel|telefon|telefono|telefone|telefoon|puhelin|handy|whatsapp|hotline|msisdn|t\xc3\xa9l(?:\xc3\xa9phone)?"
    r"|tel\xc3\xa9fono|m\xc3\xb3vil)(?:s|nummer)?(?:[ _.-]{0,2}(?:number|num|no|nr|n))?(?:\b|_)"
    r"|\xd1\x82\xd0\xb5\xd0\xbb|\xe7\x94\xb5\xe8\xaf\x9d|\xe9\x9b\xbb\xe8\xa9\xb1|\xe6\x89\x8b\xe6\x9c\xba"
)
"""Words that make a number of 7 to 15 digits a phone, gaps or none (also in Russian, Chinese, Japanese)."""
_VERB = compiled(
    r"(?i)\b(?:call|calls|calling|dial|contact|reach|reached|text|ring|answering|messages|office|registered)\b"
)
"""Words that do so where the number is written with gaps."""
_LABEL_AFTER = compiled(r"(?i)[ -]{1,2}\(?(?:office|fax|mobile|cell|home|work|desk|phone|tel)\b")
_EXTENSION = compiled(r"(?i) ?(?:x|ext\.?|extension) ?[0-9]{1,6}")
_OTHER_NUMBER_BEFORE = compiled(
    r"(?i)(?:\b(?:isbn|issn|doi|pmid|arxiv|order|invoice|ref|case|ticket|serial|sku|ean|upc|account|acct|id|bug|issue|rfc|zip)"
    r"[ :.#=_-]{0,3}(?:(?:no|nr|number|num|id)[ :.#=]{0,3})?|0x|[#$%&@~^*\\]|\xc2[\xa3\xa5\xa7]|\xe2\x82\xac)[ ]?\z"
)
_ACCOUNT_BEFORE = compiled(r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{1,4})* ?\z")
"""The head of an IBAN."""
_NO_PHONE = compiled(
    r"(?:1[5-9]|20)[0-9]{2}[-/. ](?:0?[1-9]|1[0-2])[-/. ](?:0?[1-9]|[12][0-9]|3[01])(?:[^0-9].*)?"  # 2024-01-15 12
    r"|(?:0?[1-9]|[12][0-9]|3[01])[-/.](?:0?[1-9]|[12][0-9]|3[01])[-/.](?:1[5-9]|20)[0-9]{2}(?:[^0-9].*)?"  # 15.01.2024
    r"|(?:1[5-9]|20)[0-9]{2}.{1,3}(?:1[5-9]|20)[0-9]{2}"  # 1914-1918
    r"|[0-9]+\.[0-9]+|[0-9]\.[0-9].*"  # decimals, several in a row too
    r"|[0-9]{3}-[0-9]{2}-[0-9]{4}|[0-9]{5}-[0-9]{4}"  # US social security, ZIP + 4
    r"|[0-9]{1,3}(?:\.[0-9]{1,3}){2,3}(?:/[0-9]{1,2})?"  # versions, networks
    r"|[0-9]{1,3}(?:\.[0-9]{3})+|[1-9][0-9]{0,2}(?: 000)+|[1-9][0-9]{0,2}(?: [0-9]{3}){3,}"  # thousands
    r"|(?:[0-9][^0-9]{1,3}){3,}.*"  # 1 2 3 4
)
_LIST = compiled(r"[1-9][0-9]?(?:[ -][0-9]{1,2}){3,}|[1-9].*/.*")
"""Line numbers and ranges, where nothing else says that it is a phone."""
_US_SHAPE = compiled(
    r"(?:\+?1[-. ]?)?(?:\([2-9][0-9]{2}\) ?[0-9]{3}[-. ][0-9]{4}|[2-9][0-9]{2}(?:-[0-9]{3}-|\.[0-9]{3}\.)[0-9]{4})"
)
"""Nothing else is written so; area code 555 of the films is no valid number, yet it is meant as one."""
_COUNT_BEFORE = compiled(
    r"(?i)\b(?:lat|latitude|lon|long|lng|longitude|alt|altitude|elevation|population|einwohner|bev\xc3\xb6lkerung|umsatz|gewinn"
    r"|revenues?|turnover|budget|profits?|sales|total|totals|sum|count|amount|amounts|anzahl|summe|insgesamt|bytes|size)"
    r"(?:[ ](?:of|is|was|von|about|rund|ca\.?|war|betrug))?[ :=.]{0,3}\z"
)
_COUNT_AFTER = compiled(
    r"(?i)(?:\xc2\xa0| )?(?:%|\xe2\x82\xac|\$|\xc2\xa3|(?:people|persons?|inhabitants|residents|citizens|voters|users"
    r"|members|visitors|copies|units|items|pieces|times|records|rows|words|tokens|dollars?|euros?|eur|usd|pounds|yen|rupees|francs"
    r"|kronen|mark|bytes|kb|mb|km|kg|tonnes|tons|meters|metres|miles|acres|hectares|votes|shares|st\xc3\xbcck|einwohner|menschen|personen"
    r"|stimmen|mal|tonnen|habitants|personnes|habitantes|personas|euro|abitanti|persone|habitantes|pessoas)\b)"
)
"""What makes a number with blanks alone in it a count, unless its name says that it is a phone."""
_MAY_OMIT_PREFIX = ("BR", "IN")
"""Where a number is mostly written without the 0 that is dialled before it, and formatted with it."""
_KINDS = {
    "fixed_line": PhoneNumberType.FIXED_LINE,
    "mobile": PhoneNumberType.MOBILE,
    "toll_free": PhoneNumberType.TOLL_FREE,
    "premium_rate": PhoneNumberType.PREMIUM_RATE,
    "shared_cost": PhoneNumberType.SHARED_COST,
    "personal_number": PhoneNumberType.PERSONAL_NUMBER,
    "voip": PhoneNumberType.VOIP,
    "pager": PhoneNumberType.PAGER,
    "uan": PhoneNumberType.UAN,
    "voicemail": PhoneNumberType.VOICEMAIL,
}
"""The kinds of number in phonenumbers' metadata: every valid number is of one of them."""
_SENTENCE_GAPS = (b"  ", b" - ", b"- ", b" -", b" /", b"/ ", b" .", b". ", b"\xe2\x80\x93", b"--", b"..", b"//")


def _phones(text: bytes, groups: list[Group], rules: PiiRules) -> list[Hit]:
    """The run's units that are phones; else, piece by piece, what stands between single blanks."""
    hits: list[Hit] = []
    for unit in _units(text, groups, _ends_unit):
        hit = _phone(text, unit, rules)
        if hit:
            hits.append(hit)
            continue
        pieces = _units(text, unit, lambda gap: b" " in gap) if len(unit) > 1 else []
        for piece in pieces if len(pieces) > 1 else ():
            if piece[-1][1] - piece[0][0] >= 7 and (hit := _phone(text, piece, rules)):
                hits.append(hit)
    return hits


def _units(text: bytes, groups: list[Group], ends: Callable[[bytes], bool]) -> list[list[Group]]:
    """The groups, cut at the gaps that end a unit."""
    units: list[list[Group]] = []
    unit: list[Group] = []
    for group in groups:
        if unit and ends(text[unit[-1][1] : group[0]]):
            units.append(unit)
            unit = []
        unit.append(group)
    return [*units, unit] if unit else units


def _ends_unit(gap: bytes) -> bool:
    """Whether no number is written across the gap."""
    return len(gap) > 1 and any(cut in gap for cut in _SENTENCE_GAPS)


def _phone(text: bytes, unit: list[Group], rules: PiiRules) -> Hit | None:
    size = sum(e - s for s, e in unit)
    if not 7 <= size <= 17 or len(unit) > 8:
        return None
    start, end = unit[0][0], unit[-1][1]
    written = text[start:end]
    if byte_at(text, start - 1) == 0x28 and b")" in written:
        start -= 1
    plus = byte_at(text, start - 1) == 0x2B
    start -= plus
    international = plus or written.startswith(b"00")
    if not plus and _NO_PHONE.fullmatch(written):
        return None
    shape = text[start:end]
    before = text[_context_start(text, start) : start]
    around = before + text[end : end + 16]
    in_words = not around.isascii() or around.upper() != around.lower()  # in a table of numbers there is no context
    labelled = named = False
    if in_words:
        extension = _EXTENSION.match(text, end, end + 16)
        if extension and byte_at(text, extension.end()) not in WORD_BYTES:
            end = extension.end()
        for placeholder in PLACEHOLDERS if b"<" in before else ():
            before = before.replace(placeholder, b"")
        labelled = bool(_LABEL_AFTER.match(text, end, end + 16))
        named = labelled or bool(_CONTEXT.search(before))
    if not _phone_may_stand(text, start, end, named, labelled):
        return None
    number = b"".join(text[s:e] for s, e in unit)
    hit = ("phone", start, end)
    if international:
        known = _is_international(number.decode("ascii").removeprefix("" if plus else "00"))
        return hit if known or (named and size <= 15) or _US_SHAPE.fullmatch(shape) else None
    if _OTHER_NUMBER_BEFORE.search(before[-24:]) or (in_words and _ACCOUNT_BEFORE.search(before)):
        return None
    if named:
        return hit if size <= 15 else None
    if len(unit) == 1 or _is_isbn(number, unit) or (in_words and _is_count(text, start, end, before)):
        return None
    if in_words and _VERB.search(before):
        return hit
    if rules.code or _LIST.fullmatch(written):
        return None
    us_shape = "US" in rules.phone_regions and _US_SHAPE.fullmatch(shape)
    return hit if us_shape or _local_numbers(rules.phone_regions).fullmatch(number) else None


def _is_count(text: bytes, start: int, end: int, before: bytes) -> bool:
    """Whether nothing but blanks parts the digits, and the word beside them says what was counted or measured."""
    if text[start:end].translate(None, b"0123456789 \xc2\xa0"):
        return False
    return bool(_COUNT_BEFORE.search(before) or _COUNT_AFTER.match(text, end, end + 16))


def _context_start(text: bytes, start: int) -> int:
    """CONTEXT_BYTES before `start`, or after a placeholder that would be cut there: half of <PHONE> is a word."""
    low = max(0, start - CONTEXT_BYTES)
    for placeholder in PLACEHOLDERS:
        at = text.find(placeholder, max(0, low - len(placeholder) + 1), min(start, low + len(placeholder)))
        if 0 <= at < low:
            return at + len(placeholder)
    return low


def _is_isbn(number: bytes, unit: list[Group]) -> bool:
    """Whether the groups are a book's number: its check digit stands alone in the short form."""
    start, end = unit[-1]
    if len(number) == 10 and end - start > 1:
        return False
    return len(number) in (10, 13) and bool(isbn.is_valid(number.decode("ascii")))


def _phone_may_stand(text: bytes, start: int, end: int, named: bool, labelled: bool) -> bool:
    """No word, decimal, time, path or hyphenated part touches the number; its name may ("Tel.", "tel=")."""
    before, after = byte_at(text, start - 1), byte_at(text, end)
    if before in WORD_BYTES or (before in b".,:" and byte_at(text, start - 2) in DIGIT_BYTES):
        return False
    if before in b"./\\=-+" and not (named and before in b".=-" and byte_at(text, start - 2) not in DIGIT_BYTES):
        return False
    follows = byte_at(text, end + 1)
    if after in WORD_BYTES or after in b"%@" or (after in b".,:/+=" and follows in DIGIT_BYTES):
        return False
    return after != 0x2D or labelled or follows not in WORD_BYTES


@cache
def _local_numbers(regions: tuple[str, ...]) -> Any:
    """One RE2 of the digits of every valid number of the regions, as written there (with the 0 dialled before it).

    Raises ConfigError for a region that phonenumbers does not know.
    """
    forms = ["[^0-9]"]  # no regions: nothing matches
    for region in regions:
        metadata = phonenumbers.PhoneMetadata.metadata_for_region(region)
        if metadata is None:
            raise ConfigError(f"phone region {region!r} is not known; give ISO 3166 codes such as US, GB, FR")
        prefix = metadata.national_prefix or ""
        for kind, number_type in _KINDS.items():
            example = phonenumbers.example_number_for_type(region, number_type)
            if example is not None:
                national = phonenumbers.format_number(example, phonenumbers.PhoneNumberFormat.NATIONAL)
                must = national.lstrip("(").startswith(prefix) and region not in _MAY_OMIT_PREFIX
                pattern = getattr(metadata, kind).national_number_pattern
                forms.append(f"(?:{prefix}){'' if must else '?'}(?:{pattern})")
    return compiled("|".join(forms))


def _is_international(number: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse("+" + number))
    except phonenumbers.NumberParseException:
        return False
