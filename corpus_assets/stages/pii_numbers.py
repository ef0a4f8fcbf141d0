"""Cards and phones among digits: a run of digits and gaps is cut into groups; cards are taken first, then phones."""

from corpus_assets.stages.pii_cards import card
from corpus_assets.stages.pii_patterns import Group, Hit, PiiRules, byte_at, compiled
from corpus_assets.stages.pii_phones import CONTEXT_BYTES, phones

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
        if num_groups := card(text, groups, at):
            hits += phones(text, rest, rules)
            rest = []
            free = at + num_groups
            hits.append(("card", group[0], groups[free - 1][1]))
        else:
            rest.append(group)
    return hits + phones(text, rest, rules)


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
