"""The filter lets every key through, and few other hashes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from corpus_assets.kernels.hash_filter import filter_of, filter_shift, may_be_key


@njit
def passing(bits: np.ndarray, shift: int, keys: np.ndarray) -> int:
    n = 0
    for i in range(keys.size):
        n += may_be_key(bits, shift, keys[i])
    return n


@given(st.lists(st.integers(0, 2**64 - 1), max_size=200))
def test_every_key_passes(keys):
    added = np.array(keys, np.uint64)
    bits = filter_of(added)
    assert passing(bits, filter_shift(bits), added) == len(keys)


@pytest.mark.parametrize("num_keys", [0, 1, 4_095, 4_096, 100_000, 262_144])
def test_few_other_hashes_pass(num_keys):
    random = np.random.default_rng(7)
    bits = filter_of(random.integers(0, 2**64, num_keys, np.uint64))
    others = random.integers(0, 2**64, 100_000, np.uint64)
    assert 64 * bits.size / max(num_keys, 1) >= 16
    assert passing(bits, filter_shift(bits), others) < 0.02 * len(others)
