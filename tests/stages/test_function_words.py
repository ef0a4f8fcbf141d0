"""function_words: what the sets hold, and what is said of a line by counting."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.stages import function_words
from corpus_assets.stages.function_words import FUNCTION_WORDS, among_neighbours, by_function_words
from corpus_assets.stages.language_codes import FOLD, ISO_639_1
from tests.kernels.reference_signals import words_of


@pytest.mark.parametrize("code", FUNCTION_WORDS)
def test_the_words_of_a_language_are_lower_case_and_each_stands_once(code):
    words = FUNCTION_WORDS[code].split()
    assert code in ISO_639_1
    assert len(words) == len(set(words)) >= 8
    for word in words:
        assert "".join(part for part, *_ in words_of(word)) == word, "no sign inside, and lower-cased as words are"


def test_english_has_the_eight_of_the_paper():
    assert FUNCTION_WORDS["en"].split() == ["the", "be", "to", "of", "and", "that", "have", "with"]


@given(st.lists(st.sampled_from([word for text in FUNCTION_WORDS.values() for word in text.split()]), max_size=12))
def test_the_language_with_the_most_different_words_is_named_where_it_is_one(words):
    counts = Counter({code: len(set(words) & set(text.split())) for code, text in FUNCTION_WORDS.items()})
    most = max(counts.values())
    first = [code for code, n in counts.items() if n == most]
    expected = first[0] if len(first) == 1 and most >= 2 else None
    assert by_function_words(", ".join(words).title().lower()) == expected


def test_the_page_names_every_label_that_is_renamed():
    page = Path(function_words.__file__).with_name("languages.md").read_text("utf-8")
    table = page[page.index("## The codes") :]
    assert all(f"`{label}`" in table and f"`{code}`" in table for label, code in FOLD.items())


@pytest.mark.parametrize(("line", "heard", "said"), [
    ("Tko je otvorio kazalište u Zagrebu?", "bs", "hr"),
    ("Općina je zahvalila univerzitetu za pomoć.", "hr", "bs"),
    ("Gde je bilo lepo vreme, pre nedelju dana?", "bs", "sr"),
    ("Vrijeme je uvijek lijepo.", "sr", "sr"),
    ("Vrijeme je uvijek lijepo, a muzika je tiha.", "sr", "bs"),
    ("Тоа беше кој знае што од таа страна.", "sr", "mk"),
    ("Който знае, ще каже това на всички.", "sr", "bg"),
    ("Der Bäcker ist der beste.", "de", "de"),
    ("", "hr", "hr"),
])  # fmt: skip
def test_close_neighbours_are_told_apart_by_words_that_only_one_of_them_has(line, heard, said):
    assert among_neighbours(line, heard) == said
