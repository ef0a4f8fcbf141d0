"""How likely each block of a page belongs to its main text, by the trees of a block model; whole numbers throughout.
Spec: block_trees.md.

Cost: a walk of a handful of steps a tree and block; nothing is allocated but the answer.
"""

import numpy as np
from numba import njit

FEATURE, THRESHOLD, LOW, HIGH = range(4)
"""Columns of a node. At a leaf FEATURE is -1 and THRESHOLD the value; LOW is the next node where the feature is at most
THRESHOLD, HIGH where it is above.
"""
ONE = 1 << 16
"""A logit of 1, and a probability of 1."""
_STEP = 8
_REACH = 8 * ONE
_SIGMOID = np.round(ONE / (1 + np.exp(np.arange(_REACH, -_REACH - 1, -(1 << _STEP)) / ONE))).astype(np.int32)
"""The probability of each 256th logit from -8 to 8; beyond, that of the last."""


@njit(nogil=True, cache=True)
def _probabilities(features, nodes, roots, base, sigmoid, out):
    # Four trees at a time: a step waits for the one before it in the same tree, and not for those in the others.
    fours = roots.size - roots.size % 4
    for row in range(features.shape[0]):
        of_row = features[row]
        logit: int = base
        for k in range(0, fours, 4):
            a, b, c, d = roots[k], roots[k + 1], roots[k + 2], roots[k + 3]
            while True:
                at_a, at_b, at_c, at_d = nodes[a, FEATURE], nodes[b, FEATURE], nodes[c, FEATURE], nodes[d, FEATURE]
                if at_a < 0 and at_b < 0 and at_c < 0 and at_d < 0:
                    break
                if at_a >= 0:
                    a = nodes[a, LOW + (of_row[at_a] > nodes[a, THRESHOLD])]
                if at_b >= 0:
                    b = nodes[b, LOW + (of_row[at_b] > nodes[b, THRESHOLD])]
                if at_c >= 0:
                    c = nodes[c, LOW + (of_row[at_c] > nodes[c, THRESHOLD])]
                if at_d >= 0:
                    d = nodes[d, LOW + (of_row[at_d] > nodes[d, THRESHOLD])]
            logit += np.int64(nodes[a, THRESHOLD]) + nodes[b, THRESHOLD] + nodes[c, THRESHOLD] + nodes[d, THRESHOLD]
        for root in roots[fours:]:
            at = root
            while nodes[at, FEATURE] >= 0:
                at = nodes[at, LOW + (of_row[nodes[at, FEATURE]] > nodes[at, THRESHOLD])]
            logit += nodes[at, THRESHOLD]
        out[row] = sigmoid[(min(max(logit, -_REACH), _REACH) + _REACH) >> _STEP]


def probabilities(features: np.ndarray, nodes: np.ndarray, roots: np.ndarray, base: int) -> np.ndarray:
    """Per block, in 65536ths (int32). `nodes` is int32 (n, 4), `roots` int32; children come after their parent."""
    out = np.empty(len(features), np.int32)
    _probabilities(features, nodes, roots, base, _SIGMOID, out)
    return out


@njit(nogil=True, cache=True)
def _sums(num_bytes, probability):
    wrong = main = np.int64(0)
    for b in range(num_bytes.size):
        p = np.int64(probability[b])
        wrong += num_bytes[b] * min(p, ONE - p)
        main += num_bytes[b] * p
    return wrong, main


def expected_error(num_bytes: np.ndarray, probability: np.ndarray) -> int:
    """What share of the main text the model expects to get wrong, in thousandths: bytes times the smaller of p and
    1 - p, over bytes times p. 1000 or more where it expects no text at all.
    """
    wrong, main = _sums(num_bytes, probability)
    return int(wrong * 1000 // main) if main else 1000
