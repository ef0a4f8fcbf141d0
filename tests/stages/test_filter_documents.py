import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.stages.filter_documents import filter_documents, filter_of
from formats.errors import ConfigError
from formats.reasons import FILTERS, MANIFEST_FILTERS, PROFILES, RULE_BIT, RULES
from formats.stage_tables import SIGNALS, VERDICTS

GOOD = {
    "n_chars": 600, "n_words": 100, "lang": "en", "lang_score": 900, "quality": None, "mean_word_chars": 4_500,
    "alphabetic_word_ratio": 950_000, "stop_words": 6,
}  # fmt: skip
"""What no rule of the prose profile objects to; every other signal is 0."""


def rows(*changes):
    """SIGNALS rows, k from 0: the good document with these changes."""
    found = []
    for k, change in enumerate(changes):
        row = dict.fromkeys(SIGNALS.names, 0) | {"doc_id": f"{k:032x}", "crawl_date": "2026-01-01T00:00:00Z"}
        found.append(row | {"k": k, "exact_digest": bytes(32)} | GOOD | change)
    return pa.RecordBatch.from_pylist(found, SIGNALS)


def duplicates(pairs=()):
    k, keeper = zip(*sorted(pairs), strict=True) if pairs else ((), ())
    return pa.table({"k": pa.array(k, pa.int64()), "keeper_k": pa.array(keeper, pa.int64())})


def verdicts(*changes, profile="prose", thresholds=None, filters=FILTERS, lang_allow=(), pairs=(), by_language=None):
    found = filter_documents(
        rows(*changes),
        duplicates(pairs),
        profile=profile,
        thresholds=thresholds or {},
        filters=filters,
        lang_allow=lang_allow,
        by_language=by_language or {},
    )
    found.validate(full=True)
    assert found.schema == VERDICTS
    return found.to_pylist()


def verdict(change, **rules):
    return verdicts(change, **rules)[0]["verdict"]


def bits(value):
    return {reason for reason, bit in RULE_BIT.items() if value & bit}


def twin(row, profile, thresholds, filters, lang_allow, pairs, by_language):
    """The verdict of one row, a rule at a time."""
    failed, not_applied = set(), set()
    for rule in RULES:
        own = by_language.get(row["lang"], {})
        limit = own.get(rule.reason, thresholds.get(rule.reason, rule.limit(profile)))
        value, single = row[rule.signal], row["single_word_ratio"] > 500_000
        if (
            rule.filter not in filters
            or limit is None
            or value is None
            or (rule.reason == "language_not_allowed" and not lang_allow)
            or (rule.reason == "too_few_stop_words" and row["lang"] != "en" and rule.reason not in own)
            or (single and rule.reason in ("mean_word_too_short", "mean_word_too_long", "too_few_alphabetic_words"))
            or (single and rule.reason[:-5] in [f"too_many_duplicate_{n}" for n in "56789"])
        ):
            not_applied.add(rule.reason)
        elif {"allow": value not in lang_allow, "min": rule.bound == "min" and value < limit,
              "max": rule.bound == "max" and value > limit}[rule.bound]:  # fmt: skip
            failed.add(rule.reason)
    order = [rule.reason for name in filters for rule in RULES if rule.filter == name]
    first = next((reason for reason in order if reason in failed), "kept")
    keeper = dict(pairs).get(row["k"])
    return ("kept" if first == "kept" else first) if keeper is None else "exact_duplicate", failed, not_applied, keeper


signal_values = {
    rule.signal: st.sampled_from([0, 1, 2, 50, 3_000, 15_000, 100_001, 150_000, 200_001, 300_000, 800_000, 1_000_000])
    for rule in RULES
}
changes = st.fixed_dictionaries(
    {},
    optional=signal_values
    | {
        "lang": st.sampled_from(["en", "de", "und"]),
        "lang_score": st.sampled_from([None, 0, 500, 1000]),
        "single_word_ratio": st.sampled_from([0, 500_000, 500_001]),
    },
)
limits = st.dictionaries(st.sampled_from(sorted(RULE_BIT)), st.sampled_from([None, 0, 1, 500, 100_000]), max_size=5)


