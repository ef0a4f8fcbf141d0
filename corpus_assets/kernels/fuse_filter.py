"""A set of 64-bit hashes as a binary fuse filter: what is in it is always found, of the rest one in 65,536. Spec:
fuse_filter.md.

18 bits a key for large sets. Cost: some 10 million keys a second to build, and 32 bytes a key meanwhile.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from corpus_assets.kernels.words import mix64
from formats.errors import NotConvergedError

FINGERPRINT_BITS = 16
FALSE_POSITIVE_RATE = 2.0**-FINGERPRINT_BITS
"""How often a hash that is not in the set is found all the same."""
MAX_SEGMENT, MAX_SEEDS = 1 << 18, 100
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U64 = np.uint64


@dataclass(frozen=True, eq=False)
class FuseFilter:
    """`fingerprints` has (segments + 2) * segment_length places; segment_length is a power of two."""

    num_keys: int
    seed: int
    segment_length: int
    segments: int
    fingerprints: np.ndarray  # uint16


@njit(inline="always")
def _slots(key, segment_length, segments):
    """Three places in three segments after each other."""
    mask = _U64(segment_length - 1)
    high = ((key >> _U64(32)) * _U64(segments)) >> _U64(32)  # the segment, by the upper half
    base = high * _U64(segment_length)
    first = base + (key >> _U64(18) & mask)
    second = base + _U64(segment_length) + ((key ^ key >> _U64(9)) & mask)
    third = base + _U64(2 * segment_length) + (mix64(key + _GOLDEN) & mask)
    return first, second, third


@njit(inline="always")
def _fingerprint(key):
    return (mix64(key ^ _GOLDEN) >> _U64(48)) & _U64(0xFFFF)


@njit(nogil=True, cache=True)
def _build(keys, seed, segment_length, segments, fingerprints):
    """Fill `fingerprints`; False when these places cannot be told apart under this seed."""
    size = fingerprints.size
    count, sums = np.zeros(size, np.int32), np.zeros(size, np.uint64)
    for i in range(keys.size):
        key = mix64(keys[i] + _U64(seed) * _GOLDEN)
        for slot in _slots(key, segment_length, segments):
            count[slot] += 1
            sums[slot] ^= key
    queue, waiting = np.empty(size, np.int64), 0
    for slot in range(size):
        if count[slot] == 1:
            queue[waiting] = slot
            waiting += 1
    order, places, taken = np.empty(keys.size, np.uint64), np.empty(keys.size, np.int64), 0
    while waiting:  # a place with one key is that key's own; without the key others may come to have one
        waiting -= 1
        place = queue[waiting]
        if count[place] != 1:
            continue
        key = sums[place]
        order[taken], places[taken] = key, place
        taken += 1
        for slot in _slots(key, segment_length, segments):
            count[slot] -= 1
            sums[slot] ^= key
            if count[slot] == 1:
                queue[waiting] = np.int64(slot)
                waiting += 1
    if taken < keys.size:
        return False
    for i in range(taken - 1, -1, -1):
        key = order[i]
        value = _fingerprint(key)
        for slot in _slots(key, segment_length, segments):
            if np.int64(slot) != places[i]:
                value ^= _U64(fingerprints[slot])
        fingerprints[places[i]] = np.uint16(value)
    return True


def _shape(num_keys: int) -> tuple[int, int]:
    """(segment_length, segments): a segment doubles whenever the keys are 3.33 times as many, as the authors of the
    filter found best; there is room for 1.125 times the keys, more where they are few.
    """
    doublings = 0
    while 4 << doublings < MAX_SEGMENT and 333 ** (doublings + 1) <= num_keys * 100 ** (doublings + 1):
        doublings += 1
    segment_length = 4 << doublings
    permille = 1_125 if num_keys >= 1_000_000 else 1_300 if num_keys >= 10_000 else 1_600
    return segment_length, max(1, -(-num_keys * permille // (1000 * segment_length)) - 2)


def make_filter(keys: np.ndarray) -> FuseFilter:
    """The filter of distinct hashes (int64 or uint64); equal sets in equal order give equal bytes.

    Raises NotConvergedError when no seed separates them, which equal keys alone can bring about.
    """
    keys = np.ascontiguousarray(keys).view(np.uint64)
    segment_length, segments = _shape(keys.size)
    for seed in range(MAX_SEEDS):
        fingerprints = np.zeros((segments + 2) * segment_length, np.uint16)
        if _build(keys, seed, segment_length, segments, fingerprints):
            return FuseFilter(keys.size, seed, segment_length, segments, fingerprints)
    raise NotConvergedError(f"no filter of {keys.size} keys after {MAX_SEEDS} seeds: expected keys that are distinct")


@njit(nogil=True, cache=True)
def _contains(keys, seed, segment_length, segments, fingerprints, out):
    for i in range(keys.size):
        key = mix64(keys[i] + _U64(seed) * _GOLDEN)
        value = _fingerprint(key)
        for slot in _slots(key, segment_length, segments):
            value ^= _U64(fingerprints[slot])
        out[i] = value == 0


def contains(one: FuseFilter, keys: np.ndarray) -> np.ndarray:
    """bool per hash: False says that it is not in the set; True may be wrong, at FALSE_POSITIVE_RATE."""
    keys = np.ascontiguousarray(keys).view(np.uint64)
    out = np.zeros(keys.size, np.bool_)
    if one.num_keys:
        _contains(keys, one.seed, one.segment_length, one.segments, one.fingerprints, out)
    return out
