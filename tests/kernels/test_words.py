import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from corpus_assets.kernels import words as kernel
from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.unicode_tables import tables
from tests.kernels import reference
from tests.strategies import text_arrays, texts

PAGE = Path(kernel.__file__).with_name("words.md").read_text("utf-8")


def hashes(text):
    data = np.frombuffer(text.encode(), np.uint8)
    out = np.empty(len(data), np.uint64)
    return out[: kernel.word_hashes(data, 0, len(data), *tables(), out)].tolist()


def spans(text):
    data = np.frombuffer(text.encode(), np.uint8)
    out, starts, ends = (np.empty(len(data), t) for t in (np.uint64, np.int64, np.int64))
    n = kernel.word_spans(data, 0, len(data), *tables(), out, starts, ends)
    return out[:n].tolist(), [data[i:j].tobytes().decode() for i, j in zip(starts[:n], ends[:n], strict=True)]


def grams(text, width):
    found = np.array(hashes(text), np.uint64)
    out = np.empty(len(found) + 1, np.uint64)
    return out[: kernel.ngram_hashes(found, len(found), width, out)].tolist()


@settings(max_examples=400, deadline=None)
@given(texts)
def test_word_hashes_equal_word_spans_and_the_reference(text):
    found, parts = spans(text)
    assert hashes(text) == found == [reference.word_hash(word) for word in reference.words(text)]
    assert parts == [text[i:j] for i, j in reference.word_places(text)]


@settings(deadline=None)
@given(texts)
def test_a_text_has_at_most_half_as_many_words_as_bytes_rounded_up(text):
    assert len(hashes(text)) <= (len(text.encode()) + 1) // 2


@settings(deadline=None)
@given(text_arrays())
def test_word_count_equals_the_reference_on_slices_and_nulls(column):
    assert kernel.word_count(column).to_pylist() == [len(reference.words(text or "")) for text in column.to_pylist()]


@pytest.mark.parametrize("width", [1, 5, 13])
@settings(deadline=None)
@given(text=texts)
def test_ngram_hashes_equal_the_reference(text, width):
    assert grams(text, width) == reference.shingle_hashes(text, width)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\n\n", "\u2028", "\t", " "])
def test_wrapping_lines_again_changes_no_hash(line_end):
    text = "The quick-witted otter, aged 3, slept under Dr. Ōta's bridge; 我喜欢 the sound"
    assert hashes(text.replace(" ", line_end)) == hashes(text)


def test_the_vectors_of_the_page_hold():
    vectors = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.S)[1])
    assert vectors["words"]
    for text, found, expected in vectors["words"]:
        assert reference.words(text) == found
        assert hashes(text) == [int(value, 16) for value in expected]
    for text, width, expected in vectors["ngrams"]:
        assert grams(text, width) == [int(value, 16) for value in expected]


def test_a_column_of_32_bit_offsets_is_refused():
    with pytest.raises(TypeError, match="large_string"):
        string_buffers(pa.array(["a"]))
