"""n-grams and their places equal those of a naive twin, sampled or looked for, in texts of any kind."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.ngram_places import ngram_places
from formats.errors import ConfigError
from tests.kernels import reference
from tests.strategies import texts

SIGN = 1 << 63


def column(*values):
    return pa.array(values, pa.large_string())


def tuples(places):
    names = ("row", "start", "length", "hash")
    return sorted(zip(*(getattr(places, name).tolist() for name in names), strict=True))


def twin(documents, widths, is_wanted, whole_from=None):
    """As `tuples`, word by word."""
    found = []
    for row, text in enumerate(documents):
        words, at = reference.words(text or ""), reference.word_places(text or "")
        runs = [(i - width + 1, i) for i in range(len(words)) for width in widths if width <= i + 1]
        if whole_from is not None and whole_from <= len(words) < widths[-1]:
            runs.append((0, len(words) - 1))
        for first, last in runs:
            value = reference.ngram_hash(words[first : last + 1])
            if is_wanted(value):
                signed = value - (1 << 64) if value >= SIGN else value
                found.append((row, at[first][0], at[last][1] - at[first][0], signed))
    return sorted(found)


few_words = st.lists(st.sampled_from(["a", "b", "B", "我", "é", "é", "😀 ", ", ", "c "]), max_size=40).map(" ".join)
documents_of_any_kind = st.lists(few_words | texts | st.none(), max_size=4)


@settings(max_examples=300, deadline=None)
@given(documents_of_any_kind, st.sampled_from([[1], [3], [13], [2, 3, 5]]), st.sampled_from([1, 2, 3, 7]))
def test_sampled_ngrams_equal_the_reference(documents, widths, rate):
    found = tuples(ngram_places(column(*documents), widths, rate=rate))
    assert found == twin(documents, widths, lambda value: value % rate == 0)


@settings(max_examples=300, deadline=None)
@given(documents_of_any_kind, few_words, st.sampled_from([[1], [3], [2, 3, 5]]))
def test_ngrams_looked_for_equal_the_reference(documents, other, widths):
    wanted = {one[3] for one in twin([other], widths, lambda _: True)}
    found = tuples(ngram_places(column(*documents), widths, keys=np.array(sorted(wanted), np.int64)))
    assert found == twin(documents, widths, lambda value: (value - (1 << 64) if value >= SIGN else value) in wanted)


@settings(max_examples=200, deadline=None)
@given(documents_of_any_kind, st.sampled_from([(5, 2), (13, 8), (3, 3), (2, 1)]))
def test_a_short_text_is_one_ngram_from_its_shortest_length_on(documents, limits):
    ngram, shortest = limits
    found = tuples(ngram_places(column(*documents), [ngram], whole_from=shortest))
    assert found == twin(documents, [ngram], lambda _: True, shortest)


def test_places_are_code_points_in_a_sliced_column():
    text = column("skipped", "😀é 我喜欢，\r\n 绿茶 été.")[1:]
    places = ngram_places(text, [3])
    assert [(s, s + n) for s, n in zip(places.start.tolist(), places.length.tolist(), strict=True)] == [
        (1, 5), (3, 6), (4, 11), (5, 12), (10, 16),
    ]  # fmt: skip


def test_a_long_text_gives_as_many_ngrams_as_it_has():
    places = ngram_places(column("0 " * 50_000), [13])
    assert len(np.unique(places.hash)) == 1
    assert places.start.tolist() == list(range(0, 2 * (50_000 - 12), 2))


def test_a_text_of_many_stretches_equals_the_reference():
    text = " ".join(f"w{i}" if i % 3 else "是" for i in range(40_000))
    assert tuples(ngram_places(column(text), [2, 5], rate=11)) == twin([text], [2, 5], lambda value: value % 11 == 0)


def test_nothing_looked_for_is_nothing_found():
    assert tuples(ngram_places(column("a b c"), [2], keys=np.empty(0, np.int64))) == []
    assert tuples(ngram_places(column(None, "", " . "), [1])) == []


@pytest.mark.parametrize(("widths", "rate"), [([], 1), ([0], 1), ([3, 2], 1), ([2, 2], 1), ([2], 0)])
def test_what_is_no_width_or_rate_is_refused(widths, rate):
    with pytest.raises(ConfigError, match="expected ascending widths and a rate"):
        ngram_places(column("a b"), widths, rate=rate)
