"""A fastText classifier's labels under the hierarchical loss: each is a leaf of a Huffman tree whose nodes decide left
or right (Joulin et al. 2016).
"""

import math
from collections.abc import Sequence

import numpy as np
from numba import njit

from corpus_assets.kernels.fasttext_flat import LOG_FLOOR

NO_PARENT = -1
_F32 = np.float32
MAX_DEPTH = 256


def huffman(counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(children int64 (inner nodes, 2), parent int64, is_right bool) of the library's tree: leaves 0 to n - 1 are the
    labels, which come by falling count; inner node i is number n + i.
    """
    n = len(counts)
    weight = [*counts, *[10**15] * (n - 1)]
    children, parent = np.zeros((max(n - 1, 0), 2), np.int64), np.full(2 * n - 1, NO_PARENT, np.int64)
    is_right = np.zeros(2 * n - 1, np.bool_)
    leaf, inner = n - 1, n
    for node in range(n, 2 * n - 1):
        lightest = []
        for _ in range(2):
            if leaf >= 0 and weight[leaf] < weight[inner]:
                lightest.append(leaf)
                leaf -= 1
            else:
                lightest.append(inner)
                inner += 1
        children[node - n] = lightest
        weight[node] = sum(weight[one] for one in lightest)
        parent[lightest] = node
        is_right[lightest[1]] = True
    return children, parent, is_right


@njit(inline="always")
def _right(node, vector):
    """Probability, float32, that the way from a node goes right."""
    total = _F32(0)
    for q in range(vector.size):
        total += node[q] * vector[q]
    return _F32(1.0 / (1.0 + np.float64(math.exp(_F32(-total)))))


@njit(inline="always")
def _log(probability):
    return _F32(math.log(np.float64(probability) + LOG_FLOOR))


@njit(nogil=True, cache=True)
def best_of_tree(vectors, nodes, children, parent, labels, probabilities):
    """Depth first, left first; a branch that is already less likely than the best leaf, or than LOG_FLOOR, is not
    followed.
    """
    num_labels = nodes.shape[0]
    stack, scores = np.empty(MAX_DEPTH, np.int64), np.empty(MAX_DEPTH, np.float32)
    for d in range(vectors.shape[0]):
        best, top = _F32(-np.inf), 1
        labels[d], stack[0], scores[0] = -1, parent.size - 1, _F32(0)
        while top:
            top -= 1
            node, score = stack[top], scores[top]
            if score < best or score < _log(_F32(0)):
                continue
            if node < num_labels:
                if score > best:
                    labels[d], best = node, score
                continue
            right = _right(nodes[node - num_labels], vectors[d])
            stack[top], scores[top] = children[node - num_labels, 1], score + _log(right)
            left = _F32(1.0 - np.float64(right))
            stack[top + 1], scores[top + 1] = children[node - num_labels, 0], score + _log(left)
            top += 2
        probabilities[d] = math.exp(best)


@njit(nogil=True, cache=True)
def probability_of_leaf(vectors, nodes, parent, is_right, label, out):
    for d in range(vectors.shape[0]):
        score, node = _F32(0), label
        while parent[node] != NO_PARENT:
            right = _right(nodes[parent[node] - nodes.shape[0]], vectors[d])
            score += _log(right if is_right[node] else _F32(1.0 - np.float64(right)))
            node = parent[node]
        out[d] = math.exp(score)
