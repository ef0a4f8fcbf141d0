"""letter_count against plain Python."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.letters import letter_count
from corpus_assets.kernels.unicode_tables import LETTER, MARK, SINGLE, tables


def naive(text):
    kinds, n, letter = tables()[0], 0, False
    for character in text:
        kind = kinds[ord(character)]
        letter = kind in (LETTER, SINGLE) or (letter and kind == MARK)
        if letter:
            code = ord(character)
            n += 3 if (kind == SINGLE and code >= 0x2E80) or 0xAC00 <= code <= 0xD7A3 else 1
    return n


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text() | st.text(st.sampled_from("a0ไทนิ한국어面包パン😀\u0301\ufe0f ")), max_size=4))
def test_any_text_has_as_many_letters_as_plain_python_counts(texts):
    assert letter_count(pa.array(texts, pa.large_string())).tolist() == [naive(text) for text in texts]


@pytest.mark.parametrize(("text", "letters"), [
    ("", 0), ("12 345", 0), ("abc", 3), ("a\u0301", 2), ("☀\ufe0f", 0), ("面包", 6), ("パン", 6), ("빵", 3), ("กิน", 3),
])  # fmt: skip
def test_letters_are_counted_as_a_reader_does(text, letters):
    assert letter_count(pa.array([text, None], pa.large_string())).tolist() == [letters, 0]
