"""The sections `quality` and `ppl` of a config: what they mean, and what is wrong in them."""

import pytest

from corpus_assets.validation import json_schema
from formats.corpus_config import from_document, problems
from tests.formats.test_corpus_config import document

SHA = "ab" * 32
FILE = {"path": "models/quality.bin", "sha256": SHA}
ENGLISH = {"lang": "en", "path": "models/en.arpa", "sha256": SHA}

WRONG = {
    "no model": ({"quality": {"min": 0.5}}, "quality.model: missing"),
    "a path alone": ({"quality": {"model": "q.bin"}}, "quality.model: expected an object of path"),
    "no digest": ({"quality": {"model": {"path": "q.bin"}}}, "quality.model.sha256: missing"),
    "a short digest": (
        {"quality": {"model": {**FILE, "sha256": "ab"}}},
        "quality.model.sha256: expected 64 lower-case",
    ),
    "a score above 1": ({"quality": {"model": FILE, "min": 300}}, "quality.min: expected a number from 0 to 1"),
    "an unknown profile": ({"quality": {"model": FILE, "profiles": ["poem"]}}, "quality.profiles[0]: expected one of"),
    "no profile": ({"quality": {"model": FILE, "profiles": []}}, "quality.profiles: expected at least 1"),
    "a largest quality": ({"quality": {"model": FILE, "max": 0.5}}, "quality.max: unknown setting"),
    "no language": ({"quality": {"model": FILE, "langs": []}}, "quality.langs: expected at least 1"),
    "a language in words": (
        {"safety": {"model": FILE, "langs": ["english"]}},
        "safety.langs[0]: expected an ISO 639-1",
    ),
    "a safe score above 1": ({"safety": {"model": FILE, "min": 300}}, "safety.min: expected a number from 0 to 1"),
    "no model of safety": ({"safety": {"min": 0.5}}, "safety.model: missing"),
    "no language model": ({"ppl": {"models": []}}, "ppl.models: expected at least 1"),
    "models by language": ({"ppl": {"models": {"en": FILE}}}, "ppl.models: expected a list"),
    "a language twice": ({"ppl": {"models": [ENGLISH, ENGLISH]}}, "en is in the list already"),
    "a language's name": ({"ppl": {"models": [{**ENGLISH, "lang": "english"}]}}, "lang: expected an ISO 639-1 code"),
    "a negative limit": ({"ppl": {"models": [{**ENGLISH, "max": -1}]}}, "max: expected a number from 0"),
    "limits the wrong way round": (
        {"ppl": {"models": [{**ENGLISH, "min": 50, "max": 10}]}},
        "ppl.models[0].min: 50 is above max, which is 10",
    ),
}
SAID_BY_NO_SCHEMA = ("a language twice", "limits the wrong way round")


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_with_its_place(name):
    changes, says = WRONG[name]
    found = [f"{path}: {wrong}" for path, wrong in problems(document(**changes))]
    assert any(says in one for one in found), found


@pytest.mark.parametrize("name", [name for name in WRONG if name not in SAID_BY_NO_SCHEMA])
def test_the_schema_refuses_what_the_reader_refuses(name):
    assert json_schema.problems("corpus-config.schema.json", document(**WRONG[name][0]))


def test_limits_are_whole_numbers_by_language_in_the_units_of_the_signals():
    german = {**ENGLISH, "lang": "de", "min": 12.5}
    config = from_document(
        document(
            quality={"model": FILE, "min": 0.3},
            ppl={"models": [{**ENGLISH, "max": 640.25}, german], "profiles": ["short"]},
        )
    )
    quality = {"quality_too_low": {"*": 300}}
    assert config.model_limits("prose") == quality
    assert config.model_limits("short") == {
        "perplexity_too_high": {"en": 640_250},
        "perplexity_too_low": {"de": 12_500},
        **quality,
    }
    assert config.model_limits("code") == {}
    assert config.model_filters == ("ppl", "quality")
    assert not json_schema.problems("corpus-config.schema.json", document(quality={"model": FILE}))


def test_languages_limit_the_limit_and_their_order_is_no_part_of_the_hash():
    first, other = (
        from_document(document(safety={"model": FILE, "min": 0.3, "langs": langs}))
        for langs in (["en", "de"], ["de", "en"])
    )
    assert first.model_limits("prose") == {"safety_too_low": {"de": 300, "en": 300}}
    assert first.config_sha256 == other.config_sha256
    plain = from_document(document(safety={"model": FILE, "min": 0.3}))
    assert plain.model_limits("prose") == {"safety_too_low": {"*": 300}}
    assert plain.safety.langs is None
    assert plain.config_sha256 != first.config_sha256


def test_without_the_sections_there_are_no_filters_by_models():
    config = from_document(document())
    assert (config.model_filters, config.model_limits("prose"), config.quality, config.ppl) == ((), {}, None, None)


def test_the_order_of_models_is_no_part_of_the_hash_and_a_digest_is():
    german = {**ENGLISH, "lang": "de"}
    hashes = [
        from_document(document(ppl={"models": models})).config_sha256
        for models in ([ENGLISH, german], [german, ENGLISH], [german, {**ENGLISH, "sha256": "cd" * 32}])
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_second_classifier_has_limits_and_a_rule_of_its_own():
    config = from_document(document(quality={"model": FILE, "min": 0.3}, safety={"model": FILE, "min": 0.7}))
    assert config.model_limits("prose") == {"quality_too_low": {"*": 300}, "safety_too_low": {"*": 700}}
    assert config.model_filters == ("quality", "safety")
    assert config.all_filters[-2:] == ("quality", "safety")


def test_a_config_without_safety_is_named_as_it_was():
    """The digests that configs with and without a quality model had before there was a second one."""
    assert from_document(document()).config_sha256 == "b1b5001b97fa2b8651ab2685009abcdd7ed87a0e59d06c727e98eb1e9dcd5eae"
    assert (
        from_document(document(quality={"model": FILE, "min": 0.3})).config_sha256
        == "a9433b577aa0ab222abac21ef8bd1f1c1cd6bf99825ef273503bcf9ea3f66d44"
    )
