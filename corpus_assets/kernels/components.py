"""Connected components of verified edges, and the walk that says who is kept. Nodes are ranks in keeper order.

Cost: a sort of the edges; memory some 100 bytes an edge.
"""

import numpy as np
from numba import njit

SELF_MILLIONTHS = 1_000_000


def _compact(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(nodes sorted, a and b as indexes into them)."""
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    if len(a) != len(b):
        raise ValueError(f"{len(a)} left ends and {len(b)} right ends of edges; give one of each")
    nodes = np.unique(np.concatenate([a, b]))
    return nodes, np.searchsorted(nodes, a), np.searchsorted(nodes, b)


@njit(nogil=True, cache=True)
def _union(a, b, parent):  # type: ignore[no-untyped-def]
    for e in range(a.size):
        x, y = a[e], b[e]
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        while parent[y] != y:
            parent[y] = parent[parent[y]]
            y = parent[y]
        parent[max(x, y)] = min(x, y)
    for x in range(parent.size):  # a parent is never larger than its child, so it is already final
        parent[x] = parent[parent[x]]


def components(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(nodes, root of each), int64: the nodes of the edges in order, and the smallest node each is connected to."""
    nodes, left, right = _compact(a, b)
    parent = np.arange(len(nodes))
    _union(left, right, parent)
    return nodes, nodes[parent]


@njit(nogil=True, cache=True)
def _walk(low, high, jaccard, keeper, keeper_jaccard):  # type: ignore[no-untyped-def]
    """Edges sorted by (high, low): when a node is reached, all nodes before it are decided."""
    for e in range(low.size):
        node = high[e]
        if keeper[node] == node and keeper[low[e]] == low[e] and low[e] != node:
            keeper[node], keeper_jaccard[node] = low[e], jaccard[e]


def keeper_walk(a: np.ndarray, b: np.ndarray, jaccard: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(nodes, keeper of each, Jaccard of the two), int64; nodes are ranks, the smallest first.

    Walked in keeper order, a node is dropped onto the first keeper it has an edge with, else it becomes a keeper:
    keeper == node, with a Jaccard of 1,000,000 millionths to itself. So no node is dropped without an edge to its
    keeper, whatever the chain. Edges may repeat and point either way; the order they come in does not matter.
    """
    nodes, left, right = _compact(a, b)
    low, high, values = np.minimum(left, right), np.maximum(left, right), np.asarray(jaccard, np.int64)
    order = np.argsort(high * len(nodes) + low, kind="stable")
    keeper, keeper_jaccard = np.arange(len(nodes)), np.full(len(nodes), SELF_MILLIONTHS, np.int64)
    _walk(low[order], high[order], values[order], keeper, keeper_jaccard)
    return nodes, nodes[keeper], keeper_jaccard
