"""Cards and phones among digits: a run of digits and gaps is cut into groups, cards are taken first, then phone numbers.

Cards: issuer prefix, length, grouping as printed, Luhn. Phones: in international form and valid anywhere; or with a
context word such as "Phone:" close by; or, in prose, written with gaps and valid in one of the rules' regions.
"""

import phonenumbers
from stdnum import isbn, luhn

from corpus_assets.stages.pii_patterns import DIGIT_BYTES, PLACEHOLDERS, WORD_BYTES, Hit, PiiRules, byte_at, compiled

Group = tuple[int, int]
_GROUP = compiled(r"[0-9]+")


def digits(text: bytes, start: int, end: int, rules: PiiRules) -> list[Hit]:
    """Cards and phones of one run of digits, in time linear in the run."""
    groups = [match.span() for match in _GROUP.finditer(text, start, end)]
    hits: list[Hit] = []
    rest: list[Group] = []
    at = 0
    while at < len(groups):
        taken = _card(text, groups, at)
        if taken:
            hits += _phones(text, rest, rules)
            rest = []
            hits.append(("card", groups[at][0], groups[at + taken - 1][1]))
            at += taken
        else:
            rest.append(groups[at])
            at += 1
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
_GROUPINGS = ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (6, 13))


def is_card(number: str) -> bool:
    """Whether the digits have an issuer's prefix, a length it uses, and a right Luhn digit."""
    if not 12 <= len(number) <= 19:
        return False
    known = any(low <= int(number[: len(str(low))]) <= high and len(number) in sizes for low, high, sizes in _ISSUERS)
    return known and bool(luhn.is_valid(number))


def _card(text: bytes, groups: list[Group], at: int) -> int:
    """How many groups, from `at` on, are a card number as cards are printed; 0 for none."""
    for lengths in ((groups[at][1] - groups[at][0],), *_GROUPINGS):
        span = groups[at : at + len(lengths)]
        if tuple(e - s for s, e in span) != lengths or not 12 <= sum(lengths) <= 19:
            continue
        gaps = {text[a[1] : b[0]] for a, b in zip(span, span[1:], strict=False)}
        number = b"".join(text[s:e] for s, e in span).decode("ascii")
        alike = gaps <= {b" "} or gaps <= {b"-"}
        if alike and is_card(number) and _card_may_stand(text, span[0][0], span[-1][1]):
            return len(lengths)
    return 0


def _card_may_stand(text: bytes, start: int, end: int) -> bool:
    """No word, decimal or hyphenated part touches the number."""
    before, after = byte_at(text, start - 1), byte_at(text, end)
    if before in WORD_BYTES or before in b".-+#$/\\=":
        return False
    return after not in WORD_BYTES and not (after in b".-/" and byte_at(text, end + 1) in WORD_BYTES)


# Phones

CONTEXT_BYTES = 40
"""How far before a number its context word may stand."""
_CONTEXT = compiled(
    r"(?i)(?:\b|_)(?:(?:tele|cell|mobile|smart|home|work)?[ _-]?phone|cell(?:ular)?(?:[ _-]?(?:number|no)|:)|desk:|fax|mobile"
    r"|mobil|tel|telefon|telefono|telefone|telefoon|puhelin|handy|whatsapp|hotline|msisdn|t\xc3\xa9l(?:\xc3\xa9phone)?"
    r"|tel\xc3\xa9fono|m\xc3\xb3vil)(?:s|nummer)?(?:[ _.-]{0,2}(?:number|num|no|nr|n))?(?:\b|_)"
    r"|\xd1\x82\xd0\xb5\xd0\xbb|\xe7\x94\xb5\xe8\xaf\x9d|\xe9\x9b\xbb\xe8\xa9\xb1|\xe6\x89\x8b\xe6\x9c\xba"
)
"""Words that make a number of 7 to 15 digits a phone, gaps or none (also in Russian, Chinese, Japanese)."""
_VERB = compiled(r"(?i)\b(?:call|calls|calling|dial|contact|reach|reached|text|ring|answering|messages|office|registered)\b")
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
    r"|[0-9]+\.[0-9]+"  # decimals
    r"|[0-9]{3}-[0-9]{2}-[0-9]{4}|[0-9]{5}-[0-9]{4}"  # US social security, ZIP + 4
    r"|[0-9]{1,3}(?:\.[0-9]{1,3}){3}"  # addresses and versions
    r"|[0-9]{1,3}(?:\.[0-9]{3})+|[1-9][0-9]{0,2}(?: 000)+"  # thousands
    r"|(?:[0-9][^0-9]{1,3}){3,}.*"  # 1 2 3 4
)
_US_SHAPE = compiled(r"\([2-9][0-9]{2}\) ?[0-9]{3}[-. ][0-9]{4}|[2-9][0-9]{2}-[0-9]{3}-[0-9]{4}|[2-9][0-9]{2}\.[0-9]{3}\.[0-9]{4}")
"""Nothing else is written so; area code 555 of the films is no valid number, yet it is meant as one."""
_SENTENCE_GAPS = (b"  ", b" - ", b"- ", b" -", b" /", b"/ ", b" .", b". ", b"\xe2\x80\x93", b"--", b"..", b"//")


