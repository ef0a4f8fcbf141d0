"""Hashed words and pairs against a twin of strings and Python's whole numbers."""

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.quality_words import quality_features, quality_scores
from tests.kernels import reference
from tests.strategies import text_arrays

SCALE = 1 << 20
MASK64 = 2**64 - 1


def mixed(x):
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & MASK64
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & MASK64
    return x ^ x >> 33


def hashed(word):
    h = 0xCBF29CE484222325
    for char in word:
        h = (h ^ ord(char)) * 0x100000001B3 & MASK64
    return h


def features(text, size):
    """Rows of the table, sorted: every word, and every two neighbours."""
    words = [hashed(word) for word in reference.words(text or "")]
    pairs = [left * 0x9E3779B97F4A7C15 + right & MASK64 for left, right in pairwise(words)]
    return sorted(mixed(one) % size for one in words + pairs)


def score(text, weights, bias):
    mine = features(text, len(weights))
    logit = (sum(int(weights[row]) for row in mine) / math.sqrt(max(len(mine), 1)) + bias) / SCALE
    return 0 if logit < -700 else math.floor(1000 / (1 + math.exp(-logit)) + 0.5)


@settings(max_examples=200, deadline=None)
@given(text_arrays(), st.sampled_from([16, 64, 1 << 18]))
def test_features_equal_the_twin(text, size):
    starts, rows = quality_features(text, size)
    found = [sorted(rows[i:j].tolist()) for i, j in pairwise(starts)]
    assert found == [features(one, size) for one in text.to_pylist()]


@settings(max_examples=200, deadline=None)
@given(text_arrays(), st.integers(0, 2**32 - 1), st.integers(-4 * SCALE, 4 * SCALE))
def test_scores_equal_the_twin(text, seed, bias):
    weights = np.random.default_rng(seed).integers(-4 * SCALE, 4 * SCALE, 64).astype(np.int32)
    found = quality_scores(text, weights, bias, SCALE)
    assert found.tolist() == [score(one, weights, bias) for one in text.to_pylist()]


def test_a_long_text_of_heavy_weights_stays_between_0_and_1():
    texts = pa.array(["word " * 200_000], pa.large_string())
    heavy = np.full(16, 64 * SCALE, np.int32)
    assert quality_scores(texts, heavy, 0, SCALE).tolist() == [1000]
    assert quality_scores(texts, -heavy, 0, SCALE).tolist() == [0]


@given(text_arrays())
@settings(deadline=None)
def test_white_space_and_signs_change_no_score(text):
    weights = np.arange(-32, 32, dtype=np.int32) * (SCALE // 8)
    wrapped = pa.array(
        [one and one.replace(" ", "\n").replace(".", "!") for one in text.to_pylist()], pa.large_string()
    )
    assert quality_scores(text, weights, 5, SCALE).tolist() == quality_scores(wrapped, weights, 5, SCALE).tolist()
