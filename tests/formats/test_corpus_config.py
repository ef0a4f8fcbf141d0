import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import corpus_config
from formats.corpus_config import CorpusConfig, from_document
from formats.dedup_rules import NearRules
from formats.errors import ConfigError
from formats.naming import VersionKey
from formats.reasons import FILTERS, PROFILES, RULE_BY_REASON, RULES

SPEC = (Path(corpus_config.__file__).parent / "corpus_config.md").read_text("utf-8")
EVAL_SET = {"name": "riddles", "path": "eval/riddles.csv", "sha256": "ab" * 32, "format": "csv", "fields": ["q", "a"]}


def document(**changes: Any) -> dict[str, Any]:
    least = {"dataset": "starter", "version": "v1", "sources": ["web", "books"], "licenses": {"allow": ["MIT"]}}
    return {**least, **changes}


WRONG: dict[str, tuple[Any, str]] = {
    "no document": ([], "expected an object of dataset"),
    "no sources": ({k: v for k, v in document().items() if k != "sources"}, "sources: missing"),
    "empty sources": (document(sources=[]), "sources: expected at least 1"),
    "sources as a text": (document(sources="web"), "sources: expected a list"),
    "source that is no name": (document(sources=["web", "a b"]), "sources[1]: expected a name"),
    "version as a number": (document(version=1), "version: expected a name [a-z0-9][a-z0-9_-]*, found 1; put it in"),
    "version with a dot": (document(version="v1.2"), "version: expected a name"),
    "licenses as a list": (document(licenses=["MIT"]), "licenses: expected an object of allow"),
    "nothing allowed": (document(licenses={"allow": []}), "licenses.allow: expected at least 1"),
    "unknown setting": (document(shard_row=1), "shard_row: unknown setting; did you mean shard_rows?"),
    "no language": (document(languages={"german": {}}), "languages.german: expected an ISO 639-1 code"),
    "languages as a list": (document(languages=["de"]), "languages: expected an object of an ISO 639-1 code"),
    "unknown rule of a language": (
        document(languages={"de": {"prose": {"too_few_word": 1}}}),
        "languages.de.prose.too_few_word: unknown setting; did you mean too_few_words?",
    ),
    "misspelt deep down": (
        document(dedup={"near": {"treshold": 0.8}}),
        "dedup.near.treshold: unknown setting; did you mean jaccard_threshold?",
    ),
    "true for a number": (document(shard_rows=True), "shard_rows: expected a whole number from 1"),
    "1 for true": (document(dedup={"near": {"drop": 1}}), "dedup.near.drop: expected true or false, found 1"),
    "shards of no rows": (document(shard_rows=0), "shard_rows: expected a whole number from 1"),
    "half a row": (document(shard_rows=1.5), "shard_rows: expected a whole number"),
    "too many in val": (document(val_permille=1001), "val_permille: expected a whole number from 0 to 1000"),
    "unknown filter": (document(filters=["lang", "gofer"]), "filters[1]: expected one of"),
    "a filter twice": (document(filters=["lang", "lang"]), "filters[1]: lang is in the list already"),
    "language name": (document(lang={"allow": ["english"]}), "lang.allow[0]: expected an ISO 639-1 code"),
    "unknown profile": (document(profiles={"poem": {}}), "profiles.poem: unknown setting"),
    "unknown rule": (document(profiles={"prose": {"too_few_word": 1}}), "did you mean too_few_words?"),
    "ratio above 1": (document(profiles={"prose": {"too_many_symbols": 10}}), "too_many_symbols: expected a number"),
    "half a word": (document(profiles={"prose": {"too_few_words": 1.5}}), "too_few_words: expected a whole number"),
    "negative mean": (document(profiles={"code": {"mean_word_too_long": -1}}), "mean_word_too_long: expected a number"),
    "threshold above 1": (document(dedup={"near": {"jaccard_threshold": 80}}), "expected a number from 0 to 1"),
    "other signatures": (document(dedup={"near": {"num_perm": 256}}), "128 (signatures are stored as 128 x uint32)"),
    "more hot keepers than a bucket has": (
        document(dedup={"near": {"max_bucket": 10, "hot_keepers": 11}}),
        "is 11, above max_bucket, which is 10",
    ),
    "a threshold of nothing": (document(dedup={"near": {"jaccard_threshold": 1e-9}}), "is 0 in millionths"),
    "more bands than fit": (document(dedup={"near": {"bands": 17}}), "17 bands of 8 rows need 136 permutations"),
    "seed too long": (document(dedup={"near": {"seed": 2**32}}), "dedup.near.seed: expected a whole number"),
    "eval set twice": (document(decontaminate={"eval_sets": [EVAL_SET] * 2}), "riddles is in the list already"),
    "eval set without fields": (
        document(decontaminate={"eval_sets": [{**EVAL_SET, "fields": []}]}),
        "decontaminate.eval_sets[0].fields: expected at least 1",
    ),
    "exempt without set": (
        document(decontaminate={"eval_sets": [EVAL_SET], "exempt": ["jokes:1"]}),
        "decontaminate.exempt: jokes:1 names no eval set of this config (riddles)",
    ),
    "exempt of no form": (document(decontaminate={"exempt": ["riddles"]}), "decontaminate.exempt[0]: expected"),
    "shortest item too long": (document(decontaminate={"min_item_words": 14}), "decontaminate.min_item_words: 14"),
    "which addresses": (document(pii={"ips": "private"}), "pii.ips: expected one of public, all"),
    "country in words": (document(pii={"phone_regions": ["Germany"]}), "pii.phone_regions[0]: expected an ISO 3166"),
    "row groups beyond a column": (
        document(row_group_bytes=2**31),
        "row_group_bytes: expected a whole number from 1 to",
    ),
    "notes as a number": (document(notes=1), "notes: expected text, found 1; put it in quotes"),
    "the hash as a setting": (document(config_sha256="0" * 64), "config_sha256: unknown setting"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_document_is_refused_with_the_path_of_the_setting(name):
    wrong, words = WRONG[name]
    with pytest.raises(ConfigError) as raised:
        from_document(wrong)
    assert words in str(raised.value)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("setting", ["jaccard_threshold", "bands"])
def test_what_is_no_finite_number_is_refused(number, setting):
    with pytest.raises(ConfigError, match=f"dedup.near.{setting}"):
        from_document(document(dedup={"near": {setting: number}}))


def test_everything_that_is_wrong_is_said_at_once():
    with pytest.raises(ConfigError) as raised:
        from_document(document(version=1, lang={"allow": [True]}, shard=2))
    assert [line.partition(":")[0] for line in str(raised.value).splitlines()] == ["shard", "version", "lang.allow[0]"]


def test_a_document_of_the_least_settings_has_every_default():
    config = from_document(document())
    assert config == CorpusConfig(
        "starter", "v1", ("books", "web"), config.licenses, config_sha256=config.config_sha256
    )
    assert config.key == VersionKey("starter", "v1")
    assert config.filters == FILTERS


def test_the_whole_config_says_itself_as_a_document_that_gives_the_same_settings():
    full = document(
        profiles={"short": {"too_long": 100, "too_many_symbols": None}},
        decontaminate={"eval_sets": [EVAL_SET], "exempt": ["riddles:3"]},
        filters=["gopher", "length"],
        notes="one\ntwo",
    )
    config = from_document(full)
    again = from_document(json.loads(json.dumps(config.as_json())))
    assert again.as_json() == config.as_json()


def test_the_hash_is_of_the_document_as_written_and_not_of_its_defaults():
    least, spelled = document(), document(shard_rows=50_000)
    assert from_document(least).shard_rows == from_document(spelled).shard_rows
    assert from_document(least).config_sha256 != from_document(spelled).config_sha256


SETS = document(
    lang={"allow": ["de", "en", "und"]},
    licenses={"allow": ["MIT", "CC0-1.0"]},
    pii={"phone_regions": ["US", "DE"]},
    decontaminate={"eval_sets": [EVAL_SET, {**EVAL_SET, "name": "jokes"}], "exempt": ["jokes:1", "riddles:0"]},
)


def _shuffled(value: Any, draw: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shuffled(value[key], draw) for key in draw(st.permutations(list(value)))}
    if isinstance(value, list):
        return [_shuffled(item, draw) for item in draw(st.permutations(value))]
    return value


@given(st.data())
def test_the_order_of_keys_and_of_sets_does_not_change_the_hash(data):
    other = _shuffled(copy.deepcopy(SETS), data.draw)
    assert from_document(other) == from_document(SETS)


def test_a_word_that_is_in_a_set_twice_counts_once():
    assert from_document(document(sources=["web", "books", "web"])) == from_document(document())


def test_the_order_of_filters_is_part_of_the_hash():
    forth, back = document(filters=["lang", "gopher"]), document(filters=["gopher", "lang"])
    assert from_document(forth).config_sha256 != from_document(back).config_sha256


def test_the_hash_is_the_sha256_of_the_canonical_json():
    written = b'{"dataset":"starter","licenses":{"allow":["MIT"]},"sources":["books","web"],"version":"v1"}'
    assert from_document(document()).config_sha256 == hashlib.sha256(written).hexdigest()


@pytest.mark.parametrize("profile", PROFILES)
def test_thresholds_are_the_defaults_in_the_unit_of_the_signal(profile):
    found = from_document(document()).thresholds(profile)
    for rule in RULES:
        default = getattr(rule, profile)
        assert found[rule.reason] == (None if default is None else round(default * rule.scale))


def test_an_override_takes_the_place_of_a_default_in_its_profile_alone():
    config = from_document(
        document(profiles={"prose": {"too_many_symbols": 0.25, "too_few_words": None, "mean_word_too_long": 12.5}})
    )
    prose = config.thresholds("prose")
    assert (prose["too_many_symbols"], prose["too_few_words"], prose["mean_word_too_long"]) == (250_000, None, 12_500)
    assert config.thresholds("short") == from_document(document()).thresholds("short")


def test_rules_decide_in_the_order_of_the_filters_and_not_at_all_without_their_filter():
    found = from_document(document(filters=["repetition", "length"])).thresholds("prose")
    filters = [RULE_BY_REASON[reason].filter for reason in found]
    assert list(dict.fromkeys(filters)) == ["repetition", "length", "lang", "charset", "gopher"]
    off = {
        reason for reason, threshold in found.items() if RULE_BY_REASON[reason].filter not in ("repetition", "length")
    }
    assert all(found[reason] is None for reason in off)
    assert found.keys() == {rule.reason for rule in RULES}


def test_an_unknown_profile_has_no_thresholds():
    with pytest.raises(ConfigError, match="poem"):
        from_document(document()).thresholds("poem")


@pytest.mark.parametrize("profile", PROFILES)
def test_without_own_rules_no_language_has_thresholds_of_its_own(profile):
    assert from_document(document()).language_thresholds(profile) == {}


def test_what_a_person_wrote_stands_before_a_languages_own_limit():
    own = from_document(
        document(
            lang={"own_rules": True},
            profiles={"prose": {"too_few_stop_words": 3, "too_many_symbols": 0.2}},
            languages={"th": {"prose": {"too_few_stop_words": 1}}, "ko": {"short": {"too_long": None}}},
        )
    )
    prose, short = own.language_thresholds("prose"), own.language_thresholds("short")
    assert prose["de"] == {"too_few_stop_words": 3}
    assert prose["ja"]["too_many_duplicate_10grams"] == 150_000
    assert prose["th"]["too_few_stop_words"] == 1
    assert prose["th"]["too_many_duplicate_10grams"] is None
    assert prose["ko"]["mean_word_too_short"] == 2_000
    assert short == {"ko": {"too_long": None}}
    assert own.thresholds("prose")["too_many_symbols"] == 200_000


def test_a_limit_of_a_filter_that_is_not_configured_is_left_out():
    config = from_document(document(lang={"own_rules": True}, filters=["length", "repetition"]))
    assert config.language_thresholds("prose")["ja"] == {"too_many_duplicate_10grams": 150_000}


@given(st.integers(0, 1_000_000))
def test_a_threshold_written_with_six_decimals_is_exact(millionths):
    assert NearRules(jaccard_threshold=millionths / 1_000_000).jaccard_millionths == millionths


def test_every_effective_setting_is_in_what_a_stage_identity_takes():
    near = from_document(document(dedup={"near": {"seed": 7}})).dedup.near.as_json()
    assert near == {**NearRules().as_json(), "seed": 7}
    assert near["max_bucket"] == 1000


def test_every_setting_is_in_the_specification():
    def leaves(value: Any, path: str = "") -> Any:
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            yield from leaves(item, inner) if isinstance(item, dict) and item else [(inner, item)]

    for path, default in leaves(from_document(document()).as_json()):
        assert f"| `{path}` |" in SPEC
        if path not in ("dataset", "version", "sources", "licenses.allow"):
            assert f"| `{path}` | `{json.dumps(default)}` |" in SPEC
