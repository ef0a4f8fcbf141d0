"""Exact shingle sets and their Jaccard: what decides whether a candidate pair is an edge. Spec: minhash.md.

Sets hold 64-bit hashes, so two different shingles count as one with probability 2^-64 a pair. Cost: making sets is
bounded by the sort, comparing them by one merge.
"""

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
def _sets(data, offsets, kind, lower, characters, width, ends, out):  # type: ignore[no-untyped-def]
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
def _intersect(left, left_ends, right, right_ends, shared, union):  # type: ignore[no-untyped-def]
    for d in range(shared.size):
        i, j, both = left_ends[d], right_ends[d], 0
        i_end, j_end = left_ends[d + 1], right_ends[d + 1]
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
    _intersect(*_hashes(left), *_hashes(right), shared, union)
    return shared, union


def is_edge(shared: np.ndarray, union: np.ndarray, threshold_millionths: int) -> np.ndarray:
    """Which pairs reach the threshold, in whole numbers. Two empty sets are no edge: they have nothing in common."""
    return (shared * MILLION >= threshold_millionths * union) & (union > 0)


def jaccard_millionths(shared: np.ndarray, union: np.ndarray) -> np.ndarray:
    """The Jaccard in millionths, rounded down (int64); 0 for two empty sets."""
    return shared * MILLION // np.maximum(union, 1)
