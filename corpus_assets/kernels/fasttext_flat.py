"""A fastText classifier's labels where each has a row of its own: softmax, one-vs-all, negative sampling.

One-vs-all and negative sampling answer for each label alone, by a table of the logistic function that the library cuts
to 512 steps: a sum that falls between two of them may be told by its neighbour, 0.008 apart at most.
"""

import math

import numpy as np
from numba import njit

LOG_FLOOR = 1e-5
"""What the library adds to a probability before its logarithm, whose power it then tells."""
STEPS, REACH = 512, 8.0
_F32 = np.float32


def _logistic() -> np.ndarray:
    """float32 of STEPS + 1 points from -REACH to REACH."""
    x = (np.arange(STEPS + 1) * 2 * REACH / STEPS - REACH).astype(np.float32)
    return (1.0 / (1.0 + np.exp(-x))).astype(np.float32)


_LOGISTIC = _logistic()


@njit(inline="always")
def _scores(vector, rows, is_softmax, table, out):
    """Each label's probability, float32, in the library's order of operations."""
    for label in range(rows.shape[0]):
        total = _F32(0)
        for q in range(vector.size):
            total += rows[label, q] * vector[q]
        out[label] = total
    if is_softmax:
        most, total = out[0], _F32(0)
        for label in range(out.size):
            most = max(most, out[label])
        for label in range(out.size):
            out[label] = math.exp(out[label] - most)
            total += out[label]
        for label in range(out.size):
            out[label] /= total
        return
    for label in range(out.size):
        x = out[label]
        if x < -REACH:
            out[label] = _F32(0)
        elif x > REACH:
            out[label] = _F32(1)
        else:
            out[label] = table[np.int64((x + _F32(REACH)) * _F32(STEPS) / _F32(REACH) / _F32(2))]


@njit(inline="always")
def _told(probability):
    return _F32(math.exp(_F32(math.log(np.float64(probability) + LOG_FLOOR))))


@njit(nogil=True, cache=True)
def _best(vectors, rows, is_softmax, table, labels, probabilities):
    scores = np.empty(rows.shape[0], np.float32)
    for d in range(vectors.shape[0]):
        _scores(vectors[d], rows, is_softmax, table, scores)
        best = 0
        for label in range(1, scores.size):
            if scores[label] > scores[best]:
                best = label
        labels[d], probabilities[d] = best, _told(scores[best])


@njit(nogil=True, cache=True)
def _one(vectors, rows, is_softmax, table, label, out):
    scores = np.empty(rows.shape[0], np.float32)
    for d in range(vectors.shape[0]):
        _scores(vectors[d], rows, is_softmax, table, scores)
        out[d] = _told(scores[label])


def best_of_rows(vectors: np.ndarray, rows: np.ndarray, is_softmax: bool) -> tuple[np.ndarray, np.ndarray]:
    """(label number int64, its probability float32) of the likeliest label of each vector; of equal ones the first."""
    labels, probabilities = np.empty(len(vectors), np.int64), np.empty(len(vectors), np.float32)
    _best(vectors, rows, is_softmax, _LOGISTIC, labels, probabilities)
    return labels, probabilities


def probability_of_row(vectors: np.ndarray, rows: np.ndarray, is_softmax: bool, label: int) -> np.ndarray:
    """float32 of each vector: how likely that label is."""
    out = np.empty(len(vectors), np.float32)
    _one(vectors, rows, is_softmax, _LOGISTIC, label, out)
    return out
