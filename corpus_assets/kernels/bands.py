"""Locality-sensitive hashing: band keys of signatures, candidate pairs out of rows sorted by them. Spec: minhash.md."""

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import fixed_rows
from corpus_assets.kernels.words import mix64
from formats.errors import ConfigError, NotConvergedError

BANDS, ROWS = 16, 8
_U64 = np.uint64


def collision_probability(jaccard: float, bands: int = BANDS, rows: int = ROWS) -> float:
    """Chance that two sets of this Jaccard share at least one band: the S-curve."""
    return 1.0 - (1.0 - jaccard**rows) ** bands


@njit(nogil=True, cache=True)
def _keys(signatures, bands, rows, out):
    for d in range(signatures.shape[0]):
        for band in range(bands):
            x = _U64(band)
            for r in range(band * rows, (band + 1) * rows):
                x = mix64((x << _U64(32)) ^ (x >> _U64(32)) ^ _U64(signatures[d, r]))
            out[d, band] = np.int64(x)


def band_keys(signatures: pa.Array, bands: int = BANDS, rows: int = ROWS) -> np.ndarray:
    """int64 (n, bands): the bucket of each signature in each band.

    The number of the band is part of the key, so equal rows in different bands do not meet. Keys are the bit view of
    unsigned hashes: negative ones are as good as others, and engines without unsigned types sort them alike.
    """
    matrix = fixed_rows(signatures, np.uint32)
    if bands < 1 or rows < 1 or bands * rows > matrix.shape[1]:
        raise ConfigError(f"{bands} bands of {rows} rows need more than the {matrix.shape[1]} values of a signature")
    out = np.empty((len(signatures), bands), np.int64)
    _keys(matrix, bands, rows, out)
    return out


# Places of the carried state: the open bucket's key, its members so far, its last member; counts over all buckets.
_KEY, _MEMBERS, _LAST, _SKIPPED, _HOT, _INVERSION = range(6)


@njit(nogil=True, cache=True)
def _room(a, b, n, more):
    if n + more <= a.size:
        return a, b
    size = 2 * (n + more)
    wider_a, wider_b = np.empty(size, np.int64), np.empty(size, np.int64)
    for i in range(n):  # to assign slices is slower to load than all else of these kernels
        wider_a[i], wider_b[i] = a[i], b[i]
    return wider_a, wider_b


@njit(nogil=True, cache=True)
def _pairs_of_held(held, members, keepers, a, b, n):
    """Pairs of the members held: each with the first `keepers` before it."""
    a, b = _room(a, b, n, members * min(members, keepers))
    for j in range(1, members):
        for i in range(min(j, keepers)):
            a[n], b[n] = held[i], held[j]
            n += 1
    return a, b, n


@njit(nogil=True, cache=True)
def _feed(keys, ranks, state, held, keepers):
    a, b, n = np.empty(1024, np.int64), np.empty(1024, np.int64), 0
    for row in range(keys.size):
        key, rank, members = keys[row], ranks[row], state[_MEMBERS]
        if members > 0 and (key < state[_KEY] or (key == state[_KEY] and rank < state[_LAST])):
            state[_INVERSION] = row + 1
            break
        if members > 0 and key != state[_KEY]:
            if members <= held.size:
                a, b, n = _pairs_of_held(held, members, held.size, a, b, n)
            members = 0
        elif members > 0 and rank == state[_LAST]:
            continue  # the same document twice in a bucket makes no pair
        if members < held.size:
            held[members] = rank
        else:
            if members == held.size:  # only now it is known to be hot
                state[_HOT] += 1
                a, b, n = _pairs_of_held(held, members, keepers, a, b, n)
                state[_SKIPPED] += (members - keepers) * (members - keepers - 1) // 2
            a, b = _room(a, b, n, keepers)
            for i in range(keepers):
                a[n], b[n] = held[i], rank
                n += 1
            state[_SKIPPED] += members - keepers
        state[_KEY], state[_MEMBERS], state[_LAST] = key, members + 1, rank
    return a[:n], b[:n]


class CandidatePairs:
    """Candidate pairs out of a stream of (band key, rank) rows sorted by both; rank is the place in keeper order.

    A bucket of up to `max_bucket` members gives all its pairs; a larger one only those of each member with the first
    `hot_keepers` members, and `pairs_skipped` counts the rest. Any cut of the stream gives the same pairs in the same
    order. Memory: `max_bucket` ranks, and the pairs of one batch.
    """

    def __init__(self, max_bucket: int, hot_keepers: int) -> None:
        if not 1 <= hot_keepers <= max_bucket:
            raise ConfigError(
                f"hot_keepers is {hot_keepers}, expected 1 to max_bucket ({max_bucket}); mend the dedup settings"
            )
        self._held = np.empty(max_bucket, np.int64)
        self._keepers = hot_keepers
        self._state = np.zeros(6, np.int64)

    @property
    def pairs_skipped(self) -> int:
        return int(self._state[_SKIPPED])

    @property
    def hot_buckets(self) -> int:
        return int(self._state[_HOT])

    def feed(self, keys: np.ndarray, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(a, b) int64: the pairs now known, a before b in keeper order. Rows out of order raise NotConvergedError."""
        pairs = _feed(np.asarray(keys, np.int64), np.asarray(ranks, np.int64), self._state, self._held, self._keepers)
        if self._state[_INVERSION]:
            row = int(self._state[_INVERSION]) - 1
            raise NotConvergedError(f"row {row} of a batch of band rows is before its predecessor; the sort is broken")
        return pairs

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of the last bucket; the object then starts anew with the next stream, its counts going on."""
        empty = np.empty(0, np.int64)
        members = int(self._state[_MEMBERS])
        self._state[_MEMBERS] = 0
        if members > self._held.size:
            return empty, empty
        a, b, n = _pairs_of_held(self._held, members, self._held.size, empty, empty, 0)
        return a[:n], b[:n]
