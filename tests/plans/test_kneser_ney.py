"""Language models: held to a naive twin, to the axioms of probability, and to KenLM, which has to read them."""

import itertools
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.sentence_words import sentence_words
from corpus_assets.plans import kneser_ney
from corpus_assets.stages.score_perplexity import perplexities, stored_model
from formats import durable
from formats.errors import ConfigError
from tests.assets import tiny
from tests.plans.naive_kneser_ney import FALLBACK, NaiveModel, discounts

kenlm = pytest.importorskip("kenlm")

sentences = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", "é"]), min_size=1, max_size=7).map(" ".join), min_size=1, max_size=25
)


def arpa_of(found: list[str]) -> bytes:
    return kneser_ney.to_arpa(kneser_ney.train(pa.array(found, pa.large_string())))


def loaded(arpa: bytes, folder: Path) -> Any:
    path = folder / f"{abs(hash(arpa))}.arpa"
    path.write_bytes(arpa)
    return stored_model(str(path), durable.sha256_of(path))


def after(model: Any, context: tuple[str, ...]) -> Any:
    """KenLM's state after these words; <s> stands at the front alone."""
    state = kenlm.State()
    if context[:1] == ("<s>",):
        model.BeginSentenceWrite(state)
        context = context[1:]
    else:
        model.NullContextWrite(state)
    for word in context:
        following = kenlm.State()
        model.BaseScore(state, word, following)
        state = following
    return state


def probabilities(model: Any, state: Any, words: list[str]) -> dict[str, float]:
    return {word: 10 ** model.BaseScore(state, word, kenlm.State()) for word in words}


def contexts(words: list[str]) -> list[tuple[str, ...]]:
    """Every context of two words at most, seen and unseen, and of a word that the model does not know."""
    words = [word for word in words if word not in ("</s>", "<unk>")] + ["strange"]
    return [(), ("<s>",), *((w,) for w in words), *(("<s>", w) for w in words), *itertools.product(words, repeat=2)]


def known(words: list[str], context: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word if word in (*words, "<s>") else "<unk>" for word in context)


@settings(max_examples=60, deadline=None)
@given(sentences)
def test_kenlm_says_of_every_context_what_the_twin_says_and_it_sums_to_one(tmp_path_factory, found):
    naive = NaiveModel(found)
    model = loaded(arpa_of(found), tmp_path_factory.mktemp("arpa"))
    for context in contexts(naive.words):
        state = after(model, context)
        said = probabilities(model, state, naive.words)
        assert math.isclose(sum(said.values()), 1, abs_tol=2e-5)
        for word, probability in said.items():
            assert math.isclose(probability, naive.probability(word, known(naive.words, context)), rel_tol=1e-5)


@settings(max_examples=40, deadline=None)
@given(sentences, st.randoms(use_true_random=False))
def test_the_order_of_sentences_changes_no_byte(found, rng):
    shuffled = list(found)
    rng.shuffle(shuffled)
    assert arpa_of(found) == arpa_of(shuffled)


def long_text() -> list[str]:
    """Words by a law like that of languages, so that every order has counts of 1 to 4 and more."""
    rng = random.Random(7)
    words = [f"w{number}" for number in range(1000)]
    weights = [1 / (i + 1) for i in range(1000)]
    return [" ".join(rng.choices(words, weights, k=rng.randint(3, 12))) for _ in range(400)]


def test_discounts_come_from_the_counts_where_there_are_enough(tmp_path):
    naive = NaiveModel(long_text())
    assert FALLBACK not in naive.taken.values()
    for order, counts in naive.counts.items():
        found = kneser_ney.discounts(np.array(list(counts.values())))
        assert found.tolist() == pytest.approx([0.0, *naive.taken[order]])
    model = loaded(arpa_of(long_text()), tmp_path)
    seen = sorted(gram[:2] for gram in naive.counts[3])
    rng = random.Random(1)
    for context in [*rng.sample(seen, 10), *((rng.choice(naive.words), rng.choice(naive.words[1:])) for _ in range(5))]:
        if "</s>" in context:
            continue
        state = after(model, context)
        said = probabilities(model, state, naive.words)
        assert math.isclose(sum(said.values()), 1, abs_tol=2e-5)
        for word in sorted(said, key=lambda one: (-said[one], one))[:5]:
            assert math.isclose(said[word], naive.probability(word, known(naive.words, context)), rel_tol=1e-5)


@pytest.mark.parametrize("counts", [[1] * 10 + [2] * 30 + [3] * 40 + [4], [1, 2, 3], [1, 1, 2, 3, 4]])
def test_counts_that_give_no_discount_fall_back(counts):
    naive = discounts(Counter({(str(i),): n for i, n in enumerate(counts)}))
    assert kneser_ney.discounts(np.array(counts)).tolist() == pytest.approx([0.0, *naive])
    assert all(0 < d <= n for n, d in enumerate(naive, 1))


def test_text_that_never_repeats_three_words_makes_a_model_of_two(tmp_path):
    arpa = arpa_of(["a b c", "c a b"])
    assert b"ngram 2=" in arpa
    assert b"ngram 3=" not in arpa
    assert loaded(arpa, tmp_path).order == 2


def test_a_text_scores_as_the_twin_says(tmp_path):
    """The whole way: texts to sentences to a model, and its perplexity of other texts."""
    train = pa.array(tiny.TALES + tiny.WEB, pa.large_string())
    written, words = sentence_words(train)
    split = pc.split_pattern(written.filter(pa.array(words > 0)), "\n").flatten()
    naive, model = NaiveModel(split.to_pylist()), loaded(kneser_ney.to_arpa(kneser_ney.train(split)), tmp_path)
    for text in [*tiny.NOTES[:3], "Zyx qwv. Mill!", "The well."]:
        (one,) = sentence_words(pa.array([text], pa.large_string()))[0].to_pylist()
        log10, tokens = 0.0, 0
        for sentence in one.split("\n"):
            history: tuple[str, ...] = ("<s>",)
            for word in known(naive.words, (*sentence.split(" "), "</s>")):
                log10 += math.log10(naive.probability(word, history[-2:]))
                history, tokens = (*history, word), tokens + 1
        found = perplexities(pa.array([text], pa.large_string()), model).to_pylist()
        assert found[0] == pytest.approx(1000 * 10 ** (-log10 / tokens), rel=1e-4)


def test_no_sentence_is_said_to_be_none():
    with pytest.raises(ConfigError, match="no sentence"):
        kneser_ney.train(pa.array([], pa.large_string()))
