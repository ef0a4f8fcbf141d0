"""Keyed permutations of [0, n) as arithmetic: nothing is stored, and every place is computed alone. Spec: order.md.

Eight rounds of a Feistel network over splitmix64's finalizer, with cycle walking for domains that are no power of two
(Black and Rogaway 2002, "Ciphers with arbitrary finite domains"). Not cryptographic. Cost: some 0.15 us a value.
"""

import hashlib
import json

import numpy as np

VERSION = 1
ROUNDS = 8
MIN_BITS = 6
"""Smaller domains are walked in one of 64 values: with fewer bits the rounds would repeat themselves."""
MAX_DOMAIN = 1 << 53
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ROUND_KEYS = [np.uint64(i * int(GOLDEN) % 2**64) for i in range(ROUNDS)]
_U64 = np.uint64


def key_of(*parts: str | int) -> np.uint64:
    """64 bits that depend on every part and on nothing else: SHA-256 of the JSON array of version and parts."""
    text = json.dumps([VERSION, *parts], separators=(",", ":"), ensure_ascii=True)
    return _U64(int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:8], "little"))


def mix64(x: np.ndarray) -> np.ndarray:
    """The finalizer of splitmix64 (Steele, Lea and Flood 2014): a fixed bijection of uint64 that looks random."""
    x = (x ^ (x >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U64(27))) * _U64(0x94D049BB133111EB)
    return x ^ (x >> _U64(31))


def subkey(key: np.uint64 | np.ndarray, number: int | np.ndarray) -> np.ndarray:
    """Key `number` below `key`, uint64; both broadcast."""
    with np.errstate(over="ignore"):  # of numbers, which wrap as arrays do
        return mix64(np.asarray(key, _U64) + np.asarray(number).astype(_U64) * GOLDEN)


def permute(
    x: int | np.ndarray, n: int | np.ndarray, key: np.uint64 | np.ndarray, *, inverse: bool = False
) -> np.ndarray:
    """Where each x of [0, n) goes under the permutation that (n, key) names, int64; all three broadcast. n < 2^53."""
    x, n, key = (np.asarray(value).astype(_U64) for value in (x, n, key))
    shape, x = np.broadcast_shapes(x.shape, n.shape, key.shape), np.atleast_1d(x)  # of numbers numpy reports overflow
    bits = np.maximum(np.frexp((n - _U64(1)).astype(np.float64))[1], MIN_BITS).astype(_U64)  # exact below 2^53
    low = bits >> _U64(1)
    sizes = (low, _ones(low), _ones(bits - low))
    out = _feistel(x, key, *sizes, inverse=inverse)
    while (at := np.nonzero(out >= n))[0].size:
        again = (np.broadcast_to(value, out.shape)[at] for value in (key, *sizes))
        out[at] = _feistel(out[at], *again, inverse=inverse)
    return out.astype(np.int64).reshape(shape)


def _ones(bits: np.ndarray) -> np.ndarray:
    return (_U64(1) << bits) - _U64(1)


def _feistel(
    x: np.ndarray, key: np.ndarray, low_bits: np.ndarray, low_ones: np.ndarray, high_ones: np.ndarray, *, inverse: bool
) -> np.ndarray:
    high, low = x >> low_bits, x & low_ones
    for i in reversed(range(ROUNDS)) if inverse else range(ROUNDS):
        round_key = key + _ROUND_KEYS[i]
        if i % 2:
            high = high ^ (mix64(low + round_key) & high_ones)
        else:
            low = low ^ (mix64(high + round_key) & low_ones)
    return high << low_bits | low
