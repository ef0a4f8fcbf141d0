"""Components and keepers by sorts on an engine, held against those over arrays in memory."""

import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.kernels.components import components, keeper_walk
from corpus_assets.plans import connected
from corpus_assets.stages.verify_pairs import EDGES
from formats.dataset import Dataset, write_shard
from formats.errors import NotConvergedError
from resources.engines.local import LocalEngine
from tests.conformance.adversarial import AdversarialEngine

REPOSITORY = Path(__file__).parents[2]


def stored(folder, a, b, shards=3):
    """An edge dataset cut into some shards; an edge's Jaccard follows from its ends."""
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    edges = np.unique(np.stack((low, high), axis=1), axis=0) if len(a) else np.zeros((0, 2), np.int64)
    score = 800_000 + (edges[:, 0] * 31 + edges[:, 1] * 17) % 200_000
    made = []
    for number, rows in enumerate(np.array_split(np.arange(len(edges)), shards)):
        batch = pa.record_batch([pa.array(edges[rows, 0]), pa.array(edges[rows, 1]), pa.array(score[rows])], EDGES)
        made.append(write_shard(number, folder / f"{number}.parquet", [batch], EDGES, row_group_bytes=4_000))
    return Dataset(EDGES, tuple(made)), (edges[:, 0], edges[:, 1], score)


def random_graph(seed):
    draw = np.random.default_rng(seed)
    size = int(draw.integers(2, 400))
    a, b = draw.integers(0, size, (2, int(draw.integers(0, 2 * size))))
    return a[a != b], b[a != b]


def chain(n):
    """A path whose names lie about the order: the hardest simple graph for rounds that look at neighbours."""
    names = np.random.default_rng(n).permutation(n)
    return names[:-1], names[1:]


def star(n, hub):
    leaves = np.setdiff1d(np.arange(n), [hub])
    return np.full(len(leaves), hub), leaves


GRAPHS = {
    **{f"random {seed}": random_graph(seed) for seed in range(12)},
    "a chain in order": (np.arange(299), np.arange(1, 300)),
    "a chain out of order": chain(300),
    "two chains": tuple(np.concatenate((side, side + 500)) for side in chain(200)),
    "a star around the first": star(300, 0),
    "a star around the last": star(300, 299),
    "a clique": tuple(np.array([(i, j) for i in range(30) for j in range(i)]).T),
    "one edge": (np.array([4]), np.array([9])),
    "no edge": (np.zeros(0, np.int64), np.zeros(0, np.int64)),
}


@pytest.mark.parametrize("graph", GRAPHS)
def test_sorts_give_the_components_and_keepers_that_arrays_give(tmp_path, graph):
    found, arrays = stored(tmp_path / "edges", *GRAPHS[graph])
    engine = AdversarialEngine(seed=3)
    assert not connected.fits(engine, found) or not found.rows
    with mock.patch.object(connected, "buckets_for", return_value=3):
        nodes, roots = connected.find_components(engine, found, tmp_path / "work")
        dropped = connected.find_keepers(engine, found, 1_000, tmp_path / "work")
    expected = components(*arrays[:2])
    assert np.array_equal(nodes, expected[0])
    assert np.array_equal(roots, expected[1])
    node, keeper, score = keeper_walk(*arrays)
    gone = keeper != node
    assert all(np.array_equal(*two) for two in zip(dropped, (node[gone], keeper[gone], score[gone]), strict=True))


def test_the_way_is_chosen_by_the_memory_that_there_is(tmp_path):
    found, _ = stored(tmp_path / "edges", *chain(50))
    needed = found.rows * connected.BYTES_PER_EDGE
    for memory_bytes, in_memory in ((needed, True), (needed - 1, False)):
        engine = AdversarialEngine(memory_bytes=memory_bytes)
        with mock.patch.object(connected, "stars", wraps=connected.stars) as rounds:
            connected.find_components(engine, found, tmp_path / "work")
        assert rounds.called is not in_memory


def test_rounds_that_do_not_come_to_rest_raise_instead_of_ending(tmp_path):
    found, _ = stored(tmp_path / "edges", *chain(300))
    with (
        mock.patch.object(connected, "round_limit", return_value=2),
        pytest.raises(NotConvergedError, match="still change after 2 rounds"),
    ):
        connected.stars(AdversarialEngine(), found.select("a", "b"), tmp_path / "work")


@pytest.mark.slow
@pytest.mark.parametrize("hub", ["first", "last"])
def test_a_star_of_a_million_edges_comes_to_rest_under_a_cap(tmp_path, hub):
    command = [sys.executable, "-m", "tests.plans.big_star", str(tmp_path), hub]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=1200, check=False)
    assert run.returncode == 0, run.stderr
    nodes, roots, peak_mib = map(int, run.stdout.split())
    assert (nodes, roots) == (1_000_001, 1)
    assert peak_mib < 64 + 160


@pytest.mark.slow
def test_a_chain_of_a_hundred_thousand_comes_to_rest_within_the_limit(tmp_path):
    found, arrays = stored(tmp_path / "edges", *chain(100_000))
    engine = LocalEngine(scratch=tmp_path / "scratch", workers=1, memory_bytes=64 * 2**20)
    nodes, roots = connected.roots_of(connected.stars(engine, found.select("a", "b"), tmp_path / "work"))
    assert np.array_equal(nodes, np.arange(100_000))
    assert not roots.any()
    assert len(arrays[0]) == 99_999
