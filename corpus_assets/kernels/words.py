"""The word pass: where words are, and their hashes. Shared by Gopher counts, shingles and n-grams. Spec: words.md.

A word is a run of letters, marks and numbers, lower-cased; an ideograph, kana or Thai/Lao/Khmer/Myanmar character is a
word by itself. White space and signs only separate, so re-wrapping lines changes nothing. Cost: some 400 MB/s a core.
"""

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.unicode_tables import LETTER, NUMBER, SINGLE, tables

FNV_OFFSET, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U32, _U64 = np.uint32, np.uint64


@njit(inline="always")
def decode(data, i):
    """(code point, index after it) of the valid UTF-8 at data[i]."""
    b = _U32(data[i])
    if b < 0x80:
        return b, i + 1
    if b < 0xE0:
        return ((b & _U32(0x1F)) << _U32(6)) | _U32(data[i + 1] & 0x3F), i + 2
    if b < 0xF0:
        c = ((b & _U32(0x0F)) << _U32(12)) | (_U32(data[i + 1] & 0x3F) << _U32(6)) | _U32(data[i + 2] & 0x3F)
        return c, i + 3
    c = (
        ((b & _U32(0x07)) << _U32(18))
        | (_U32(data[i + 1] & 0x3F) << _U32(12))
        | (_U32(data[i + 2] & 0x3F) << _U32(6))
        | _U32(data[i + 3] & 0x3F)
    )
    return c, i + 4


@njit(nogil=True, cache=True)
def word_hashes(data, i, end, kind, lower, out):
    """64-bit hashes of the words of data[i:end] into `out` (room for end - i); returns their number.

    FNV-1a over the lower-cased code points, one step a code point.
    """
    n, h, inside = 0, FNV_OFFSET, False
    while i < end:
        c, i = decode(data, i)
        k = kind[c]
        if LETTER <= k <= NUMBER:
            h, inside = (h ^ _U64(lower[c])) * FNV_PRIME, True
        else:
            if inside:
                out[n] = h
                n, h, inside = n + 1, FNV_OFFSET, False
            if k == SINGLE:
                out[n] = (FNV_OFFSET ^ _U64(lower[c])) * FNV_PRIME
                n += 1
    if inside:
        out[n] = h
        n += 1
    return n


@njit(nogil=True, cache=True)
def word_spans(data, i, end, kind, lower, hashes, starts, ends):
    """As `word_hashes`, and the byte range [start, end) of each word in `data`."""
    n, h, inside = 0, FNV_OFFSET, False
    while i < end:
        at = i
        c, i = decode(data, i)
        k = kind[c]
        if LETTER <= k <= NUMBER:
            if not inside:
                starts[n] = at
            h, inside = (h ^ _U64(lower[c])) * FNV_PRIME, True
        else:
            if inside:
                hashes[n], ends[n] = h, at
                n, h, inside = n + 1, FNV_OFFSET, False
            if k == SINGLE:
                hashes[n], starts[n], ends[n] = (FNV_OFFSET ^ _U64(lower[c])) * FNV_PRIME, at, i
                n += 1
    if inside:
        hashes[n], ends[n] = h, end
        n += 1
    return n


@njit(inline="always")
def mix64(x):
    """The 64-bit finalizer of MurmurHash3 (fmix64)."""
    x = (x ^ (x >> _U64(33))) * _U64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> _U64(33))) * _U64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> _U64(33))


@njit(nogil=True, cache=True)
def ngram_hashes(words, n, width, out):
    """64-bit hashes of the n - width + 1 runs of `width` words; a shorter text is one run, no word none."""
    m = max(n - width + 1, min(n, 1))
    for j in range(m):
        x = _U64(0)
        for q in range(min(width, n)):
            x = x * GOLDEN + words[j + q]
        out[j] = mix64(x)
    return m


@njit(nogil=True, cache=True)
def _count(data, offsets, kind, lower, out):
    words = np.empty(1 << 16, np.uint64)
    for d in range(out.size):
        size = offsets[d + 1] - offsets[d]
        if size > words.size:
            words = np.empty(size, np.uint64)
        out[d] = word_hashes(data, offsets[d], offsets[d + 1], kind, lower, words)


def word_count(text: pa.Array) -> pa.Array:
    """Words per row (int64) of a large_string column; a null row has none."""
    offsets, data = string_buffers(text)
    out = np.empty(len(text), np.int64)
    _count(data, offsets, *tables(), out)
    return pa.array(out)
