import json
import struct

import numpy as np
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.shingles import HeldSets, is_edge, jaccard, jaccard_millionths, shingle_sets
from tests.bench.bench_dedup import near_pairs
from tests.bench.documents import first_bytes, made
from tests.kernels import reference
from tests.shared_data import DATA, needs_shared_data
from tests.strategies import text_arrays

sets = st.sets(st.integers(0, 12) | st.integers(2**64 - 3, 2**64 - 1), max_size=12)


def packed(*values):
    return pa.array([struct.pack(f"<{len(v)}Q", *sorted(v)) for v in values], pa.large_binary())


@pytest.mark.parametrize("width", [1, 2, 5])
@settings(deadline=None)
@given(column=text_arrays())
def test_sets_equal_the_reference(column, width):
    expected = [set(reference.shingle_hashes(text or "", width)) for text in column.to_pylist()]
    assert shingle_sets(column, width).to_pylist() == packed(*expected).to_pylist()


@settings(deadline=None)
@given(st.lists(st.tuples(sets, sets), max_size=8), st.data())
def test_intersection_and_union_are_those_of_sets(pairs, data):
    start = data.draw(st.integers(0, len(pairs)))
    left, right = packed(*(a for a, _ in pairs))[start:], packed(*(b for _, b in pairs))[start:]
    shared, union = jaccard(left, right)
    assert shared.tolist() == [len(a & b) for a, b in pairs[start:]]
    assert union.tolist() == [len(a | b) for a, b in pairs[start:]]


@settings(deadline=None)
@given(st.lists(st.lists(sets, max_size=5), max_size=4), st.data())
def test_held_in_one_piece_sets_are_compared_as_in_their_columns(columns, data):
    every = [one for column in columns for one in column]
    start = data.draw(st.integers(0, 2))
    sizes = np.array([8 * len(one) for one in every], np.int64)
    held = HeldSets.of(sizes, [packed(*[{7}] * start, *column)[start:] for column in columns])
    number = st.integers(0, max(0, len(every) - 1))
    pairs = data.draw(st.lists(st.tuples(number, number), max_size=8)) if every else []
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    shared, union = held.jaccard(left, right)
    assert shared.tolist() == [len(every[i] & every[j]) for i, j in pairs]
    assert union.tolist() == [len(every[i] | every[j]) for i, j in pairs]


def test_wrapped_again_a_text_has_the_same_set():
    text = "one two three four five six seven eight nine ten"
    left, right = shingle_sets(pa.array([text, text.replace(" ", "\n")], pa.large_string()))
    assert left == right


@pytest.mark.parametrize(
    ("shared", "union", "edge"),
    [(4, 5, True), (79_999_999, 100_000_000, False), (8, 10, True), (7, 9, False), (0, 0, False), (0, 3, False)],
)
def test_a_pair_is_an_edge_from_exactly_the_threshold_on(shared, union, edge):
    assert is_edge(np.array([shared]), np.array([union]), 800_000).tolist() == [edge]


def test_no_threshold_makes_an_edge_of_two_empty_sets():
    assert is_edge(np.array([0, 0]), np.array([0, 4]), 0).tolist() == [False, True]


def test_millionths_are_rounded_down():
    assert jaccard_millionths(np.array([2, 1, 0, 0]), np.array([3, 1, 5, 0])).tolist() == [666_666, 1_000_000, 0, 0]


def test_columns_that_are_no_sets_are_refused():
    with pytest.raises(ValueError, match="multiple of 8"):
        jaccard(pa.array([b"123"], pa.large_binary()), packed({1}))
    with pytest.raises(ValueError, match="1 left sets and 2 right ones"):
        jaccard(packed({1}), packed({1}, {2}))


def test_bands_find_nearly_every_true_pair_and_jaccard_lets_no_other_through():
    found, true, *_ = near_pairs(first_bytes(made(), 1_500_000))
    assert len(true) > 50
    assert found <= true
    assert len(found) >= 0.97 * len(true)


def rows_of(path):
    with open(path, "rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read().splitlines()
    return [json.loads(line) for line in lines]


@needs_shared_data
def test_jaccard_agrees_with_labels_that_were_measured_by_other_code():
    """The labels' words are `\\w+` with another rule for Korean, so single shingles differ."""
    texts = {}
    for path in (DATA / "docs-fastapi").glob("*.jsonl.zst"):
        version = path.name.removeprefix("fastapi-").removesuffix(".jsonl.zst")
        texts |= {f"fastapi/fastapi@{version}:{row['path']}": row["text"] for row in rows_of(path)}
    labels = [row for row in rows_of(DATA / "dedup-labels/version-pairs-fastapi.jsonl.zst") if row["lang"] != "ko"]
    left, right = (
        shingle_sets(pa.array([texts[row[side]] for row in labels], pa.large_string())) for side in ("a", "b")
    )
    shared, union = jaccard(left, right)
    measured, label = shared / union, np.array([row["jaccard5"] for row in labels])
    assert np.abs(measured - label).mean() < 0.01
    assert ((measured >= 0.8) == (label >= 0.8)).mean() > 0.99
