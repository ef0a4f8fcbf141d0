"""A filter in front of a search: which 64-bit hashes are surely none of the keys.

Two bits of one word of memory a key, so that a look costs one read. At sixteen to thirty-two bits a key some one in
fifty to two hundred other hashes passes. (A blocked Bloom filter: Putze, Sanders, Singler, 2007.)
"""

import numpy as np
from numba import njit

_WORDS_PER_KEY, _MIN_LOG2_WORDS = 0.25, 10
_U64 = np.uint64


def empty_filter(num_keys: int) -> np.ndarray:
    """uint64 words, a power of two of them, for so many keys."""
    return np.zeros(1 << max(_MIN_LOG2_WORDS, int(num_keys * _WORDS_PER_KEY).bit_length()), np.uint64)


def filter_shift(bits: np.ndarray) -> int:
    """How far a hash is shifted to be a place in `bits`; kernels want it with the filter."""
    return 65 - len(bits).bit_length()


@njit(inline="always")
def _two_bits(key):
    return (_U64(1) << (key & _U64(63))) | (_U64(1) << ((key >> _U64(6)) & _U64(63)))


@njit(inline="always")
def add_to_filter(bits, shift, key):
    """`key` is a mixed hash: its highest and its lowest bits are used."""
    bits[key >> _U64(shift)] |= _two_bits(key)


@njit(inline="always")
def may_be_key(bits, shift, key):
    """False for no key that was added."""
    wanted = _two_bits(key)
    return bits[key >> _U64(shift)] & wanted == wanted


@njit(nogil=True, cache=True)
def _fill(bits, shift, keys):
    for i in range(keys.size):
        add_to_filter(bits, shift, keys[i])


def filter_of(keys: np.ndarray) -> np.ndarray:
    """The filter of mixed uint64 hashes."""
    bits = empty_filter(len(keys))
    _fill(bits, filter_shift(bits), keys)
    return bits