def _phones(text: bytes, groups: list[Group], rules: PiiRules) -> list[Hit]:
    """The run's units that are phones; else, piece by piece, what stands between single blanks."""
    hits: list[Hit] = []
    for unit in _units(text, groups, _SENTENCE_GAPS):
        hit = _phone(text, unit, rules)
        if hit:
            hits.append(hit)
        elif len(unit) > 1:
            pieces = _units(text, unit, (b" ",))
            hits += [hit for piece in pieces if len(pieces) > 1 and (hit := _phone(text, piece, rules))]
    return hits


def _units(text: bytes, groups: list[Group], gaps: tuple[bytes, ...]) -> list[list[Group]]:
    """The groups, cut where the bytes between two of them hold one of the gaps."""
    units: list[list[Group]] = []
    for group in groups:
        if not units or any(gap in text[units[-1][-1][1] : group[0]] for gap in gaps):
            units.append([])
        units[-1].append(group)
    return units


def _phone(text: bytes, unit: list[Group], rules: PiiRules) -> Hit | None:
    number_size = sum(e - s for s, e in unit)
    if not 7 <= number_size <= 17 or len(unit) > 8:
        return None
    start, end = unit[0][0], unit[-1][1]
    written, number = text[start:end], b"".join(text[s:e] for s, e in unit).decode("ascii")
    if text[start - 1 : start] == b"(" and b")" in written:
        start -= 1
    plus = text[start - 1 : start] == b"+"
    start -= plus
    extension = _EXTENSION.match(text, end, end + 16)
    if extension and byte_at(text, extension.end()) not in WORD_BYTES:
        end = extension.end()
    before = text[max(0, start - CONTEXT_BYTES) : start]
    for placeholder in PLACEHOLDERS:
        before = before.replace(placeholder, b"")
    labelled = bool(_LABEL_AFTER.match(text, end, end + 16))
    named = labelled or bool(_CONTEXT.search(before))
    if not _phone_may_stand(text, start, end, named, labelled):
        return None
    hit = ("phone", start, end)
    if plus or number.startswith("00"):
        return hit if _is_valid("+" + (number if plus else number[2:]), None) or (named and number_size <= 15) else None
    if _NO_PHONE.fullmatch(written) or _OTHER_NUMBER_BEFORE.search(before[-24:]) or _ACCOUNT_BEFORE.search(before):
        return None
    if named:
        return hit if number_size <= 15 else None
    if len(unit) == 1 or (len(number) in (10, 13) and isbn.is_valid(number)):
        return None
    if _VERB.search(before):
        return hit
    if rules.code:
        return None
    us_shape = "US" in rules.phone_regions and _US_SHAPE.fullmatch(text[start : unit[-1][1]])
    return hit if us_shape or any(_is_valid(number, region) for region in rules.phone_regions) else None


def _phone_may_stand(text: bytes, start: int, end: int, named: bool, labelled: bool) -> bool:
    """No word, decimal, time, path or hyphenated part touches the number; a name just before it may ("Tel.", "tel=")."""
    before, after = byte_at(text, start - 1), byte_at(text, end)
    if before in WORD_BYTES or (before in b".,:" and byte_at(text, start - 2) in DIGIT_BYTES):
        return False
    if before in b"./\\=-+" and not (named and before in b".=-" and byte_at(text, start - 2) not in DIGIT_BYTES):
        return False
    follows = byte_at(text, end + 1)
    if after in WORD_BYTES or after in b"%@" or (after in b".,:/+=" and follows in DIGIT_BYTES):
        return False
    return after != 0x2D or labelled or follows not in WORD_BYTES


def _is_valid(number: str, region: str | None) -> bool:
    try:
        parsed = phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return False
    if region is None:
        return phonenumbers.is_valid_number(parsed)
    return phonenumbers.is_valid_number_for_region(parsed, region)
