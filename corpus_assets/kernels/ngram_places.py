"""n-grams of texts with where they stand: those that their hash samples, or those looked for. Hashes: words.md.

Texts are read in stretches of words, so one of any length needs no memory of its own. Cost: some 130 MB/s a core.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.hash_filter import filter_of, filter_shift, may_be_key
from corpus_assets.kernels.search import first_at_least
from corpus_assets.kernels.unicode_tables import LETTER, NUMBER, SINGLE, tables
from corpus_assets.kernels.words import FNV_OFFSET, FNV_PRIME, GOLDEN, decode, mix64
from formats.errors import ConfigError

_STRETCH = 1 << 14
_U64 = np.uint64


@dataclass(frozen=True)
class Places:
    """One entry an n-gram, by row; those of one width by their place in it. `hash` is the bit view of the unsigned one;
    `start` and `length` count code points of the row's text, from the first character of its first word to after its
    last.
    """

    row: np.ndarray  # int64
    hash: np.ndarray  # int64
    start: np.ndarray  # int64
    length: np.ndarray  # int64


@njit(inline="always")
def _is_wanted(key, rate, keys, bits, shift):
    """Sampled where there are no keys, else one of them (they ascend)."""
    if keys.size == 0:
        return key % rate == 0
    if not may_be_key(bits, shift, key):
        return False
    at = first_at_least(keys, key)
    return at < keys.size and keys[at] == key


@njit(nogil=True, cache=True)
def _more(found, places):
    """Both arrays at twice their size."""
    wider_found = np.empty(2 * found.size, np.uint64)
    wider_places = np.empty((2 * found.size, 3), np.int64)
    wider_found[: found.size] = found
    wider_places[: found.size] = places
    return wider_found, wider_places


@njit(nogil=True, cache=True)
def _next_words(data, i, end, at, kind, lower, words, begins, ends, n):
    """Words of data[i:end] from their `n`-th place on, until the room or the text ends; `at` counts the code points
    before i. Returns (n, i, at), between two words.
    """
    h, inside, room = FNV_OFFSET, False, words.size - 2
    while i < end and (n < room or inside):
        c, i = decode(data, i)
        k = kind[c]
        if LETTER <= k <= NUMBER:
            if not inside:
                begins[n] = at
            h, inside = (h ^ _U64(lower[c])) * FNV_PRIME, True
        else:
            if inside:
                words[n], ends[n] = h, at
                n, h, inside = n + 1, FNV_OFFSET, False
            if k == SINGLE:
                words[n], begins[n], ends[n] = (FNV_OFFSET ^ _U64(lower[c])) * FNV_PRIME, at, at + 1
                n += 1
        at += 1
    if inside:
        words[n], ends[n] = h, at
        n += 1
    return n, i, at


@njit(nogil=True, cache=True)
def _places(data, offsets, kind, lower, widths, whole_from, rate, keys, bits, shift):
    """(hashes, (row, start, end) each) of the wanted n-grams. A long text is cut into stretches of words; the last
    words of one begin the next.
    """
    found, places, m = np.empty(1024, np.uint64), np.empty((1024, 3), np.int64), 0
    widest = widths[-1]
    size = _STRETCH + widest
    words, begins, ends = np.empty(size, np.uint64), np.empty(size, np.int64), np.empty(size, np.int64)
    for d in range(offsets.size - 1):
        i, end, at, held = offsets[d], offsets[d + 1], 0, 0
        is_first = True
        while is_first or i < end:
            n, i, at = _next_words(data, i, end, at, kind, lower, words, begins, ends, held)
            is_short = is_first and i >= end and n < widest
            for w in range(widths.size + 1):
                if w < widths.size:
                    width = widths[w]
                elif is_short and n >= whole_from:
                    width = n
                else:
                    continue
                first = max(0, held - width + 1)
                leading = _U64(1)
                for _ in range(width - 1):
                    leading *= GOLDEN
                x = _U64(0)
                if n - first >= width:
                    for q in range(first, first + width):
                        x = x * GOLDEN + words[q]
                for j in range(first, n - width + 1):
                    if j > first:
                        x = (x - words[j - 1] * leading) * GOLDEN + words[j + width - 1]
                    key = mix64(x)
                    if _is_wanted(key, rate, keys, bits, shift):
                        if m == found.size:
                            found, places = _more(found, places)
                        found[m], places[m, 0], places[m, 1], places[m, 2] = key, d, begins[j], ends[j + width - 1]
                        m += 1
            is_first = False
            held = min(n, widest - 1)
            for q in range(held):
                words[q], begins[q], ends[q] = words[n - held + q], begins[n - held + q], ends[n - held + q]
    return found[:m], places[:m]


def ngram_places(
    text: pa.Array,
    widths: Sequence[int],
    *,
    rate: int = 1,
    keys: np.ndarray | None = None,
    whole_from: int | None = None,
) -> Places:
    """The n-grams of these widths (words, ascending) in a large_string column of normalized texts whose hash, as an
    unsigned number, `rate` divides; or, with `keys` (int64 hashes), those that have one of these hashes.

    A text of fewer words than the largest width and at least `whole_from` gives all its words as one n-gram, too.
    Null rows are empty texts. Raises ConfigError for widths or a rate below 1.
    """
    if not widths or min(widths) < 1 or list(widths) != sorted(set(widths)) or rate < 1:
        raise ConfigError(
            f"widths {list(widths)}, rate {rate}: expected ascending widths and a rate, from 1; mend them"
        )
    offsets, data = string_buffers(text)
    wanted = np.empty(0, np.uint64) if keys is None else np.unique(np.asarray(keys, np.int64).view(np.uint64))
    none = Places(*(np.empty(0, np.int64) for _ in range(4)))
    if keys is not None and not wanted.size:
        return none
    bits = filter_of(wanted)
    limits = np.asarray(widths, np.int64), widths[-1] if whole_from is None else whole_from, _U64(rate)
    found, places = _places(data, offsets, *tables(), *limits, wanted, bits, filter_shift(bits))
    row, start, end = (np.ascontiguousarray(places[:, i]) for i in range(3))
    return Places(row, found.view(np.int64), start, end - start)
