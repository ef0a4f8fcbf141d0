import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.repetition import (
    WIDEST,
    count_repeats,
    first_with,
    fold_paragraphs,
    ngram_cover,
    table_size,
)
from tests.kernels import reference_signals as reference

few_words = st.lists(st.sampled_from("abcde"), max_size=60)
"""So few different words that long runs repeat, overlap and nest."""
blocks = st.lists(st.sampled_from(["a b c d e f", "b c d", "x", "e f g h i j k l m"]), max_size=9).map(
    lambda parts: " ".join(parts).split()
)


def cover_of(words, stamp=0, table=None):
    """The kernel over one-letter words that stand a space apart; returns (cover, last stamp)."""
    n = len(words)
    keys = np.array([ord(word) for word in words], np.uint64)
    starts = np.arange(n, dtype=np.int64) * 2
    table = np.zeros(2 * table_size(n), np.uint64) if table is None else table
    cover = np.full(WIDEST + 1, -1, np.int64)
    scratch = np.full((4, n + 1), 7, np.int32)
    last = ngram_cover(keys, starts, starts + 1, n, table, np.uint64(stamp), scratch, cover)
    return cover.tolist(), int(last)


def expected_cover(words):
    spans = [(word, 2 * i, 2 * i + 1) for i, word in enumerate(words)]
    top = [reference.top_cover(spans, width) for width in (2, 3, 4)]
    return [0, 0, *top, *(reference.duplicate_cover(spans, width) for width in range(5, WIDEST + 1))]


@settings(deadline=None)  # the first call compiles
@given(few_words | blocks)
def test_cover_equals_sets_of_positions(words):
    assert cover_of(words)[0] == expected_cover(words)


@settings(deadline=None)
@given(few_words, few_words)
def test_a_document_leaves_nothing_behind_for_the_next(first, second):
    table = np.zeros(2 * table_size(max(len(first), len(second))), np.uint64)
    _, stamp = cover_of(first, 0, table)
    assert cover_of(second, stamp, table)[0] == expected_cover(second)


@pytest.mark.parametrize(
    ("words", "width", "characters"),
    [
        ("abab", 2, 6),  # "a b" twice, without the space between the two
        ("aaaa", 2, 7),  # "a a" three times, overlaps counted once
        ("bcabc", 2, 6),  # "b c" at both ends
        ("abcdeabcde", 5, 9),  # the second five words; the first are not a duplicate
        ("abcdefabcdef", 5, 11),  # "a b c d e" and "b c d e f" overlap
        ("aaaaaaa", 5, 11),  # the runs at 1 and 2 come up again; the first word is in the first run alone
        ("abcdabcd", 5, 0),
        ("abxcdyabzcd", 2, 6),  # "a b" and "c d" twice each: the earlier one counts, not both
    ],
)
def test_cover_of_small_documents(words, width, characters):
    assert cover_of(list(words))[0][width] == characters


def test_ten_words_that_come_twice_are_covered_at_every_width_from_five_to_ten():
    cover, _ = cover_of(list("abcdefghij") * 2)
    assert cover[5:] == [19] * 6


@settings(deadline=None)
@given(st.lists(st.integers(0, 20), max_size=50), st.lists(st.integers(0, 20), max_size=50))
def test_repeats_are_all_but_the_first(first, second):
    table = np.zeros(2 * table_size(50), np.uint64)
    for stamp, keys in enumerate((first, second), 1):
        chars = np.arange(len(keys), dtype=np.int64)
        again = [i for i, key in enumerate(keys) if key in keys[:i]]
        found = count_repeats(np.array(keys, np.uint64), chars, len(keys), table, np.uint64(stamp))
        assert found == (len(again), sum(again))


def test_a_full_round_of_the_table_finds_keys_that_share_a_slot():
    mask, table = np.uint64(15), np.zeros(32, np.uint64)
    keys = np.arange(10, dtype=np.uint64) << np.uint64(40)
    for _ in range(2):
        assert [first_with(table, mask, np.uint64(1), key, i) for i, key in enumerate(keys)] == list(range(10))
    assert [first_with(table, mask, np.uint64(1), key, 99) for key in keys] == list(range(10))
    assert first_with(table, mask, np.uint64(2), keys[0], 5) == 5


@pytest.mark.parametrize("n", [0, 1, 10, 11, 12, 1000, 1 << 20])
def test_table_keeps_a_third_of_its_slots_free(n):
    size = table_size(n)
    assert size & (size - 1) == 0
    assert 2 * size >= 3 * n


def test_paragraphs_fold_their_lines_and_the_newlines_between():
    keys = np.array([1, 2, 1, 2, 2, 1], np.uint64)
    chars = np.array([10, 20, 10, 20, 20, 10], np.int64)
    opens = np.array([1, 0, 1, 0, 1, 0], np.int32)  # (1 2) (1 2) (2 1)
    assert fold_paragraphs(keys, chars, opens, 6) == 3
    assert chars[:3].tolist() == [31, 31, 31]
    assert keys[0] == keys[1] != keys[2]


def test_a_paragraph_of_one_line_is_not_one_of_that_line_twice():
    keys, chars = np.array([1, 1, 1], np.uint64), np.array([4, 4, 4], np.int64)
    assert fold_paragraphs(keys, chars, np.array([1, 1, 0], np.int32), 3) == 2
    assert keys[0] != keys[1]
    assert chars[:2].tolist() == [4, 9]


def test_no_lines_are_no_paragraphs():
    empty = np.zeros(0, np.uint64)
    assert fold_paragraphs(empty, np.zeros(0, np.int64), np.zeros(0, np.int32), 0) == 0
