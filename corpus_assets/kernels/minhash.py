"""MinHash signatures of texts, equal to datasketch's bit for bit. Spec: minhash.md.

Cost: some 270 MB/s a core, two thirds of it the word pass; memory is the signatures and one document's words.
"""

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import fixed_binaries, string_buffers
from corpus_assets.kernels.shingle_units import by_char, unit_hashes
from corpus_assets.kernels.unicode_tables import tables
from corpus_assets.kernels.words import ngram_hashes
from formats.errors import ConfigError

SHINGLE, NUM_PERM, SEED = 5, 128, 1
_U32, _U64 = np.uint32, np.uint64
EMPTY = _U32(0xFFFFFFFF)
"""What a signature holds before its first shingle, as in datasketch."""


def permutations(num_perm: int = NUM_PERM, seed: int = SEED) -> tuple[np.ndarray, np.ndarray]:
    """(a odd, b), uint32 each: permutation i maps a mixed hash h to a[i] * h + b[i] mod 2^32.

    The `affine32` scheme of datasketch 2: both come from numpy's RandomState, whose stream is frozen.
    """
    draw = np.random.RandomState(seed)
    a = draw.randint(0, 1 << 31, num_perm, dtype=np.uint32) * _U32(2) + _U32(1)
    return a, draw.randint(0, 1 << 32, num_perm, dtype=np.uint32)


@njit(inline="always")
def mix32(x):
    """The 32-bit finalizer of MurmurHash3 (fmix32)."""
    x = _U32((x ^ (x >> _U32(16))) * _U32(0x85EBCA6B))
    x = _U32((x ^ (x >> _U32(13))) * _U32(0xC2B2AE35))
    return _U32(x ^ (x >> _U32(16)))


@njit(nogil=True, cache=True)
def _sign_shingles(hashes, m, a, b, row):
    """Lower `row` to the minimum over hashes[:m] of every permutation. Four shingles a pass: `row` is stored a fourth
    as often, which is what bounds this loop.
    """
    whole = m - m % 4
    for j in range(0, whole, 4):
        h0, h1, h2, h3 = hashes[j], hashes[j + 1], hashes[j + 2], hashes[j + 3]
        for p in range(row.size):
            first = min(_U32(a[p] * h0 + b[p]), _U32(a[p] * h1 + b[p]))
            second = min(_U32(a[p] * h2 + b[p]), _U32(a[p] * h3 + b[p]))
            row[p] = min(row[p], min(first, second))
    for j in range(whole, m):
        for p in range(row.size):
            row[p] = min(row[p], _U32(a[p] * hashes[j] + b[p]))


@njit(nogil=True, cache=True)
def _sign(data, offsets, kind, lower, characters, width, a, b, rows, num_shingles):
    words, grams, mixed = np.empty(1 << 16, np.uint64), np.empty(1 << 16, np.uint64), np.empty(1 << 16, np.uint32)
    for d in range(num_shingles.size):
        size = offsets[d + 1] - offsets[d]
        if size > words.size:
            words, grams, mixed = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.uint32)
        n = unit_hashes(data, offsets[d], offsets[d + 1], kind, lower, characters, words)
        m = ngram_hashes(words, n, width, grams)
        for j in range(m):
            mixed[j] = mix32(_U32(grams[j] & _U64(0xFFFFFFFF)))
        _sign_shingles(mixed, m, a, b, rows[d])
        num_shingles[d] = m


def signatures(
    text: pa.Array, *, shingle: int = SHINGLE, unit: str = "word", num_perm: int = NUM_PERM, seed: int = SEED
) -> tuple[pa.Array, np.ndarray]:
    """(signature fixed_size_binary(4 * num_perm), shingles int64) per row of a large_string column.

    A signature is little-endian uint32. Shingles are counted with repeats. A text without words has 0, and a signature
    of nothing but `EMPTY`: it says nothing, so such a row must not enter dedup. Null rows are empty texts.
    """
    if shingle < 1 or num_perm < 1:
        raise ConfigError(f"shingle is {shingle} and num_perm {num_perm}, expected at least 1; mend the caller")
    offsets, data = string_buffers(text)
    rows = np.full((len(text), num_perm), EMPTY, np.uint32)
    num_shingles = np.empty(len(text), np.int64)
    _sign(data, offsets, *tables(), by_char(unit), shingle, *permutations(num_perm, seed), rows, num_shingles)
    return fixed_binaries(rows), num_shingles
