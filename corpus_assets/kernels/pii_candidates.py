"""Which texts may hold personal data: one pass over the bytes instead of one per pattern.

Each `Needs` is a necessary condition of patterns in stages/pii_patterns.py, no more: a text without it has no match of
them, a text with it is shown to the pattern. Cost: some 1 GB/s a core.
"""

from enum import IntFlag

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers


class Needs(IntFlag):
    """What a text has."""

    LOGIN = 1
    """`://`, and an `@` at most LOGIN_BYTES behind it."""
    EMAIL = 2
    """A name's byte, `@` or `&` with a `;` in the next nine bytes, labels, a dot and another label's byte."""
    IPV6 = 4
    """A hexadecimal digit and a colon, then another colon or one to four hexadecimal digits before it."""
    IPV4 = 8
    """Four numbers with a dot between each two."""
    DIGITS = 16
    """Seven ASCII digits with at most three gaps of up to three bytes between each two."""
    WIDE_DIGIT = 32
    """A full-width digit."""
    NAMED = 64
    """An equals sign or a colon behind a word that may be a secret's name (`SECRET_ENDINGS`)."""
    BEGIN = 128
    """`-----B`"""
    RANDOM = 256
    """An equals sign or a colon, then 32 bytes of Base64, maybe behind white space and a quote."""


SECRET_ENDINGS = (
    "ord",
    "swd",
    "pwd",
    "ase",
    "ret",
    "key",
    "ken",
    "_id",
    "-id",
    "yid",
    "ial",
    "als",
    "lue",
    "ues",
    "eys",
    "ena",
    "ña",
    "nha",
    "sse",
    "ort",
    "nes",
)
"""The last three characters of every name in stages/pii_patterns.py."""
MIN_DIGITS, MAX_GAP_BYTES, RANDOM_BYTES = 7, 9, 32
LOGIN_BYTES = 3 + 128 + 1 + 256
"""From the colon of `://` to the `@` of the longest login that is looked for."""
_LOGIN, _EMAIL, _IPV6, _IPV4, _DIGITS, _WIDE, _NAMED, _BEGIN, _RANDOM = (int(need) for need in Needs)
_STOP, _DIGIT, _HEX, _GAP, _NAME, _LABEL, _BASE64 = 1, 2, 4, 8, 16, 32, 64


def _classes() -> np.ndarray:
    """uint8 per byte: where the pass stops, and what the bytes around such a place may be."""
    classes = np.zeros(256, np.uint8)
    letters = [*range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1)]
    digits, latin = list(range(ord("0"), ord("9") + 1)), list(range(0x80, 0xCA))
    classes[[*digits, *b":=@-&", 0xEF]] |= _STOP
    classes[digits] |= _DIGIT
    classes[[*digits, *b"ABCDEFabcdef"]] |= _HEX
    classes[[*b" .()/-", 0xC2, 0xA0, 0xE2, 0x80, *range(0x90, 0x94), 0xAF]] |= _GAP
    classes[[*letters, *digits, *latin, *b"._%+'-"]] |= _NAME
    classes[[*letters, *digits, *latin, *b"-"]] |= _LABEL
    classes[[*letters, *digits, *b"+/_-"]] |= _BASE64
    return classes


_CLASSES = _classes()
_ENDINGS = np.array([int.from_bytes(ending.encode(), "big") | 0x202020 for ending in SECRET_ENDINGS], np.int64)


@njit(inline="always")
def _at(data, i, start, end):
    """The byte there, 0 outside the text."""
    return np.int64(data[i]) if start <= i < end else np.int64(0)


@njit(inline="always")
def _is_secret_name(data, i, start, classes, endings):
    """Whether what stands before data[i] may be a secret's name, maybe with a digit, a quote and white space."""
    i -= 1
    for _ in range(4):
        if i >= start and (data[i] == 0x20 or data[i] == 0x09):
            i -= 1
    if i >= start and (data[i] == 0x22 or data[i] == 0x27):
        i -= 1
    if i >= start and classes[data[i]] & _DIGIT:
        i -= 1
    if i < start + 2:
        return False
    last = (np.int64(data[i - 2]) << 16 | np.int64(data[i - 1]) << 8 | np.int64(data[i])) | 0x202020
    found = False
    for ending in endings:
        found |= last == ending
    return found


