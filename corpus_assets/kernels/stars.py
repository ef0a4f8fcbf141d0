"""Large star and small star: the two steps that turn any graph into stars, each leaf on the smallest node it reaches.

Source of the algorithm: Kiveris and others, "Connected Components in MapReduce and Beyond", 2014. Rows are (node,
other) sorted by both; a node's rows are a run, of which only its smallest neighbour is kept, so a hub streams by.
"""

import numpy as np
from numba import njit

# Places of the carried state: whether a node is open, the node, its smallest neighbour, the neighbour seen last.
_OPEN, _NODE, _LEAST, _LAST = range(4)


@njit(nogil=True, cache=True)
def _large(nodes, others, state, left, right):
    found = 0
    for row in range(nodes.size):
        node, other = nodes[row], others[row]
        if state[_OPEN] == 0 or node != state[_NODE]:
            state[_OPEN], state[_NODE], state[_LEAST] = 1, node, min(node, other)
        elif other == state[_LAST]:
            continue
        state[_LAST] = other
        if other > node:
            left[found], right[found] = other, state[_LEAST]
            found += 1
    return found


@njit(nogil=True, cache=True)
def _small(nodes, others, state, left, right):
    found = 0
    for row in range(nodes.size):
        node, other = nodes[row], others[row]
        first = state[_OPEN] == 0 or node != state[_NODE]
        if first:
            state[_OPEN], state[_NODE], state[_LEAST] = 1, node, other
        elif other == state[_LAST]:
            continue
        state[_LAST] = other
        end = node if first else other
        left[found], right[found] = end, state[_LEAST]
        left[found + 1], right[found + 1] = state[_LEAST], end
        found += 2
    return found


class LargeStar:
    """Every neighbour above a node is tied to the smallest of the node and its neighbours.

    Rows hold each edge both ways; what comes out has the larger end first. Edges join two different nodes.
    """

    def __init__(self) -> None:
        self._state = np.zeros(4, np.int64)

    def feed(self, nodes: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(larger end, smaller end) int64 of the edges now known. Any cut of the stream gives the same edges."""
        left, right = np.empty(len(nodes), np.int64), np.empty(len(nodes), np.int64)
        found = _large(nodes, others, self._state, left, right)
        return left[:found], right[:found]


class SmallStar:
    """A node and its neighbours are tied to the smallest of them.

    Rows have the larger end first; what comes out holds each edge both ways.
    """

    def __init__(self) -> None:
        self._state = np.zeros(4, np.int64)

    def feed(self, nodes: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(end, other end) int64 of the edges now known, either way. Any cut of the stream gives the same edges."""
        left, right = np.empty(2 * len(nodes), np.int64), np.empty(2 * len(nodes), np.int64)
        found = _small(nodes, others, self._state, left, right)
        return left[:found], right[:found]
