"""Limits of languages in a version: what they change, what they leave, and what is told of them."""

from corpus_assets.plans.pinned import load_pair
from corpus_assets.plans.reason_words import limit_words
from corpus_assets.plans.source_stages import counted_signals, counted_verdicts, filter_settings
from formats.reasons import RULE_BY_REASON
from tests.assets import tiny
from tests.plans import tampering

_, TALES, _ = tiny.PAIRS


def test_a_limit_of_a_language_gives_new_verdicts_and_measures_nothing_again(tmp_path):
    layout = tiny.copy(tmp_path / "root")
    build, pair = tampering.a_build(layout), load_pair(layout, TALES)
    signals, verdicts = counted_signals(build, pair), counted_verdicts(build, pair)
    assert "by_language" not in filter_settings(pair), "versions of before keep their identity"
    tiny.write_config(layout, languages={"en": {"prose": {"too_few_stop_words": 1}}})
    build, pair = tampering.a_build(layout), load_pair(layout, TALES)
    assert counted_signals(build, pair).folder == signals.folder
    assert counted_verdicts(build, pair).folder != verdicts.folder


def test_a_limit_is_told_as_the_language_has_it():
    rules = {"thresholds": {"mean_word_too_short": 3_000}, "by_language": {"ko": {"mean_word_too_short": 2_000}}}
    rule = RULE_BY_REASON["mean_word_too_short"]
    assert [limit_words(rule, rules, lang) for lang in ("ko", "de", None)] == ["2", "3", "3"]