@njit(inline="always")
def _is_ipv6(data, i, start, end, classes):
    if i == start or not classes[data[i - 1]] & _HEX:
        return False
    i += 1
    for _ in range(4):
        if i < end and classes[data[i]] & _HEX:
            i += 1
    return _at(data, i, 0, end) == 0x3A


@njit(inline="always")
def _is_email(data, i, start, end, classes):
    if i == start or not classes[data[i - 1]] & _NAME:
        return False
    first = i + 1
    if data[i] == 0x26:
        while first < end and first <= i + 9 and data[first] != 0x3B:
            first += 1
        if _at(data, first, 0, end) != 0x3B:
            return False
        first += 1
    i = first
    while i < end and classes[data[i]] & _LABEL:
        i += 1
    return first < i < end - 1 and data[i] == 0x2E and classes[data[i + 1]] & _LABEL != 0


@njit(inline="always")
def _is_random(data, i, end, classes):
    """Whether RANDOM_BYTES bytes of Base64 stand behind data[i], maybe with white space and a quote between."""
    i += 1
    for _ in range(4):
        if i < end and (data[i] == 0x20 or data[i] == 0x09):
            i += 1
    if i < end and (data[i] == 0x22 or data[i] == 0x27):
        i += 1
    stop = i + RANDOM_BYTES
    while i < stop and i < end and classes[data[i]] & _BASE64:
        i += 1
    return i == stop


@njit(inline="always")
def _digit_chain(data, i, end, classes):
    """(flags, index after the last digit) of the digits from data[i] on, over gaps."""
    flags, digits, dots, gap, last = 0, 0, 0, 0, i
    while i < end:
        kind = classes[data[i]]
        if kind & _DIGIT:
            digits, gap, last = digits + 1, 0, i + 1
        elif kind & _GAP and gap < MAX_GAP_BYTES:
            gap += 1
            dots = dots + 1 if gap == 1 and data[i] == 0x2E else 0
        else:
            break
        i += 1
        if digits >= MIN_DIGITS:
            flags |= _DIGITS
        if dots >= 3 and gap == 0:
            flags |= _IPV4
    return flags, last


@njit(nogil=True, cache=True)
def _find(data, offsets, classes, endings, out):
    for d in range(out.size):
        start, end, flags = offsets[d], offsets[d + 1], 0
        i, scheme = start, -1 - LOGIN_BYTES
        while i < end:
            if not classes[data[i]] & _STOP:
                i += 1
                continue
            byte = data[i]
            if classes[byte] & _DIGIT:
                found, i = _digit_chain(data, i, end, classes)
                flags |= found
                continue
            if byte == 0x3A or byte == 0x3D:
                if not flags & _NAMED and _is_secret_name(data, i, start, classes, endings):
                    flags |= _NAMED
                if not flags & _RANDOM and _is_random(data, i, end, classes):
                    flags |= _RANDOM
                if byte == 0x3A and _is_ipv6(data, i, start, end, classes):
                    flags |= _IPV6
                if byte == 0x3A and _at(data, i + 1, 0, end) == 0x2F and _at(data, i + 2, 0, end) == 0x2F:
                    scheme = i
            elif byte == 0x40:
                if i - scheme <= LOGIN_BYTES:
                    flags |= _LOGIN
                if not flags & _EMAIL and _is_email(data, i, start, end, classes):
                    flags |= _EMAIL
            elif byte == 0x26:
                if not flags & _EMAIL and _is_email(data, i, start, end, classes):
                    flags |= _EMAIL
            elif byte == 0x2D:
                dashes = 1
                while dashes < 5 and _at(data, i + dashes, 0, end) == 0x2D:
                    dashes += 1
                if dashes == 5 and _at(data, i + 5, 0, end) == 0x42:
                    flags |= _BEGIN
            elif _at(data, i + 1, 0, end) == 0xBC and 0x90 <= _at(data, i + 2, 0, end) <= 0x99:
                flags |= _WIDE
            i += 1
        out[d] = flags


def candidates(text: pa.Array) -> np.ndarray:
    """uint16 of `Needs` per row of a large_string or large_binary column; a null row has none."""
    offsets, data = string_buffers(text)
    out = np.empty(len(text), np.uint16)
    _find(data, offsets, _CLASSES, _ENDINGS, out)
    return out
