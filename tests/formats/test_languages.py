"""Codes of languages in configs: each is one that documents get, and what people write instead is told."""

from typing import Any

import pycld2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.stages.function_words import FUNCTION_WORDS
from corpus_assets.stages.identify_language import lid_176
from corpus_assets.stages.language_codes import iso_639_1
from corpus_assets.validation import json_schema
from formats import model_config
from formats.corpus_config import problems
from formats.language_rules import LANGUAGE_LIMITS
from formats.languages import LANGUAGE, LANGUAGES, nearest
from tests.formats.test_corpus_config import document

FILE = {"path": "models/q.bin", "sha256": "ab" * 32}
PLACES = {
    "lang.allow[0]": lambda code: {"lang": {"allow": [code]}},
    "languages.{}": lambda code: {"languages": {code: {"prose": {"too_few_words": 9}}}},
    "words.lists[0].lang": lambda code: {"words": {"lists": [{**FILE, "name": "a", "max_ratio": 0.1, "lang": code}]}},
    "quality.langs[0]": lambda code: {"quality": {"model": FILE, "langs": [code]}},
    "safety.langs[0]": lambda code: {"safety": {"model": FILE, "langs": [code]}},
    "ppl.models[0].lang": lambda code: {"ppl": {"models": [{**FILE, "lang": code}]}},
}


def test_the_codes_are_those_that_the_detectors_give():
    heard = {iso_639_1(label) for label in lid_176().labels}
    heard |= {iso_639_1(dict(pycld2.LANGUAGES)[name]) for name in pycld2.DETECTED_LANGUAGES}
    assert {*LANGUAGES, "und"} == heard
    assert {*FUNCTION_WORDS, *LANGUAGE_LIMITS["prose"]} <= {*LANGUAGES}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("written", "meant"), [("jp", "ja"), ("eng", "en"), ("no", "nb"), ("xx", None)])
def test_a_code_that_no_document_gets_is_refused_wherever_it_stands(place: str, written: str, meant: str | None):
    changed = document(**PLACES[place](written))
    [(path, wrong)] = problems(changed)
    assert path == place.format(written)
    assert wrong.startswith("expected an ISO 639-1 code")
    assert f"found '{written}', which no document is found to be in" in wrong
    assert wrong.endswith(f"; did you mean {meant}?" if meant else "(there are: " + ", ".join(LANGUAGES) + ")")
    assert json_schema.problems("corpus-config.schema.json", changed)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("code", ["ja", "nb", "und"])
def test_a_code_that_documents_get_is_taken_wherever_it_stands(place: str, code: str):
    right = document(**PLACES[place](code))
    assert not problems(right)
    assert not json_schema.problems("corpus-config.schema.json", right)


def test_the_language_of_a_model_is_held_to_the_same():
    config: dict[str, Any] = {"model": "m", "kind": "perplexity", "version": "a.v1", "positive": ["web"], "lang": "ger"}
    [(path, wrong)] = model_config.problems(config)
    assert (path, wrong.endswith("did you mean de?")) == ("lang", True)
    assert not model_config.problems({**config, "lang": "de"})


@pytest.mark.parametrize(("written", "meant"), [
    ("deu", "de"), ("GER", "de"), ("German", "de"), ("germn", "de"), ("pt-BR", "pt"), ("zh_Hant", "zh"), ("cn", "zh"),
    ("iw", "he"), ("ua", "uk"), ("cz", "cs"), ("japanse", "ja"), ("unknown", "und"), ("qq", None), ("", None),
    ("a" * 10_000, None),
])  # fmt: skip
def test_what_people_write_for_a_language_names_its_code(written: str, meant: str | None):
    assert nearest(written) == meant


@given(st.text(max_size=30))
def test_whatever_is_written_only_a_code_is_named_and_only_codes_pass(word: str):
    assert nearest(word) in (None, "und", *LANGUAGES)
    assert (not list(LANGUAGE.problems(word, ""))) == (word in ("und", *LANGUAGES))
