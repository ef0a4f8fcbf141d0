"""The stages of dedup that read a sorted stream: any cut into batches gives the same rows, and the obvious ones."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.kernels.exact_text import EMPTY_DIGEST
from corpus_assets.kernels.shingles import shingle_sets
from corpus_assets.stages import exact_duplicates, keeper_order, near_duplicates, place_rows, verify_pairs
from formats.errors import NotConvergedError
from tests.kernels import reference

ranks = st.integers(0, 6)
cuts = st.lists(st.integers(0, 3), max_size=12)


def cut(rows: list[dict[str, Any]], schema: pa.Schema, sizes: list[int]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of these sizes, then the rest in one; some batches are empty."""
    for size in [*sizes, len(rows)]:
        yield pa.RecordBatch.from_pylist(rows[:size], schema)
        rows = rows[size:]


def out(stage: Callable[..., Iterator[pa.RecordBatch]], batches: Iterator[pa.RecordBatch], **args: Any) -> list[Any]:
    """What the stage yields for one bucket, row after row, as tuples."""
    return [tuple(row.values()) for batch in stage(0, batches, **args) for row in batch.to_pylist()]


def digest(letter: str) -> bytes:
    return EMPTY_DIGEST if letter == "-" else letter.encode() * 32


@given(st.sets(st.tuples(st.sampled_from("ab"), st.sampled_from(["2026", "2025"]), ranks)), cuts)
def test_within_a_source_the_first_by_date_and_place_stays(found, sizes):
    ordered = sorted(found)
    rows = [
        {"bucket": 0, "exact_digest": digest(d), "crawl_date": date, "k": k, "part": k // 2} for d, date, k in ordered
    ]
    expected = []
    for letter, _, k in ordered:
        first = next(other for other in ordered if other[0] == letter)[2]
        if first != k:
            expected.append((k // 2, k, first))
    assert out(exact_duplicates.source_duplicates, cut(rows, exact_duplicates.DIGEST_ROWS, sizes)) == expected


@given(st.lists(st.sampled_from("ab-")), cuts)
def test_over_all_sources_the_smallest_rank_of_a_digest_keeps_and_no_text_is_no_duplicate(letters, sizes):
    ordered = sorted((digest(letter), rank) for rank, letter in enumerate(letters))
    rows = [
        {"bucket": 0, "exact_digest": d, "rank": rank, "source": 0, "k": rank, "shard": 0, "lang": "en"}
        for d, rank in ordered
    ]
    expected = [
        (0, rank, rank, 0, rank if d == EMPTY_DIGEST else min(r for e, r in ordered if e == d), "en")
        for d, rank in ordered
    ]
    assert out(keeper_order.exact_keepers, cut(rows, keeper_order.RANKED, sizes)) == expected


@given(st.sets(st.tuples(ranks, ranks, st.integers(0, 2))), cuts)
def test_a_pair_that_met_in_several_bands_comes_once(found, sizes):
    rows = [{"bucket": 0, "a": a, "b": b, "band_bucket": band} for a, b, band in sorted(found)]
    pairs = [row[1:3] for row in out(near_duplicates.once_each, cut(rows, near_duplicates.PAIRS, sizes))]
    assert pairs == sorted({(a, b) for a, b, _ in found})


@given(st.sets(st.tuples(ranks, ranks).filter(lambda pair: pair[0] < pair[1])), cuts)
def test_the_documents_of_some_pair_are_found(pairs, sizes):
    marks = {(one, verify_pairs.PAIR, other) for a, b in pairs for one, other in ((a, b), (b, a))}
    places = {(rank, verify_pairs.DOCUMENT, rank) for rank in range(7)}
    rows = [
        {"bucket": 0, "rank": rank, "kind": kind, "other": other, "shard": 3, "k": rank + 10}
        for rank, kind, other in sorted(marks | places)
    ]
    found = out(verify_pairs.participants, cut(rows, verify_pairs.PLACES, sizes))
    assert found == [(3, rank + 10, rank) for rank in sorted({rank for pair in pairs for rank in pair})]


TEXTS = ["a b c d", "a b c d e", "b c d", "a b c d e f", "x y", "x y z", "A B c d"]
SETS = shingle_sets(pa.array(TEXTS, pa.large_string()), 1).to_pylist()


def meeting(rank: int, kind: int, other: int, shingles: bytes) -> dict[str, Any]:
    return {"bucket": 0, "rank": rank, "kind": kind, "other": other, "shingles": shingles}


def meetings(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With every document's own row, in the order in which the engine hands them over."""
    rows = rows + [meeting(rank, 0, rank, SETS[rank]) for rank in range(7)]
    return sorted(rows, key=lambda row: [row[key] for key in verify_pairs.KEYS])


@given(st.sets(st.tuples(ranks, ranks).filter(lambda pair: pair[0] < pair[1])), cuts, cuts)
def test_pairs_carry_one_set_to_the_other_and_the_exact_jaccard_decides(pairs, sizes, more_sizes):
    waiting = meetings([meeting(a, 1, b, b"") for a, b in pairs])
    carried = out(verify_pairs.take_first_set, cut(waiting, verify_pairs.MEETINGS, sizes), num_buckets=1)
    assert sorted(carried) == sorted((0, b, 1, a, SETS[a]) for a, b in pairs)
    arrived = meetings([meeting(*row[1:]) for row in carried])
    edges = out(verify_pairs.compare, cut(arrived, verify_pairs.MEETINGS, more_sizes), threshold_millionths=750_000)
    expected = []
    for a, b in pairs:
        left, right = (set(reference.words(TEXTS[rank])) for rank in (a, b))
        score = len(left & right) * 1_000_000 // len(left | right)
        if score >= 750_000:
            expected.append((a, b, score))
    assert sorted(edges) == sorted(expected)


def test_a_pair_without_its_document_is_an_error_not_a_verdict():
    rows = [meeting(1, 0, 1, SETS[1]), meeting(2, 1, 3, b"")]
    with pytest.raises(NotConvergedError, match="did not arrive"):
        out(verify_pairs.compare, cut(rows, verify_pairs.MEETINGS, []), threshold_millionths=800_000)


@given(st.lists(st.sampled_from([5, 2, 9]), max_size=12), cuts)
def test_a_cluster_is_named_by_its_smallest_row(roots, sizes):
    ordered = sorted((root, row) for row, root in enumerate(roots))
    rows = [{"bucket": 0, "root": root, "row": row, "shard": 1, "k": row} for root, row in ordered]
    expected = [(1, row, row, roots.index(root)) for root, row in ordered]
    assert out(place_rows.smallest_rows, cut(rows, place_rows.NUMBERED, sizes)) == expected
