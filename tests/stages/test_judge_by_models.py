"""Verdicts by limits on what models say, against a twin a row and a rule at a time."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.stages.judge_by_models import judge_by_models
from formats.reasons import MODEL_RULES, RULE_BIT, RULES
from formats.stage_tables import VERDICTS

LANGUAGES = ("en", "de", "und")
CHEAP_BIT = RULE_BIT[RULES[3].reason]
numbers = st.integers(0, 5)
rows = st.fixed_dictionaries(
    {
        "verdict": st.sampled_from(["kept", "kept", RULES[3].reason, "exact_duplicate"]),
        "lang": st.sampled_from(LANGUAGES),
        "quality": numbers | st.none(),
        "ppl": numbers | st.none(),
        "safety": numbers | st.none(),
    }
)
limits_of_a_rule = st.dictionaries(st.sampled_from(LANGUAGES), numbers) | st.builds(dict, st.just([]), **{"*": numbers})
limits = st.dictionaries(st.sampled_from([rule.reason for rule in MODEL_RULES]), limits_of_a_rule)


def judged(found, limit_of, *, has_safety=False):
    verdicts = [
        {
            "k": k,
            "verdict": row["verdict"],
            "rules_failed": CHEAP_BIT if row["verdict"] == RULES[3].reason else 0,
            "rules_not_applied": 1,
            "keeper_k": 0 if row["verdict"] == "exact_duplicate" else None,
        }
        for k, row in enumerate(found)
    ]
    signals = pa.table(
        {
            "k": pa.array(range(len(found)), pa.int64()),
            "lang": pa.array([row["lang"] for row in found], pa.large_string()),
            "quality": pa.array([row["quality"] for row in found], pa.int32()),
            "ppl": pa.array([row["ppl"] for row in found], pa.int32()),
        }
    )
    if has_safety:
        signals = signals.append_column("safety", pa.array([row["safety"] for row in found], pa.int32()))
    out = judge_by_models(pa.RecordBatch.from_pylist(verdicts, VERDICTS), signals, limits=limit_of)
    out.validate(full=True)
    assert out.schema == VERDICTS
    return verdicts, out.to_pylist()


def twin(row, before, limit_of, has_safety):
    failed, not_applied, verdict = before["rules_failed"], before["rules_not_applied"], before["verdict"]
    for rule in MODEL_RULES:
        if rule.signal == "safety" and not has_safety:
            continue
        mine, value = limit_of.get(rule.reason, {}), row[rule.signal]
        limit = mine.get(row["lang"], mine.get("*"))
        if value is None or limit is None:
            not_applied |= RULE_BIT[rule.reason]
        elif (value < limit) if rule.bound == "min" else (value > limit):
            failed |= RULE_BIT[rule.reason]
            verdict = rule.reason if verdict == "kept" else verdict
    return {**before, "verdict": verdict, "rules_failed": failed, "rules_not_applied": not_applied}


@settings(deadline=None)
@given(st.lists(rows, max_size=8), limits, st.booleans())
def test_verdicts_equal_the_twin(found, limit_of, has_safety):
    before, after = judged(found, limit_of, has_safety=has_safety)
    assert after == [twin(row, one, limit_of, has_safety) for row, one in zip(found, before, strict=True)]


def test_without_a_model_of_safety_its_bit_is_in_neither_column():
    found = [{"verdict": "kept", "lang": "en", "quality": 3, "ppl": None}]
    (after,) = judged(found, {"quality_too_low": {"*": 4}})[1]
    assert (after["rules_failed"] | after["rules_not_applied"]) & RULE_BIT["safety_too_low"] == 0


def test_the_limit_itself_passes():
    found = [{"verdict": "kept", "lang": "en", "quality": 300, "ppl": 640_000}]
    limit_of = {
        "quality_too_low": {"*": 300},
        "perplexity_too_high": {"en": 640_000},
        "perplexity_too_low": {"en": 640_000},
    }
    assert judged(found, limit_of)[1][0]["verdict"] == "kept"
    assert judged(found, {"quality_too_low": {"*": 301}})[1][0]["verdict"] == "quality_too_low"


def test_the_bits_of_models_are_none_of_the_others_and_fit_a_signed_number():
    bits = [RULE_BIT[rule.reason] for rule in (*RULES, *MODEL_RULES)]
    assert len(set(bits)) == len(bits)
    assert all(bit.bit_count() == 1 and bit < 2**63 for bit in bits)
    assert {rule.reason: RULE_BIT[rule.reason] for rule in MODEL_RULES} == {
        "perplexity_too_low": 1 << 62,
        "perplexity_too_high": 1 << 61,
        "quality_too_low": 1 << 60,
        "safety_too_low": 1 << 59,
    }
