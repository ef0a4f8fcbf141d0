"""Trees walked by the kernel and by recursion; probabilities and expected error in whole numbers."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.kernels.block_trees import ONE, expected_error, probabilities

SPLITS = st.tuples(st.integers(0, 2), st.integers(-5, 5))
TREES = st.recursive(st.integers(-3 * ONE, 3 * ONE), lambda inner: st.tuples(SPLITS, inner, inner), max_leaves=8)


def flat(tree, rows):
    """Add the tree's nodes to rows; returns its place."""
    place = len(rows)
    rows.append(None)
    if isinstance(tree, int):
        rows[place] = (-1, tree, 0, 0)
    else:
        (feature, threshold), low, high = tree
        rows[place] = (feature, threshold, flat(low, rows), flat(high, rows))
    return place


def value(tree, row):
    if isinstance(tree, int):
        return tree
    (feature, threshold), low, high = tree
    return value(low if row[feature] <= threshold else high, row)


@given(st.lists(TREES, max_size=11), st.lists(st.tuples(*[st.integers(-6, 6)] * 3), max_size=6), st.integers(-ONE, ONE))
def test_probabilities_equal_the_twins(trees, rows, base):
    nodes: list = []
    roots = [flat(tree, nodes) for tree in trees]
    features = np.array(rows, np.int32).reshape(-1, 3)
    found = probabilities(features, np.array(nodes, np.int32).reshape(-1, 4), np.array(roots, np.int32), base)
    for probability, row in zip(found.tolist(), rows, strict=True):
        logit = base + sum(value(tree, row) for tree in trees)
        logit = min(max(logit, -8 * ONE), 8 * ONE)
        assert probability == round(ONE / (1 + math.exp(-(logit // 256 * 256) / ONE)))


@given(st.lists(st.tuples(st.integers(1, 10_000_000), st.integers(0, ONE)), max_size=10))
def test_the_expected_error_is_a_share_of_the_expected_text(blocks):
    sizes, found = (np.array([block[i] for block in blocks], np.int32) for i in (0, 1))
    main = sum(size * p for size, p in blocks)
    wrong = sum(size * min(p, ONE - p) for size, p in blocks)
    assert expected_error(sizes, found) == (wrong * 1000 // main if main else 1000)
