"""The two star steps against sets, and together, round after round, against union-find."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.kernels.components import KeeperStream, components, keeper_walk
from corpus_assets.kernels.stars import LargeStar, SmallStar
from tests.kernels import reference

nodes = st.integers(0, 12) | st.sampled_from([2**40, 2**62])
edges = st.lists(st.tuples(nodes, nodes).filter(lambda edge: edge[0] != edge[1]), max_size=40)


def fed(star, rows, data):
    """What the step makes of sorted rows, cut anywhere."""
    rows = np.array(sorted(rows), np.int64).reshape(-1, 2)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    found = []
    for part in np.split(rows, cuts):
        found += zip(*(side.tolist() for side in star.feed(part[:, 0], part[:, 1])), strict=True)
    return found


def naive_large(rows):
    """Every neighbour above u is tied to the smallest of u and its neighbours."""
    around = {}
    for u, v in rows:
        around.setdefault(u, {u}).add(v)
    return {(v, min(near)) for u, near in around.items() for v in near if v > u}


def naive_small(rows):
    """u and its neighbours below it are tied to the smallest of them."""
    around = {}
    for u, v in rows:
        around.setdefault(u, {u}).add(v)
    tied = {(v, min(near)) for near in around.values() for v in near if v != min(near)}
    return tied | {(m, v) for v, m in tied}


@given(edges, st.data())
def test_each_step_equals_the_reference_however_the_stream_is_cut(edges, data):
    both = [*edges, *((v, u) for u, v in edges)]
    assert set(fed(LargeStar(), both, data)) == naive_large(both)
    by_larger = [(max(edge), min(edge)) for edge in edges]
    assert set(fed(SmallStar(), by_larger, data)) == naive_small(by_larger)


@given(edges, st.data())
def test_rounds_of_both_steps_come_to_rest_at_the_roots_that_union_find_gives(edges, data):
    rows, before, rounds = [*edges, *((v, u) for u, v in edges)], None, 0
    while rows != before:
        before, rows = rows, fed(SmallStar(), fed(LargeStar(), rows, data), data)
        rounds += 1
        assert rounds < 20
    roots = {node: min(node, other) for node, other in rows}
    assert roots == reference.components(edges)


@given(st.dictionaries(st.frozensets(st.integers(0, 30), min_size=2, max_size=2), st.integers(0, 10**6)), st.data())
def test_the_keeper_walk_over_a_stream_equals_the_walk_over_arrays(scores, data):
    rows = np.array(sorted((max(pair), min(pair), score) for pair, score in scores.items()), np.int64).reshape(-1, 3)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    stream = KeeperStream(31)
    dropped = [part[stream.feed(part[:, 0], part[:, 1])] for part in np.split(rows, cuts)]
    node, keeper, score = keeper_walk(rows[:, 0], rows[:, 1], rows[:, 2])
    gone = keeper != node
    assert np.array_equal(np.concatenate(dropped), np.stack((node, keeper, score), axis=1)[gone])


def test_a_hub_is_one_run_whose_state_does_not_grow():
    n = 1_000_000
    star = LargeStar()
    hub, leaves = np.zeros(n, np.int64), np.arange(1, n + 1)
    found = [star.feed(hub[i : i + 60_000], leaves[i : i + 60_000]) for i in range(0, n, 60_000)]
    assert sum(len(left) for left, _ in found) == n
    assert not any(right.any() for _, right in found)
    assert set(components(hub, leaves)[1].tolist()) == {0}
