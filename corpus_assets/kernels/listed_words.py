"""Words of documents that stand on a list, alone or as part of a listed phrase.

Words are those of `words.md`, lower-cased, so an entry of several words (or of several ideographs) is a phrase, met
wherever its words follow each other, whatever stands between them. Cost: a walk over the words, one probe each; more
only where a listed entry could begin.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.unicode_tables import tables
from corpus_assets.kernels.words import ngram_hashes, word_count, word_hashes

_U64 = np.uint64
MAX_WORDS = 8
"""Words of a phrase."""


@dataclass(frozen=True)
class WordTable:
    """Two open-addressing tables of 64-bit hashes, each a power of two long and at most half full: the first words of
    the entries, and the entries whole. 0 is an empty place; a hash of 0 is taken for the largest number everywhere.
    """

    first: np.ndarray  # uint64
    whole: np.ndarray  # uint64
    widths: np.ndarray  # int64, rising: how many words the entries have


def _table(keys: np.ndarray) -> np.ndarray:
    size = 2
    while size < 2 * len(keys):
        size *= 2
    table = np.zeros(size, np.uint64)
    _fill(table, keys)
    return table


@njit(nogil=True, cache=True)
def _place(table, key):
    """Where the key lies, or the empty place where it would."""
    mask = _U64(table.size - 1)
    at = (key ^ (key >> _U64(32))) & mask
    while table[at] != _U64(0) and table[at] != key:
        at = (at + _U64(1)) & mask
    return at


@njit(nogil=True, cache=True)
def _fill(table, keys):
    for key in keys:
        table[_place(table, _not_zero(key))] = _not_zero(key)


@njit(nogil=True, cache=True)
def _not_zero(key):
    return key if key != _U64(0) else ~_U64(0)


@njit(nogil=True, cache=True)
def _has(table, key):
    return table[_place(table, _not_zero(key))] != _U64(0)


@njit(nogil=True, cache=True)
def _hash_rows(data, offsets, kind, lower, first, whole, widths):
    for d in range(widths.size):
        words = np.empty(offsets[d + 1] - offsets[d], np.uint64)
        n = word_hashes(data, offsets[d], offsets[d + 1], kind, lower, words)
        widths[d] = n
        if n > 0:
            first[d] = words[0]
            ngram_hashes(words, n, n, whole[d : d + 1])


def word_table(entries: pa.Array) -> WordTable:
    """The table of a list (large_string, a word or phrase each). Raises ValueError for an entry without a word, or of
    more than MAX_WORDS, by its index.
    """
    widths = word_count(entries).to_numpy()
    for i in np.flatnonzero((widths < 1) | (widths > MAX_WORDS)):
        raise ValueError(f"entry {i} has {widths[i]} words, expected 1 to {MAX_WORDS}")
    offsets, data = string_buffers(entries)
    first, whole = np.zeros(len(entries), np.uint64), np.zeros(len(entries), np.uint64)
    _hash_rows(data, offsets, *tables(), first, whole, np.zeros(len(entries), np.int64))
    return WordTable(_table(np.unique(first)), _table(np.unique(whole)), np.unique(widths).astype(np.int64))


@njit(nogil=True, cache=True)
def _count(data, offsets, kind, lower, first, whole, widths, listed, counted):
    words, x = np.empty(1 << 16, np.uint64), np.zeros(1, np.uint64)
    for d in range(listed.size):
        size = offsets[d + 1] - offsets[d]
        if size > words.size:
            words = np.empty(size, np.uint64)
        n = word_hashes(data, offsets[d], offsets[d + 1], kind, lower, words)
        end, found = 0, 0  # words up to `end` are part of an entry
        for i in range(n):
            if _has(first, words[i]):
                for width in widths:
                    if i + width > n:
                        break
                    ngram_hashes(words[i : i + width], width, width, x)
                    if i + width > end and _has(whole, x[0]):
                        end = i + width
            found += i < end
        listed[d], counted[d] = found, n


def listed_words(text: pa.Array, table: WordTable) -> tuple[np.ndarray, np.ndarray]:
    """(words that are part of a listed entry, all words) per row of a large_string column; each word counts once."""
    offsets, data = string_buffers(text)
    listed, counted = np.zeros(len(text), np.int64), np.zeros(len(text), np.int64)
    _count(data, offsets, *tables(), table.first, table.whole, table.widths, listed, counted)
    return listed, counted
