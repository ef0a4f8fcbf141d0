"""Listed words: whole words and phrases, each word once, and the same as by lists of words in Python."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels import listed_words as kernel
from corpus_assets.kernels.listed_words import MAX_WORDS, listed_words, word_table
from tests.kernels.reference import words as words_of


def counts(texts: list[str | None], *entries: str) -> list[tuple[int, int]]:
    listed, counted = listed_words(pa.array(texts, pa.large_string()), word_table(pa.array(entries, pa.large_string())))
    return list(zip(listed.tolist(), counted.tolist(), strict=True))


def naive(text: str, entries: list[str]) -> tuple[int, int]:
    words, covered = words_of(text), set()
    for entry in map(words_of, entries):
        for at in range(len(words) - len(entry) + 1):
            if words[at : at + len(entry)] == entry:
                covered |= set(range(at, at + len(entry)))
    return len(covered), len(words)


@pytest.mark.parametrize(
    ("text", "entries", "found"),
    [
        ("Trump, a TRUMP! trumpet", ["trump"], (2, 4)),
        ("grand\n\n(slam) grand", ["Grand Slam"], (2, 3)),
        ("一王牌二 王", ["王牌"], (2, 5)),
        ("ÉTÉ été ete", ["été"], (2, 3)),
        ("a b a b a", ["a b a"], (5, 5)),
        ("a b c", ["a", "a b", "b c"], (3, 3)),
        ("a b", ["a b c"], (0, 2)),
        ("nothing", ["trump"], (0, 1)),
        ("", ["trump"], (0, 0)),
        ("words", [], (0, 1)),
    ],
)
def test_words_are_listed_whole_in_any_case_and_once(text, entries, found):
    assert counts([text], *entries) == [found] == [naive(text, entries)]


def test_nulls_and_slices():
    texts = pa.array(["trump", None, "a trump"], pa.large_string()).slice(1)
    listed, counted = listed_words(texts, word_table(pa.array(["trump"], pa.large_string())))
    assert (listed.tolist(), counted.tolist()) == ([0, 1], [0, 2])


@pytest.mark.parametrize(("entry", "says"), [("!?", "entry 1 has 0 words"), ("a " * (MAX_WORDS + 1), "entry 1 has 9")])
def test_an_entry_without_words_or_of_too_many_is_refused(entry, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        word_table(pa.array(["a", entry], pa.large_string()))


WORDS = st.sampled_from(["a", "b", "c", "A", "é", "王", "牌", "a1"])
ENTRIES = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), max_size=6)


@settings(max_examples=300)
@given(st.lists(st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=20), max_size=4), ENTRIES)
def test_counts_equal_reference(texts, entries):
    assert counts(texts, *entries) == [naive(text, entries) for text in texts]


@given(st.lists(st.integers(0, 2**64 - 2) | st.integers(0, 50).map(lambda i: i << 20), max_size=60, unique=True))
def test_a_table_holds_its_keys_and_no_others_however_they_collide(keys):
    """Multiples of 2^20 all begin at one place; a key of 0 is there, too."""
    half = keys[::2]
    table = kernel._table(np.array(half, np.uint64))
    assert [bool(kernel._has(table, np.uint64(key))) for key in keys] == [key in half for key in keys]
