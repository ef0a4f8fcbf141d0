"""Shingles of characters: the reference joins words by what stands between them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from corpus_assets.kernels.arrow import fixed_rows
from corpus_assets.kernels.minhash import permutations, signatures
from corpus_assets.kernels.shingles import jaccard, shingle_sets
from formats.errors import ConfigError
from tests.kernels import reference
from tests.kernels.test_shingles import packed
from tests.strategies import text_arrays


def characters(text: str) -> list[str]:
    """The letters of the words, and one space wherever something else lies between two words."""
    found: list[str] = []
    after = None
    for start, end in reference.word_places(text):
        if after is not None and start > after:
            found.append(" ")
        found += reference.lowered(text[start:end])
        after = end
    return found


def hashes(text: str, width: int) -> list[int]:
    return [reference.ngram_hash(ngram) for ngram in reference.ngrams(characters(text), width)]


@pytest.mark.parametrize("width", [1, 5, 12])
@settings(deadline=None)
@given(column=text_arrays())
def test_sets_and_signatures_of_characters_equal_the_reference(column, width):
    rows = [text or "" for text in column.to_pylist()]
    assert shingle_sets(column, width, "char") == packed(*(set(hashes(text, width)) for text in rows))
    signature, counted = signatures(column, shingle=width, unit="char")
    assert counted.tolist() == [len(hashes(text, width)) for text in rows]
    a, b = (values.tolist() for values in permutations())
    for text, row in zip(rows, fixed_rows(signature, np.uint32).tolist(), strict=True):
        mixed = [reference.mix32(value & reference.MASK32) for value in hashes(text, width)]
        assert row == [
            min([(x * h + y) & reference.MASK32 for h in mixed], default=reference.MASK32)
            for x, y in zip(a, b, strict=True)
        ]


def test_wrapping_signs_and_capitals_change_nothing_and_a_joined_word_does():
    texts = pa.array(["One two, three", "one\n two three!", "onetwo three"], pa.large_string())
    sets = shingle_sets(texts, 5, "char")
    assert sets[0] == sets[1] != sets[2]


def test_a_changed_letter_costs_less_of_a_short_text_by_characters_than_by_words():
    left, right = (pa.array([f"a short note about th{x} weather of today"], pa.large_string()) for x in "ei")
    by_unit = {}
    for unit in ("word", "char"):
        common, union = jaccard(shingle_sets(left, 5, unit), shingle_sets(right, 5, unit))
        by_unit[unit] = common[0] / union[0]
    assert by_unit["word"] == 0
    assert by_unit["char"] > 0.6


def test_another_unit_is_refused():
    with pytest.raises(ConfigError, match="shingle_unit is 'line', expected word or char"):
        shingle_sets(pa.array(["a"], pa.large_string()), 5, "line")
