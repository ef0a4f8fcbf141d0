"""Edges found in memory are the bytes of those found by sorts on the engine; the memory decides which way is taken."""

from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.kernels.shingles import HeldSets, shingle_sets
from corpus_assets.plans import near_edges, verified_pairs
from corpus_assets.plans.pinned import Build, load_pairs
from corpus_assets.stages import verify_pairs
from formats.dataset import Dataset
from formats.errors import NotConvergedError
from formats.layout import Layout
from resources.engines.local import LocalEngine
from tests.conformance.adversarial import AdversarialEngine
from tests.plans import dedup_runs
from tests.plans.naive_dedup import Doc, Rules, Source

WORDS = [f"word{i}" for i in range(60)]


def text(*edits: int) -> str:
    return " ".join(f"edited{i}" if i in edits else word for i, word in enumerate(WORDS))


SOURCES = [
    Source("books", 1, (tuple(Doc(text(*range(n))) for n in range(9)), (Doc("alone"), Doc("")))),
    Source("none", 2, ((),)),
    Source("web", 3, (tuple(Doc(text(*range(0, 60, n))) for n in range(20, 60, 7)), (Doc(text()), Doc(text(1))))),
]


def edges(root: Path, engine: LocalEngine | AdversarialEngine) -> Dataset:
    with mock.patch.object(verified_pairs, "buckets_for", return_value=3):
        dedup_runs.run(root, SOURCES, Rules(), engine=engine)
        build = Build(Layout(root), engine)
        return near_edges.edges(build, load_pairs(build.layout, dedup_runs.V1)).open()


@pytest.mark.parametrize("workers", [1, 2])
def test_edges_found_in_memory_are_the_bytes_of_those_found_by_sorts(tmp_path, workers):
    engine = LocalEngine(scratch=tmp_path / "scratch", workers=workers, memory_bytes=1 << 26, processes=False)
    with mock.patch.object(verified_pairs, "_compared_by_sorts", side_effect=AssertionError("sorted")):
        in_memory = edges(tmp_path / "memory", engine)
    with mock.patch.object(verified_pairs, "_compared", side_effect=AssertionError("held")):
        sorted_ = edges(tmp_path / "sorts", AdversarialEngine(seed=2))
    assert in_memory.rows > 10
    assert len(in_memory.shards) == 3
    assert (in_memory.digest, in_memory.notes) == (sorted_.digest, sorted_.notes)


def test_sets_that_do_not_fit_are_sorted_though_the_pairs_do(tmp_path):
    by_memory = edges(tmp_path / "memory", AdversarialEngine(memory_bytes=1 << 26))
    engine = AdversarialEngine(memory_bytes=by_memory.notes["candidate_pairs"] * 100)
    with mock.patch.object(verified_pairs, "_compared", side_effect=AssertionError("held")):
        assert edges(tmp_path / "sorts", engine).digest == by_memory.digest


def test_a_pair_whose_document_is_not_there_raises():
    held = HeldSets.of(np.array([8, 8]), [shingle_sets(pa.array(["a b c d e"] * 2, pa.large_string()))])
    one = np.array([1], np.int64)
    found = verify_pairs.edges_among(np.array([3, 1]), held, one, one + 2, 800_000)
    assert found.to_pydict() == {"a": [1], "b": [3], "jaccard": [1_000_000]}
    for ranks, missing in (([3, 1], held), ([], HeldSets.of(np.zeros(0, np.int64), []))):
        with pytest.raises(NotConvergedError, match="did not arrive"):
            verify_pairs.edges_among(np.array(ranks, np.int64), missing, one, one + 1, 800_000)
