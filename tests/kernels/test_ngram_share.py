"""The share of an item that a text holds equals a naive count over sets of n-grams."""

from fractions import Fraction

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.ngram_match import make_index
from corpus_assets.kernels.ngram_share import share_index, shares, spans
from tests.kernels import reference

texts = st.lists(st.sampled_from(["a", "b", "c", "d", "é", "1", "漢"]), max_size=30).map(" ".join)
items = st.lists(st.sampled_from(["a", "b", "c", "d", "é", "1"]), min_size=3, max_size=12).map(" ".join)


def ngrams(text: str, width: int) -> set[tuple[str, ...]]:
    words = reference.words(text)
    if len(words) < width:
        return {tuple(words)} if words else set()
    return {tuple(words[i : i + width]) for i in range(len(words) - width + 1)}


def index_of(entries: list[str], width: int):
    names = [("set", str(i)) for i in range(len(entries))]
    return share_index(make_index(names, pa.array(entries, pa.large_string()), ngram=13, min_words=3), width)


@settings(max_examples=150, deadline=None)
@given(st.lists(items, min_size=1, max_size=5), st.lists(texts | st.none(), max_size=4), st.integers(1, 4))
def test_the_best_share_is_that_of_a_naive_count(entries, column, width):
    found = shares(pa.array(column, pa.large_string()), index_of(entries, width))
    for text, entry, shared, size in zip(column, *(one.tolist() for one in found), strict=True):
        held = ngrams(text or "", width)
        naive = [(len(ngrams(one, width) & held), len(ngrams(one, width))) for one in entries]
        best = max(Fraction(*one) for one in naive)
        if best == 0:
            assert (entry, shared, size) == (-1, 0, 0)
        else:
            assert entry == next(i for i, one in enumerate(naive) if Fraction(*one) == best)
            assert (shared, size) == naive[entry]


def test_changed_words_lower_the_share_and_do_not_hide_the_item():
    item = "how many apples does the old gardener pick in a week if he picks nine of them each day of it"
    changed = item.replace("apples", "pears").replace("nine", "seven")
    entry, shared, size = shares(pa.array([item, changed, "nothing of it"], pa.large_string()), index_of([item], 5))
    assert entry.tolist() == [0, 0, -1]
    assert shared.tolist() == [17, 9, 0]
    assert size.tolist() == [17, 17, 0]


@settings(max_examples=150, deadline=None)
@given(st.lists(items, min_size=1, max_size=4), st.lists(texts, max_size=3), st.integers(1, 4))
def test_a_span_reaches_from_the_first_ngram_of_the_item_to_the_end_of_the_last(entries, column, width):
    """All n-grams lie in it, and without its first or last word one of them does not."""
    index, text = index_of(entries, width), pa.array(column, pa.large_string())
    entry = shares(text, index)[0]
    for row, of, start, end in zip(
        column, entry.tolist(), *(one.tolist() for one in spans(text, entry, index)), strict=True
    ):
        if of < 0:
            assert (start, end) == (-1, -1)
            continue
        wanted = ngrams(entries[of], width) & ngrams(row, width)
        inside = row[start:end].split(" ")
        assert wanted <= ngrams(" ".join(inside), width)
        for less in (inside[1:], inside[:-1]):
            held = ngrams(" ".join(less), width) & wanted
            assert len(inside) <= width or sum(n in wanted for n in runs(less, width)) < sum(
                n in wanted for n in runs(inside, width)
            ), held


def runs(words: list[str], width: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + width]) for i in range(len(words) - width + 1)]


def test_no_items_and_no_rows_are_no_hits():
    none = index_of([], 5)
    assert shares(pa.array(["a b c d e f"], pa.large_string()), none)[0].tolist() == [-1]
    assert [len(column) for column in shares(pa.array([], pa.large_string()), none)] == [0, 0, 0]


def test_an_entry_that_stands_again_without_its_markers_counts_once():
    """Its n-grams without them would make texts near it that only have its shorter pieces."""
    own, bare = "a) one two three b) four five six", "one two three four five six"
    names = [("set", "0.q"), ("set", "0.q")]
    index = share_index(make_index(names, pa.array([own, bare], pa.large_string()), ngram=13, min_words=3), 3)
    assert index.sizes.tolist() == [6, 0]
    entry, shared, of = shares(pa.array([own, bare], pa.large_string()), index)
    assert (entry.tolist(), shared.tolist(), of.tolist()) == ([0, 0], [6, 2], [6, 6])
