"""mixed_languages: two languages in one text are heard, one language with words of another is not taken for them."""

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.stages.identify_language import identify
from corpus_assets.stages.measure_documents import measure_documents
from corpus_assets.stages.mixed_languages import (
    NUM_PIECES,
    Heard,
    Mixture,
    _pieces,
    is_mixed,
    mixed_languages,
    mixture_of,
)
from corpus_assets.stages.normalize_documents import normalize_documents
from tests.bench.bench_signals import raw_batches
from tests.bench.bench_text import SAME_LANGUAGE, labelled_texts
from tests.bench.report_languages import HALVES, mixtures, sentences_together
from tests.shared_data import DATA, needs_shared_data
from tests.stages.test_identify_language import PARAGRAPHS

ENGLISH, FRENCH, RUSSIAN = (PARAGRAPHS[code] + "\n\n" for code in ("en", "fr", "ru"))


def mixed(*texts: str | None) -> list[bool]:
    return is_mixed(pa.array(texts, pa.large_string())).to_pylist()


@pytest.mark.parametrize("code", PARAGRAPHS)
def test_a_text_in_one_language_is_no_mixture(code: str):
    assert mixed(PARAGRAPHS[code], (PARAGRAPHS[code] + "\n\n") * 20) == [False, False]


@pytest.mark.parametrize("text", [
    ENGLISH * 8 + FRENCH * 8, RUSSIAN * 8 + ENGLISH * 8, ENGLISH * 6 + FRENCH * 6 + RUSSIAN * 3,
    (ENGLISH * 8 + RUSSIAN * 8) * 2, PARAGRAPHS["ja"] * 10 + PARAGRAPHS["de"] * 10,
])  # fmt: skip
def test_a_text_in_two_languages_is_one(text: str):
    assert mixed(text) == [True]


@pytest.mark.parametrize("text", [
    None, "", "Guten Morgen! Good morning!", FRENCH * 20 + ENGLISH,
    "".join(f"## Getting started with the bakery server {i}\n\n{PARAGRAPHS['es']}\n\n" for i in range(12)),
    "```python\nfor item in shopping_list:\n    print('the quick brown fox', item)\n```\n" + PARAGRAPHS["es"] * 20,
])  # fmt: skip
def test_little_of_another_language_makes_no_mixture(text: str | None):
    assert mixed(text) == [False]


def heard(*pieces: tuple[str, str]) -> list[Heard]:
    return [Heard(100, agreed, maybe) for agreed, maybe in pieces]


def test_one_language_must_be_certain_and_both_must_have_their_share():
    german, french, doubtful = ("de", "de"), ("fr", "fr"), ("und", "fr")
    assert mixture_of(heard(german, german, german, german, german, doubtful))
    assert not mixture_of(heard(*[("und", "de")] * 5, doubtful))
    assert mixture_of(heard(*[("und", "de")] * 5, french))
    assert not mixture_of([*heard(*[german] * 6), Heard(30, "fr", "fr")])
    assert not mixture_of([*heard(german), Heard(24, "fr", "fr")]), "too few letters to be heard"
    assert not mixture_of(heard(("und", "und"), german))


@pytest.mark.parametrize(("one", "other"), [("hr", "sr"), ("nb", "da"), ("cs", "sk"), ("hi", "mr"), ("es", "gl")])
def test_close_languages_are_no_mixture(one: str, other: str):
    assert not mixture_of(heard(*[(one, one)] * 3, *[(other, other)] * 3))


def test_the_mixture_named_is_that_of_which_the_lesser_language_has_the_most():
    pieces = heard(("de", "de"), ("de", "de"), ("de", "de"), ("und", "fr"), ("und", "fr"), ("ru", "ru"))
    assert mixture_of(pieces) == Mixture("de", 500, "fr", 333)
    assert mixture_of(pieces[:3] + pieces[5:]) == Mixture("de", 750, "ru", 250)


def test_the_languages_of_a_mixture_are_told_where_it_has_no_label():
    texts = [FRENCH * 8, ENGLISH * 8 + FRENCH * 8, None, ENGLISH * 8 + FRENCH * 8, RUSSIAN * 9 + FRENCH * 12]
    batch = pa.record_batch({"k": pa.array([3, 4, 6, 8, 9]), "text": pa.array(texts, pa.large_string())})
    signals = pa.table(
        {"k": pa.array([3, 4, 6, 8, 9]), "lang": pa.array(["fr", "und", "und", "en", "und"], pa.large_string())}
    )
    told = mixed_languages(batch, signals).to_pylist()
    assert [(row["k"], {row["certain"], row["likely"]}) for row in told] == [(4, {"en", "fr"}), (9, {"ru", "fr"})]
    assert all(150 <= row[name] <= 1000 for row in told for name in ("certain_share", "likely_share"))
    assert mixed_languages(batch.slice(0, 1), signals).num_rows == 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.none() | st.text(max_size=40), max_size=5), st.integers(0, 3))
def test_pieces_are_whole_characters_and_together_the_text(texts: list[str | None], skipped: int):
    column = pa.array(texts, pa.large_string()).slice(skipped)
    pieces = _pieces(column)
    pieces.validate(full=True)
    found = pieces.to_pylist()
    together = ["".join(found[i : i + NUM_PIECES]) for i in range(0, len(found), NUM_PIECES)]
    assert together == [text or "" for text in column.to_pylist()]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([ENGLISH, FRENCH, RUSSIAN, "", ENGLISH * 8 + FRENCH * 8]), max_size=6), st.integers(0, 6)
)
def test_a_batch_may_be_cut_anywhere(texts: list[str], cut: int):
    assert mixed(*texts[:cut]) + mixed(*texts[cut:]) == mixed(*texts)


def test_signals_of_a_mixture_say_und_only_where_that_is_asked_for():
    texts = [ENGLISH * 8 + FRENCH * 8, FRENCH * 8]
    [raw] = raw_batches(pa.array(texts, pa.large_string()))
    documents = normalize_documents(raw, source_id="s", raw_part=0, first_k=0)
    greatest, undetermined = measure_documents(documents), measure_documents(documents, mixed="und")
    assert greatest.column("lang").to_pylist() == identify(documents["text"])[0].to_pylist()
    assert undetermined.column("lang").to_pylist() == ["und", "fr"]
    assert undetermined.column("lang_score")[0].as_py() == 0
    assert undetermined.column("lang_score")[1] == greatest.column("lang_score")[1]
    for name in ("n_chars", "n_words", "exact_digest"):
        assert undetermined.column(name).equals(greatest.column(name))


@needs_shared_data
def test_four_in_five_mixtures_are_found_and_two_in_a_thousand_pages_lost():
    labelled = labelled_texts(DATA, "documents")
    texts = pa.array([text for _, text in labelled], pa.large_string())
    told = identify(texts)[0].to_pylist()
    right = [SAME_LANGUAGE.get(code, code) == SAME_LANGUAGE.get(said, said)
             for (code, _), said in zip(labelled, told, strict=True)]  # fmt: skip
    lost = sum(one and is_right for one, is_right in zip(is_mixed(texts).to_pylist(), right, strict=True))
    assert lost <= 0.002 * sum(right)
    pages: dict[str, list[str]] = {}
    for code, text in labelled:
        pages.setdefault(SAME_LANGUAGE.get(code, code), []).append(text)
    for of_language in (pages, sentences_together(DATA)):
        made = mixtures(of_language, HALVES, 400, random.Random(5))
        assert sum(mixed(*made)) >= 0.8 * len(made)
