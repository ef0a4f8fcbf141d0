"""Exact shingle sets and their Jaccard: what decides whether a candidate pair is an edge. Spec: minhash.md.

Sets hold 64-bit hashes, so two different shingles count as one with probability 2^-64 a pair. Cost: making sets is
bounded by the sort, comparing them by one merge.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import large_binaries, string_buffers
from corpus_assets.kernels.minhash import SHINGLE
from corpus_assets.kernels.shingle_units import by_char, unit_hashes
from corpus_assets.kernels.unicode_tables import tables
from corpus_assets.kernels.words import ngram_hashes

MILLION = 1_000_000


@njit(nogil=True, cache=True)
def _sets(data, offsets, kind, lower, characters, width, ends, out):
    """Fill `out` with the sorted sets, row after row; ends[d + 1] is where row d ends."""
    words, at = np.empty(1 << 16, np.uint64), 0
    ends[0] = 0
    for d in range(ends.size - 1):
        size = offsets[d + 1] - offsets[d]
        if size > words.size:
            words = np.empty(size, np.uint64)
        n = unit_hashes(data, offsets[d], offsets[d + 1], kind, lower, characters, words)
        m = ngram_hashes(words, n, width, out[at:])
        row = out[at : at + m]
        row.sort()
        unique = 0
        for j in range(m):
            if j == 0 or row[j] != row[j - 1]:
                out[at + unique] = row[j]
                unique += 1
        at += unique
        ends[d + 1] = at


def shingle_sets(text: pa.Array, shingle: int = SHINGLE, unit: str = "word") -> pa.Array:
    """Per row of a large_string column its shingle hashes, sorted and distinct: little-endian uint64 as large_binary.

    A text of fewer words than `shingle` has one shingle, a text without words an empty set; null rows are empty texts.
    """
    offsets, data = string_buffers(text)
    characters, num_bytes = by_char(unit), int(offsets[-1] - offsets[0])
    # Two words need a separator, or one is a 3-byte character: never more words than half the bytes, rounded up.
    bound = num_bytes if characters else (num_bytes + len(text)) // 2 + 1
    out, ends = np.empty(bound, np.uint64), np.empty(len(text) + 1, np.int64)
    _sets(data, offsets, *tables(), characters, shingle, ends, out)
    return large_binaries(ends * 8, out[: ends[-1]])


@njit(nogil=True, cache=True)
def _intersect(left, left_ends, left_rows, right, right_ends, right_rows, shared, union):
    for d in range(shared.size):
        a, b = left_rows[d], right_rows[d]
        i, j, both = left_ends[a], right_ends[b], 0
        i_end, j_end = left_ends[a + 1], right_ends[b + 1]
        sizes = i_end - i + j_end - j
        while i < i_end and j < j_end:
            x, y = left[i], right[j]
            both += x == y
            i += x <= y
            j += y <= x
        shared[d], union[d] = both, sizes - both


def _hashes(sets: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    ends, data = string_buffers(sets)
    if np.any(ends % 8):
        raise ValueError("a shingle set's bytes are no multiple of 8; give columns made by shingle_sets")
    return data[: data.size // 8 * 8].view(np.uint64), ends // 8


def jaccard(left: pa.Array, right: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """(size of the intersection, size of the union), int64 each, per row pair of two columns of shingle sets."""
    if len(left) != len(right):
        raise ValueError(f"{len(left)} left sets and {len(right)} right ones; give one of each per pair")
    shared, union = np.empty(len(left), np.int64), np.empty(len(left), np.int64)
    rows = np.arange(len(left))
    _intersect(*_hashes(left), rows, *_hashes(right), rows, shared, union)
    return shared, union


@dataclass(frozen=True)
class HeldSets:
    """Shingle sets in one piece of memory: set i is `hashes[ends[i]:ends[i + 1]]`, uint64 and int64."""

    hashes: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, sizes: np.ndarray, columns: Iterable[pa.Array]) -> "HeldSets":
        """The sets of columns made by shingle_sets, one column after the other, each read when the one before it is
        copied; `sizes` are their bytes, int64, known before so that the memory is that of the sets alone.
        """
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes) // 8))
        hashes, at = np.empty(ends[-1], np.uint64), 0
        for column in columns:
            own, own_ends = _hashes(column)
            size = int(own_ends[-1] - own_ends[0])
            hashes[at : at + size] = own[own_ends[0] : own_ends[-1]]
            at += size
        return cls(hashes, ends)

    def jaccard(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(size of the intersection, size of the union), int64 each, of the sets of these numbers, pair by pair."""
        shared, union = np.empty(len(left), np.int64), np.empty(len(left), np.int64)
        _intersect(self.hashes, self.ends, left, self.hashes, self.ends, right, shared, union)
        return shared, union


def is_edge(shared: np.ndarray, union: np.ndarray, threshold_millionths: int) -> np.ndarray:
    """Which pairs reach the threshold, in whole numbers. Two empty sets are no edge: they have nothing in common."""
    return (shared * MILLION >= threshold_millionths * union) & (union > 0)


def jaccard_millionths(shared: np.ndarray, union: np.ndarray) -> np.ndarray:
    """The Jaccard in millionths, rounded down (int64); 0 for two empty sets."""
    return shared * MILLION // np.maximum(union, 1)
