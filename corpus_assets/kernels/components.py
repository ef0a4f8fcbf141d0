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
def _union(a, b, parent):
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
def _walk(low, high, jaccard, keeper, keeper_jaccard):
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


@njit(nogil=True, cache=True)
def _walk_on(ranks, lower, dropped, rows):
    """`dropped` has one bit a rank. Edges sorted by (rank, lower): all before a rank are decided when it is reached."""
    found = 0
    for e in range(ranks.size):
        rank, low = ranks[e], lower[e]
        gone = (dropped[rank >> 3] >> (rank & 7)) | (dropped[low >> 3] >> (low & 7))
        if rank != low and gone & 1 == 0:
            dropped[rank >> 3] |= 1 << (rank & 7)
            rows[found] = e
            found += 1
    return found


class KeeperStream:
    """The keeper walk over edges sorted by (later end, earlier end), however the stream is cut. Holds a bit a rank."""

    def __init__(self, num_ranks: int) -> None:
        self._dropped = np.zeros(num_ranks // 8 + 1, np.uint8)

    def feed(self, ranks: np.ndarray, lower: np.ndarray) -> np.ndarray:
        """Rows of the edges by which their later end is dropped onto the earlier one."""
        if len(ranks) and not 0 <= int(lower.min()) <= int(ranks.max()) < 8 * len(self._dropped):
            raise ValueError(
                f"an edge of ranks {lower.min()} to {ranks.max()}; expected ranks of the documents counted"
            )
        rows = np.empty(len(ranks), np.int64)
        return rows[: _walk_on(ranks, lower, self._dropped, rows)]
