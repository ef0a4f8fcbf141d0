"""Phones among groups of digits: in international form and valid anywhere; or with a context word such as "Phone:"
close by; or, in prose, written with gaps and valid in one of the rules' regions.
"""

from collections.abc import Callable

from stdnum import isbn

from corpus_assets.stages.pii_numbering_plans import is_international, local_numbers
from corpus_assets.stages.pii_patterns import (
    DIGIT_BYTES,
    PLACEHOLDERS,
    WORD_BYTES,
    Group,
    Hit,
    PiiRules,
    byte_at,
    compiled,
)

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
_SENTENCE_GAPS = (b"  ", b" - ", b"- ", b" -", b" /", b"/ ", b" .", b". ", b"\xe2\x80\x93", b"--", b"..", b"//")


def phones(text: bytes, groups: list[Group], rules: PiiRules) -> list[Hit]:
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
        known = is_international(number.decode("ascii").removeprefix("" if plus else "00"))
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
    return hit if us_shape or local_numbers(rules.phone_regions).fullmatch(number) else None


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
