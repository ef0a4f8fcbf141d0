"""Paths and queries of URLs in one form, so that equal ones are equal bytes.

As in RFC 3986 section 6.2.2 and RFC 9309 section 2.2.2: unreserved characters stand for themselves, every other escape
is in capitals, what is not ASCII is escaped; and as browsers do, a backslash in the path is a slash, tabs and line ends
are left out. The fragment goes; a path begins with a slash. Dot segments stay as they are.
"""

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import large_strings, string_buffers

_HEX = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_HASH, _PERCENT, _SLASH, _QUESTION, _BACKSLASH = 0x23, 0x25, 0x2F, 0x3F, 0x5C


@njit(nogil=True, cache=True)
def _digit(c):
    """The value of a hex digit; -1 for another byte."""
    if 0x30 <= c <= 0x39:
        return c - 0x30
    if 0x41 <= c <= 0x46:
        return c - 0x37
    if 0x61 <= c <= 0x66:
        return c - 0x57
    return -1


@njit(nogil=True, cache=True)
def _unreserved(c):
    return (
        0x30 <= c <= 0x39 or 0x41 <= c <= 0x5A or 0x61 <= c <= 0x7A or c == 0x2D or c == 0x2E or c == 0x5F or c == 0x7E
    )


@njit(nogil=True, cache=True)
def _left_out(c):
    """Tab, line feed, carriage return."""
    return c == 0x09 or c == 0x0A or c == 0x0D


@njit(nogil=True, cache=True)
def _kept(data, i, end):
    """The place of the first byte from i on that is not left out; `end` or more where there is none."""
    while i < end and _left_out(data[i]):
        i += 1
    return i


@njit(nogil=True, cache=True)
def _rewrite(data, offsets, ends, out):
    """Row after row into `out` (room for three bytes a byte, and one a row)."""
    n = 0
    for d in range(ends.size):
        i, end, in_query = offsets[d], offsets[d + 1], False
        i = _kept(data, i, end)
        if i == end or (data[i] != _SLASH and data[i] != _BACKSLASH):
            out[n] = _SLASH
            n += 1
        while i < end:
            c = int(data[i])
            i += 1
            if c == _HASH:
                break
            if _left_out(c):
                continue
            in_query = in_query or c == _QUESTION
            if c == _BACKSLASH and not in_query:
                c = _SLASH
            high = _kept(data, i, end)
            low = _kept(data, high + 1, end)
            if c == _PERCENT and low < end and _digit(data[high]) >= 0 and _digit(data[low]) >= 0:
                c = 16 * _digit(data[high]) + _digit(data[low])
                i = low + 1
                if _unreserved(c):
                    out[n] = c
                    n += 1
                    continue
            elif 0x20 < c < 0x7F:
                out[n] = c
                n += 1
                continue
            out[n], out[n + 1], out[n + 2] = _PERCENT, _HEX[c >> 4], _HEX[c & 15]
            n += 3
        ends[d] = n
    return n


def url_paths(rests: pa.Array) -> pa.Array:
    """What follows the host of each URL (large_string) -> path and query in one form; null is an empty one."""
    offsets, data = string_buffers(rests)
    ends = np.zeros(len(rests), np.int64)
    out = np.empty(3 * int(offsets[-1] - offsets[0]) + len(rests), np.uint8)
    size = _rewrite(data, offsets, ends, out)
    return large_strings(np.concatenate(([0], ends)), out[:size])
