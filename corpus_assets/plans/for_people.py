"""Numbers and texts as people read them. The same value gives the same words: no locale, no clock."""

import re

_NOT_SHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_STEPS = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"))
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
NONE = "–"


def shown(text: str) -> str:
    """Text from outside without what acts on a page instead of being seen: control characters, changes of direction."""
    return _NOT_SHOWN.sub("\ufffd", text)


def shortened(text: str, length: int) -> str:
    """At most `length` characters, the middle left out: ends tell names and URLs apart."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def rounded(n: int) -> str:
    """A large number as 3.64 million; below that every digit."""
    for step, word in _STEPS:
        if n >= step:
            hundredths = n * 100 // step
            return f"{hundredths // 100:,}.{hundredths % 100:02d} {word}"
    return f"{n:,}"


def num_bytes(n: int) -> str:
    """Bytes in the largest unit that leaves a whole part: 44.4 KiB."""
    for power in range(len(_UNITS) - 1, 0, -1):
        if n >= 1024**power:
            tenths = n * 10 // 1024**power
            return f"{tenths // 10:,}.{tenths % 10} {_UNITS[power]}"
    return f"{n:,} B"


def share(part: int, whole: int) -> str:
    """A part of a whole in per cent, to a tenth; never 0 % for something, nor 100 % for less than all."""
    if whole == 0:
        return NONE
    if part * 1000 < whole:
        return "< 0.1 %" if part else "0 %"
    permille = min((2000 * part + whole) // (2 * whole), 1000 if part == whole else 999)
    return f"{permille // 10}.{permille % 10} %"


def plural(n: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"
