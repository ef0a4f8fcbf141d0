"""Letters and numbers of options, `A.` `b)` `(3)` `C:` `iv.` `[2]`, and texts without them.

A marker is one ASCII letter, one or two ASCII digits, or two to four of the letters i, v and x, as Roman numbers to 20
have; then `.` or `)`, maybe with `(` before it, or in `[` and `]`; behind a letter also `:` (a number with a colon is
the key of a table). White space stands before it, or the text begins there, and white space
follows it. Cost: one look at each byte, some 1.5 GB/s a core.
"""

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import large_strings, string_buffers

MIN_MARKERS = 2
"""Markers of options that make a list: one alone is the end of a sentence, or an initial."""
_SPACE, _DIGIT, _LETTER, _ROMAN, _CLOSES = 1, 2, 3, 4, 8
_MAX_ROMAN = 4


def _classes() -> np.ndarray:
    classes = np.zeros(256, np.uint8)
    classes[list(b" \t\n\r\f\v")] = _SPACE
    classes[list(b"0123456789")] = _DIGIT
    classes[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] = _LETTER
    classes[list(b"IVXivx")] = _ROMAN
    classes[list(b".):]")] = _CLOSES
    return classes


_CLASSES = _classes()


@njit(inline="always")
def _begin(data, i, start, end, classes):
    """Where the marker begins whose last byte is data[i], or -1."""
    if i + 1 >= end or classes[data[i + 1]] != _SPACE or i == start:
        return -1
    close = data[i]
    i -= 1
    kind = classes[data[i]]
    if kind == _DIGIT:
        if close == 0x3A:
            return -1
        if i > start and classes[data[i - 1]] == _DIGIT:
            i -= 1
    elif kind == _ROMAN:
        last = i
        while i > start and last - i < _MAX_ROMAN - 1 and classes[data[i - 1]] == _ROMAN:
            i -= 1
    elif kind != _LETTER:
        return -1
    if close == 0x5D:
        if i == start or data[i - 1] != 0x5B:
            return -1
        i -= 1
    elif i > start and data[i - 1] == 0x28:
        i -= 1
    return i if i == start or classes[data[i - 1]] == _SPACE else -1


@njit(nogil=True, cache=True)
def _count(data, offsets, classes, out):
    for d in range(out.size):
        start, end, found = offsets[d], offsets[d + 1], 0
        for i in range(start, end):
            if classes[data[i]] == _CLOSES:
                found += _begin(data, i, start, end, classes) >= 0
        out[d] = found


@njit(nogil=True, cache=True)
def _blank(data, offsets, classes, out):
    first = offsets[0]
    for d in range(offsets.size - 1):
        start, end = offsets[d], offsets[d + 1]
        for i in range(start, end):
            out[i - first] = data[i]
            if classes[data[i]] == _CLOSES:
                begin = _begin(data, i, start, end, classes)
                if begin >= 0:
                    for j in range(begin, i + 1):
                        out[j - first] = 0x20


def marker_count(text: pa.Array) -> np.ndarray:
    """int64 markers per row of a large_string column; a null row has none."""
    offsets, data = string_buffers(text)
    out = np.empty(len(text), np.int64)
    _count(data, offsets, _CLASSES, out)
    return out


def lists_without_markers(text: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """(rows, texts) of the texts that have a list of options: which they are, ascending, and each `without_markers`.

    Whoever matches protected items matches these beside the texts as they are, on either side: markers are words like
    any other, so an item with `A)` and a text with `1.` or none share no run of words else.
    """
    rows = np.flatnonzero(marker_count(text) >= MIN_MARKERS)
    return rows, without_markers(text.take(pa.array(rows)))


def without_markers(text: pa.Array) -> pa.Array:
    """The large_string column, a space for each byte of a marker, so that places stay; null rows are empty texts."""
    offsets, data = string_buffers(text)
    out = np.empty(int(offsets[-1] - offsets[0]), np.uint8)
    _blank(data, offsets, _CLASSES, out)
    return large_strings(offsets - offsets[0], out)