@settings(deadline=None)
@given(
    st.lists(changes, max_size=6),
    st.sampled_from(PROFILES),
    limits,
    st.lists(st.sampled_from(FILTERS), unique=True),
    st.sampled_from([(), ("en",), ("de", "und")]),
    st.dictionaries(st.integers(1, 9), st.just(0)),
    st.dictionaries(st.sampled_from(["de", "en", "ko"]), limits, max_size=2),
)
def test_verdicts_equal_those_of_a_rule_at_a_time(documents, profile, thresholds, filters, allow, keepers, own):
    pairs = list(keepers.items())
    rules = {"profile": profile, "thresholds": thresholds, "filters": filters, "lang_allow": allow}
    found = verdicts(*documents, **rules, pairs=pairs, by_language=own)
    for row, signals in zip(found, rows(*documents).to_pylist(), strict=True):
        answer = row["verdict"], bits(row["rules_failed"]), bits(row["rules_not_applied"]), row["keeper_k"]
        assert answer == twin(signals, profile, thresholds, filters, allow, pairs, own)


@settings(deadline=None)
@given(st.lists(changes, max_size=20), st.sampled_from(PROFILES))
def test_rows_in_are_rows_kept_and_rows_dropped_by_a_filter(documents, profile):
    found = [row["verdict"] for row in verdicts(*documents, profile=profile)]
    dropped = {name: sum(filter_of(reason) == name for reason in found) for name in FILTERS}
    assert len(documents) == len(found) == found.count("kept") + sum(dropped.values())


@settings(deadline=None)
@given(st.lists(changes, min_size=1, max_size=8), st.data())
def test_how_rows_are_cut_into_batches_does_not_show(documents, data):
    batch, side = rows(*documents), duplicates([(0, 5)])
    rules = {"profile": "prose", "thresholds": {}, "filters": FILTERS, "lang_allow": ("en",)}
    cut = data.draw(st.integers(0, len(documents)))
    halves = [filter_documents(part, side, **rules) for part in (batch[:cut], batch[cut:])]
    assert pa.Table.from_batches(halves).equals(pa.Table.from_batches([filter_documents(batch, side, **rules)]))


def test_a_good_document_is_kept_and_fails_nothing():
    (row,) = verdicts({})
    assert (row["verdict"], row["rules_failed"], row["keeper_k"]) == ("kept", 0, None)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.prose is not None and rule.bound != "allow"])
def test_a_limit_itself_passes_and_one_beyond_fails(rule):
    limit, beyond = rule.limit("prose"), -1 if rule.bound == "min" else 1
    only = {other.reason: None for other in RULES if other.reason != rule.reason}
    assert verdict({rule.signal: limit}, thresholds=only) == "kept"
    assert verdict({rule.signal: limit + beyond}, thresholds=only) == rule.reason


@pytest.mark.parametrize(
    ("change", "profile", "reason"),
    [
        ({"n_chars": 0, "n_words": 0, "stop_words": 0}, "prose", "empty_text"),
        ({"n_chars": 0, "n_words": 0, "stop_words": 0}, "code", "empty_text"),
        ({"n_chars": 9, "n_words": 2}, "short", "kept"),
        ({"stop_words": 1}, "prose", "too_few_stop_words"),
        ({"stop_words": 1, "lang": "de"}, "prose", "kept"),
        ({"stop_words": 0, "lang": "und"}, "prose", "kept"),
        ({"mean_word_chars": 1_000, "lang": "zh", "single_word_ratio": 990_000}, "prose", "kept"),
        ({"mean_word_chars": 1_000, "lang": "zh", "single_word_ratio": 500_000}, "prose", "mean_word_too_short"),
        ({"duplicate_5gram_char_ratio": 200_000}, "prose", "too_many_duplicate_5grams"),
        ({"duplicate_5gram_char_ratio": 200_000, "single_word_ratio": 900_000}, "prose", "kept"),
        ({"duplicate_10gram_char_ratio": 200_000, "single_word_ratio": 900_000}, "prose", "too_many_duplicate_10grams"),
        ({"duplicate_line_ratio": 900_000}, "code", "kept"),
        ({"control_char_ratio": 20_000}, "code", "too_many_control_characters"),
    ],
)
def test_rules_apply_where_they_fit_the_profile_and_the_document(change, profile, reason):
    assert verdict(change, profile=profile) == reason


def test_a_rule_that_does_not_apply_is_recorded_as_such():
    english, german = verdicts({"stop_words": 0}, {"stop_words": 0, "lang": "de"})
    assert "too_few_stop_words" in bits(english["rules_failed"])
    assert "too_few_stop_words" not in bits(english["rules_not_applied"])
    assert "too_few_stop_words" in bits(german["rules_not_applied"])
    assert german["rules_failed"] == 0


