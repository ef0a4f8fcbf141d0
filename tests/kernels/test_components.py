import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.components import components, keeper_walk
from tests.kernels import reference

nodes = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 14)
edges = st.lists(st.tuples(nodes, nodes), max_size=40)


def columns(edges):
    if not edges:
        return [np.empty(0, np.int64)] * 3
    return list(np.array(edges, np.int64).T)


@settings(max_examples=300, deadline=None)
@given(edges)
def test_components_equal_the_reference(edges):
    found, root = components(*columns(edges)[:2])
    assert dict(zip(found.tolist(), root.tolist(), strict=True)) == reference.components(edges)
    assert found.tolist() == sorted(set(found.tolist()))


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.frozensets(nodes, min_size=2, max_size=2), st.integers(0, 10**6), max_size=40), st.randoms())
def test_keepers_equal_the_reference_whatever_the_order_of_the_edges(scores, shuffler):
    edges = [(*shuffler.sample(sorted(pair), 2), score) for pair, score in scores.items()]
    edges += edges[: len(edges) // 2]
    shuffler.shuffle(edges)
    found, keeper, score = (values.tolist() for values in keeper_walk(*columns(edges)))
    walked = {node: (onto, jaccard) for node, onto, jaccard in zip(found, keeper, score, strict=True)}
    assert walked == reference.keeper_walk(edges)
    direct = {frozenset(edge[:2]) for edge in edges}
    assert all(node == onto or {node, onto} in direct for node, (onto, _) in walked.items())
    assert all(walked[onto][0] == onto for onto, _ in walked.values())


def test_along_a_chain_no_node_is_dropped_onto_one_it_has_no_edge_with():
    n = 26
    found, keeper, _ = keeper_walk(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 900_000))
    assert keeper.tolist() == [node - node % 2 for node in range(n)]
    assert set(components(np.arange(n - 1), np.arange(1, n))[1].tolist()) == {0}
    assert found.tolist() == list(range(n))


def test_a_star_of_a_million_edges_is_one_component_with_one_keeper_in_bounded_memory():
    n = 1_000_000
    hub, leaves = np.zeros(n, np.int64), np.arange(1, n + 1)
    components(hub[:1], leaves[:1])
    tracemalloc.start()
    found, root = components(hub, leaves)
    _, keeper, _ = keeper_walk(leaves, hub, np.full(n, 850_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == n + 1
    assert not root.any()
    assert not keeper.any()
    assert peak < 150 * n


def test_a_late_hub_is_dropped_and_its_leaves_stay():
    n = 1_000
    _, keeper, _ = keeper_walk(np.full(n, n), np.arange(n), np.full(n, 850_000))
    assert keeper.tolist() == [*range(n), 0]


def test_without_edges_there_are_no_nodes():
    none = np.empty(0, np.int64)
    assert [len(values) for values in (*components(none, none), *keeper_walk(none, none, none))] == [0] * 5


def test_edges_with_one_end_are_refused():
    with pytest.raises(ValueError, match="1 left ends and 2 right ends"):
        components(np.array([1]), np.array([1, 2]))
