"""Sentences of words against a twin of strings, and the vectors of the page."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings

from corpus_assets.kernels import sentence_words as kernel
from corpus_assets.kernels.sentence_words import sentence_words
from corpus_assets.kernels.unicode_tables import LETTER, MARK, NUMBER, SINGLE, SPACE
from tests.kernels import reference
from tests.strategies import text_arrays, texts

PAGE = Path(kernel.__file__).with_name("sentence_words.md").read_text("utf-8")
VECTORS = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])
WORDY = (LETTER, MARK, NUMBER, SINGLE)


def kind(char):
    return reference.KIND[ord(char)]


def written(text, start, end):
    """A word as it is written: lower case, every number character a 0."""
    return "".join("0" if kind(c) == NUMBER else reference.lowered(c) for c in text[start:end])


def ends_between(text, start, end):
    """Whether a sentence ends in text[start:end], which lies between two words."""
    for at in range(start, end):
        char, after = text[at], text[at + 1 : at + 2]
        if char in "。！？｡।؟۔" or (char in ".!?" and not (after and kind(after) in WORDY)):
            return True
        if char == "\n":
            rest = text[at + 1 : end].split("\n")
            if len(rest) > 1 and all(kind(c) == SPACE for c in rest[0]):
                return True
    return False


def twin(text):
    sentences, before = [], None
    for start, end in reference.word_places(text or ""):
        if before is None or ends_between(text, before, start):
            sentences.append([])
        sentences[-1].append(written(text, start, end))
        before = end
    return [" ".join(words) for words in sentences]


def found(column):
    rows, words = sentence_words(column)
    rows.validate(full=True)
    split = [row.split("\n") if row else [] for row in rows.to_pylist()]
    assert words.tolist() == [sum(len(one.split(" ")) for one in row) for row in split]
    return split


@pytest.mark.parametrize(("text", "sentences"), VECTORS)
def test_vectors_of_the_page(text, sentences):
    assert found(pa.array([text], pa.large_string())) == [sentences] == [twin(text)]


@settings(max_examples=400, deadline=None)
@given(text_arrays())
def test_sentences_equal_the_twin(column):
    assert found(column) == [twin(text) for text in column.to_pylist()]


@settings(deadline=None)
@given(texts)
def test_wrapping_lines_again_changes_nothing(text):
    flowing = " ".join(text.replace("\n", " ").split(" "))
    wrapped = re.sub(r"(?<! ) (?! )", "\n", flowing)
    if "\n\n" not in wrapped and not re.search(r"\n\s+\n", wrapped):
        assert found(pa.array([wrapped], pa.large_string())) == found(pa.array([flowing], pa.large_string()))