def test_every_failing_rule_is_recorded_and_the_order_of_filters_names_the_verdict():
    change = {"n_words": 3, "duplicate_line_ratio": 400_000, "duplicate_line_char_ratio": 400_000, "lang": "de"}
    failed = {
        "too_few_words", "too_many_duplicate_lines", "too_many_duplicate_line_characters", "language_not_allowed",
    }  # fmt: skip
    for filters, reason in [
        (FILTERS, "language_not_allowed"),
        (("gopher", "lang", "repetition"), "too_few_words"),
        (("repetition", "gopher", "lang"), "too_many_duplicate_lines"),
    ]:
        (row,) = verdicts(change, filters=filters, lang_allow=("en",))
        assert (row["verdict"], bits(row["rules_failed"])) == (reason, failed)


def test_a_filter_that_is_not_configured_drops_nothing():
    (row,) = verdicts({"n_words": 1, "n_chars": 1}, filters=("lang",), lang_allow=("en",))
    assert row["verdict"] == "kept"
    assert bits(row["rules_not_applied"]) == {rule.reason for rule in RULES} - {"language_not_allowed"}


def test_no_list_of_languages_keeps_every_language_and_one_keeps_those_on_it():
    texts = [{"lang": "en"}, {"lang": "de"}, {"lang": "und"}]
    assert {row["verdict"] for row in verdicts(*texts)} == {"kept"}
    found = [row["verdict"] for row in verdicts(*texts, lang_allow=("de", "und"))]
    assert found == ["language_not_allowed", "kept", "kept"]


def test_a_score_that_was_not_measured_is_no_reason_to_drop():
    limit = {"language_unsure": 500}
    unsure, unknown = verdicts({"lang_score": 499}, {"lang_score": None}, thresholds=limit)
    assert unsure["verdict"] == "language_unsure"
    assert unknown["verdict"] == "kept"
    assert "language_unsure" in bits(unknown["rules_not_applied"])


def test_an_exact_duplicate_names_its_keeper_before_any_rule_does():
    first, second, third = verdicts({}, {"n_words": 3}, {}, pairs=[(1, 0), (7, 2)])
    assert (second["verdict"], second["keeper_k"]) == ("exact_duplicate", 0)
    assert bits(second["rules_failed"]) == {"too_few_words"}
    assert {(row["verdict"], row["keeper_k"]) for row in (first, third)} == {("kept", None)}


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"profile": "poetry"}, "poetry"),
        ({"thresholds": {"too_many_cats": 1}}, "too_many_cats"),
        ({"filters": ("length", "cats")}, "cats"),
    ],
)
def test_what_does_not_exist_is_refused_by_name(wrong, word):
    with pytest.raises(ConfigError, match=word):
        verdicts({}, **wrong)


def test_no_rows_give_no_verdicts():
    assert verdicts() == []


def test_a_language_is_judged_by_its_own_limits_and_others_are_not():
    few = {"too_few_stop_words": 2, "mean_word_too_short": 2_000}
    korean, german, english = {"lang": "ko", "mean_word_chars": 2_500}, {"lang": "de"}, {"mean_word_chars": 2_500}
    found = verdicts(korean, german | {"stop_words": 1}, english, by_language={"ko": few, "de": few})
    assert [row["verdict"] for row in found] == ["kept", "too_few_stop_words", "mean_word_too_short"]


def test_a_rule_of_a_language_that_is_off_is_recorded_as_not_applied():
    off = {"th": {"top_4gram_too_frequent": None}}
    thai, english = verdicts({"lang": "th", "top_4gram_char_ratio": 900_000}, {}, by_language=off)
    assert thai["verdict"] == "kept"
    assert "top_4gram_too_frequent" in bits(thai["rules_not_applied"]) - bits(english["rules_not_applied"])


def test_what_is_not_a_rule_belongs_to_no_filter():
    assert [filter_of(name) for name in ("kept", "exact_duplicate", "too_short")] == [None, None, "length"]
    assert {filter_of(rule.reason) for rule in RULES} <= set(FILTERS)
    assert {"lang", "gopher", "repetition"} == set(MANIFEST_FILTERS) & set(FILTERS)
