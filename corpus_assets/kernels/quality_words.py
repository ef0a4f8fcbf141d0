"""What a quality model reads of a text: its words and pairs of words, hashed into the rows of one table of weights.

A feature is the n-gram hash of words.md for one word or for two that follow each other, modulo the number of weights,
a power of two. A score is the sum of the features' weights over the square root of their number, plus a bias, through
the logistic function. Sums are of whole numbers, so their order says nothing. Releases the GIL. Spec:
formats/quality_model.md. Cost: some 100 MB/s a core while the weights stay in the processor's cache.
"""

import math

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.unicode_tables import tables
from corpus_assets.kernels.words import GOLDEN, mix64, word_count, word_hashes

THOUSAND = 1_000
_LEAST = -500.0
"""A logit below it scores 0 all the same; further down lies what a float cannot hold."""


@njit(nogil=True, cache=True)
def _scores(data, offsets, kind, lower, weights, bias, scale, out):
    words = np.empty(1 << 16, np.uint64)
    mask = np.uint64(weights.size - 1)
    for d in range(out.size):
        size = offsets[d + 1] - offsets[d]
        if size > words.size:
            words = np.empty(size, np.uint64)
        n = word_hashes(data, offsets[d], offsets[d + 1], kind, lower, words)
        total = np.int64(0)
        for j in range(n):
            total += weights[mix64(words[j]) & mask]
            if j:
                total += weights[mix64(words[j - 1] * GOLDEN + words[j]) & mask]
        logit = (total / math.sqrt(max(2 * n - 1, 1)) + bias) / scale
        out[d] = math.floor(THOUSAND / (1.0 + math.exp(-max(logit, _LEAST))) + 0.5)


@njit(nogil=True, cache=True)
def _features(data, offsets, kind, lower, mask, starts, out):
    words = np.empty(1 << 16, np.uint64)
    for d in range(offsets.size - 1):
        size = offsets[d + 1] - offsets[d]
        if size > words.size:
            words = np.empty(size, np.uint64)
        n, at = word_hashes(data, offsets[d], offsets[d + 1], kind, lower, words), starts[d]
        for j in range(n):
            out[at] = mix64(words[j]) & mask
            at += 1
            if j:
                out[at] = mix64(words[j - 1] * GOLDEN + words[j]) & mask
                at += 1


def quality_scores(text: pa.Array, weights: np.ndarray, bias: int, scale: int) -> np.ndarray:
    """int32 of a large_string column: thousandths, 0 to 1000. weights: int32, 2^n of them, and the bias, in 1 / scale;
    a logit stays far below what the exponential function can hold. A null row is an empty text: its score is the bias.
    """
    offsets, data = string_buffers(text)
    out = np.empty(len(text), np.int32)
    _scores(data, offsets, *tables(), weights, bias, scale, out)
    return out


def quality_features(text: pa.Array, num_weights: int) -> tuple[np.ndarray, np.ndarray]:
    """(offsets int64 of n + 1, rows int32) of a large_string column: the rows of text i, one a feature, are
    rows[offsets[i]:offsets[i + 1]], repeated where it occurs again. num_weights is a power of two.
    """
    offsets, data = string_buffers(text)
    counts = word_count(text).to_numpy()
    starts = np.concatenate(([0], np.cumsum(np.maximum(2 * counts - 1, 0))))
    rows = np.empty(starts[-1], np.int32)
    _features(data, offsets, *tables(), np.uint64(num_weights - 1), starts, rows)
    return starts, rows
