import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from corpus_assets.validation import json_schema
from formats import corpus_config, dedup_rules, ledger
from tests.formats import test_corpus_config as configs
from tests.formats.ledger_rows import WRONG, value


@pytest.mark.parametrize("name", json_schema.EXPORTED)
def test_the_exported_file_is_what_the_dataclasses_say(name):
    text = (json_schema.FOLDER / name).read_text("utf-8")
    assert text == json_schema.exported(name), "run python -m corpus_assets.validation.json_schema"
    Draft202012Validator.check_schema(json.loads(text))


@pytest.mark.parametrize("name", WRONG)
def test_the_ledger_schema_refuses_the_rows_that_the_reader_refuses(name):
    assert json_schema.problems("ledger.schema.json", WRONG[name][0])


SAID_BY_NO_SCHEMA = (
    "more bands than fit", "more hot keepers than a bucket has", "a threshold of nothing", "eval set twice",
    "exempt without set", "shortest item too long",
)  # fmt: skip


@pytest.mark.parametrize("name", [name for name in configs.WRONG if name not in SAID_BY_NO_SCHEMA])
def test_the_config_schema_refuses_the_documents_that_the_reader_refuses(name):
    assert json_schema.problems("corpus-config.schema.json", configs.WRONG[name][0])


CELLS = st.none() | st.booleans() | st.integers(-2, 200) | st.sampled_from(
    [0.5, 1.0, "", "a", "MIT", "und", "prose", "jsonl", "tar", "2026-11-30", "a" * 64, " x", "x\n", [], ["a"], {}]
)  # fmt: skip


@given(st.sampled_from(sorted(ledger.table(ledger.LedgerRow).kinds)), CELLS)
def test_reader_and_ledger_schema_agree_on_any_field(key, cell):
    row = {**value(), key: cell}
    assert bool(json_schema.problems("ledger.schema.json", row)) == bool(ledger.problems(row))


@given(st.sampled_from(sorted(corpus_config.table(corpus_config.CorpusConfig).kinds)), CELLS)
def test_reader_and_config_schema_agree_on_any_setting(key, cell):
    document = configs.document(**{key: cell})
    assert bool(json_schema.problems("corpus-config.schema.json", document)) == bool(corpus_config.problems(document))


BEYOND_A_SCHEMA = ("permutations", "above max_bucket", "in millionths")
"""Rules that compare fields, or round."""


@given(st.sampled_from(sorted(corpus_config.table(dedup_rules.NearRules).kinds)), CELLS)
@example("max_bucket", 2)
@example("hot_keepers", 1_001)
@example("jaccard_threshold", 1e-9)
def test_reader_and_config_schema_agree_on_near_duplicates(key, cell):
    document = configs.document(dedup={"near": {key: cell}})
    found = [
        message
        for _, message in corpus_config.problems(document)
        if not any(rule in message for rule in BEYOND_A_SCHEMA)
    ]
    assert bool(json_schema.problems("corpus-config.schema.json", document)) == bool(found)
