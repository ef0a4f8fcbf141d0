"""How much of a document repeats: lines, paragraphs, and runs of words (n-grams). Definitions: text_signals.md.

One open-addressing table serves every count. Its entries carry a stamp: a new count is a new stamp, never a clearing.
A run of n + 1 words can repeat only where the run of n words at its place and the one after it do, so each width looks
at what the last one left: in prose some two look-ups a word for all of 1 to 10. Time is linear in the words.
"""

import numpy as np
from numba import njit

from corpus_assets.kernels.words import GOLDEN, mix64

WIDEST = 10
"""Longest run of words looked for."""
_TOP_WIDTHS = (2, 4)
"""For these widths (first and last) the most frequent run counts, for wider ones every run that repeats."""
_U64 = np.uint64


@njit(nogil=True, cache=True)
def table_size(n):
    """Slots for n keys: a power of two, at most two thirds of them full."""
    size = 16
    while 2 * size < 3 * n:
        size *= 2
    return size


@njit(nogil=True, cache=True)
def first_with(table, mask, stamp, key, index):
    """The first index filed under `key` since the stamp began; files `index` when there is none.

    Slot s is table[2 s], the key, and table[2 s + 1], stamp << 32 | index; another stamp means the slot is free.
    """
    slot = mix64(key) & mask
    while True:
        at = np.int64(slot) * 2
        filed = table[at + 1]
        if filed >> _U64(32) != stamp:
            table[at] = key
            table[at + 1] = (stamp << _U64(32)) | _U64(index)
            return np.int64(index)
        if table[at] == key:
            return np.int64(filed & _U64(0xFFFFFFFF))
        slot = (slot + _U64(1)) & mask


@njit(nogil=True, cache=True)
def count_repeats(keys, chars, n, table, stamp):
    """(how many of keys[:n] came up before, sum of their chars)."""
    mask = _U64(table_size(n) - 1)
    repeats, repeated_chars = 0, 0
    for i in range(n):
        if first_with(table, mask, stamp, keys[i], i) != i:
            repeats += 1
            repeated_chars += chars[i]
    return repeats, repeated_chars


@njit(nogil=True, cache=True)
def fold_paragraphs(keys, chars, opens, n):
    """Turn lines into paragraphs in place; returns their number. A line with opens[i] != 0 begins one.

    A paragraph is its lines joined by a newline: its chars are theirs and one for each newline.
    """
    m = -1
    for i in range(n):
        if opens[i] != 0:
            m += 1
            keys[m], chars[m] = mix64(keys[i]), chars[i]
        else:
            keys[m], chars[m] = keys[m] * GOLDEN + mix64(keys[i]), chars[m] + 1 + chars[i]
    return m + 1


@njit(nogil=True, cache=True)
def _cover(at, n, first, starts, ends, width, only):
    """Characters inside runs, those where runs overlap once: the runs equal to the one at word `only`, or, when that is
    negative, every run that came up before.
    """
    total, reach = 0, 0
    for j in range(n):
        i = at[j]
        if (first[i] == only) if only >= 0 else (first[i] != i):
            total += ends[i + width - 1] - max(starts[i], reach)
            reach = ends[i + width - 1]
    return total


@njit(nogil=True, cache=True)
def ngram_cover(words, starts, ends, n, table, stamp, scratch, cover):
    """Characters of a document inside its most frequent run of 2, 3, 4 words and inside repeated runs of 5 … 10, into
    cover[2 … 10]. words[:n] are hashes, [starts, ends) the words' places in characters. Returns the last stamp used.

    scratch: 4 rows of n int32. `at` lists the places still looked at, in order; first[i] is the place where the run at
    i came up first, counts[f] how often the one first at f did; widest[i] is the widest run at i known to repeat.
    """
    at, first, counts, widest = scratch[0], scratch[1], scratch[2], scratch[3]
    cover[:] = 0
    left = n
    for i in range(n):
        at[i], widest[i] = i, 0
    for width in range(1, WIDEST + 1):
        stamp += _U64(1)
        mask = _U64(table_size(left) - 1)
        for j in range(left):
            i = at[j]
            # A run is named by the two runs, a word shorter, that make it up; first[i + 1] is still the shorter one's.
            key = words[i] if width == 1 else (_U64(first[i]) << _U64(32)) | _U64(first[i + 1])
            f = first_with(table, mask, stamp, key, i)
            first[i] = f
            counts[f] = 1 if f == i else counts[f] + 1

        kept, top = 0, -1
        for j in range(left):
            i = at[j]
            f = first[i]
            if counts[f] >= 2:
                at[kept], widest[i] = i, width
                kept += 1
                if f == i and (top < 0 or counts[i] > counts[top]):
                    top = i
        if kept == 0:
            break
        if _TOP_WIDTHS[0] <= width <= _TOP_WIDTHS[1]:
            cover[width] = _cover(at, kept, first, starts, ends, width, top)
        elif width > _TOP_WIDTHS[1]:
            cover[width] = _cover(at, kept, first, starts, ends, width, -1)

        left = 0
        for j in range(kept):
            i = at[j]
            if i + 1 < n and widest[i + 1] == width:
                at[left] = i
                left += 1
    return stamp
