"""Keyed permutations: bijections that look random, with pinned values."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.order.permutation import key_of, permute, subkey

KEY = np.uint64(0x0123456789ABCDEF)
keys = st.integers(0, 2**64 - 1).map(np.uint64)


@given(st.integers(1, 400), keys)
def test_a_permutation_is_a_bijection_and_has_its_inverse(n, key):
    x = np.arange(n)
    y = permute(x, n, key)
    assert sorted(y.tolist()) == x.tolist()
    assert permute(y, n, key, inverse=True).tolist() == x.tolist()


@given(st.integers(2**20, 2**53 - 1), keys, st.integers(0, 2**32))
def test_so_is_one_of_a_huge_domain_on_samples(n, key, seed):
    x = np.unique(np.random.default_rng(seed).integers(0, n, 2000))
    y = permute(x, n, key)
    assert len(np.unique(y)) == len(x)
    assert y.max() < n
    assert (permute(y, n, key, inverse=True) == x).all()


@given(st.lists(st.tuples(st.integers(1, 2**40), keys, st.integers(0, 2**40)), min_size=1, max_size=20))
def test_arrays_of_domains_and_keys_give_what_each_gives_alone(cases):
    x, n, key = (np.array(column) for column in zip(*((place % n, n, key) for n, key, place in cases), strict=True))
    alone = [int(permute(*case)) for case in zip(x, n, key, strict=True)]
    assert permute(x, n, key).tolist() == alone


def test_values_are_pinned():
    """Remade only with a new version: saved checkpoints stand on them."""
    assert permute(np.arange(10), 10, KEY).tolist() == [8, 3, 1, 4, 9, 7, 6, 2, 0, 5]
    huge = permute(np.array([0, 1, 2, 3, 3_700_000_000]), 3_700_000_001, KEY)
    assert huge.tolist() == [3418940063, 1483804736, 2077795720, 2569364665, 3550631180]
    assert key_of(7, "chunks", "web") == 12452485939757031207


@pytest.mark.parametrize("n", [3, 4])
def test_every_arrangement_of_a_tiny_domain_is_as_likely(n):
    many = subkey(KEY, np.arange(60_000))
    counts = Counter(map(tuple, permute(np.arange(n)[None, :], n, many[:, None]).tolist()))
    kinds = list(itertools.permutations(range(n)))
    expected = len(many) / len(kinds)
    assert sum((counts[kind] - expected) ** 2 / expected for kind in kinds) < 3 * len(kinds)


@pytest.mark.parametrize("n", [5, 12, 64, 100, 257])
def test_places_differences_and_fixed_points_are_as_of_random_ones(n):
    many = subkey(KEY, np.arange(20_000))
    y = permute(np.arange(n)[None, :], n, many[:, None])
    bound = n + 6 * (2 * n) ** 0.5  # of a chi-square of n degrees
    for x in (0, 1, n // 2, n - 1):
        assert _chi_square(np.bincount(y[:, x], minlength=n)) < bound
    assert _chi_square(np.bincount((y[:, 1] - y[:, 0]) % n, minlength=n)[1:]) < bound
    assert abs((y == np.arange(n)).sum(axis=1).mean() - 1) < 0.05


def test_neighbours_part_in_a_large_domain():
    n = 1_000_003
    y = permute(np.arange(n), n, KEY).astype(np.float64)
    assert abs(np.corrcoef(np.arange(n), y)[0, 1]) < 0.005
    assert abs(np.corrcoef(y[:-1], y[1:])[0, 1]) < 0.005
    assert _chi_square(np.bincount(y[: n // 10].astype(np.int64) * 100 // n, minlength=100)) < 100 + 6 * 200**0.5
    assert (y == permute(np.arange(n), n, subkey(KEY, 1))).sum() < 12


def _chi_square(counts):
    expected = counts.sum() / counts.size
    return ((counts - expected) ** 2 / expected).sum()
