"""Limits of languages in a version: what they change, what they leave, and what is told of them."""

from collections import Counter

from corpus_assets.plans.language_counts import kept_by_language, language_counts, verdicts_by_language
from corpus_assets.plans.pinned import load_pair
from corpus_assets.plans.reason_words import limit_words
from corpus_assets.plans.source_stages import counted_signals, counted_verdicts, filter_settings, measure_settings
from formats import dataset
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


def test_mixed_texts_are_measured_anew_only_where_a_config_asks_for_it(tmp_path):
    layout = tiny.copy(tmp_path / "root")
    build, pair = tampering.a_build(layout), load_pair(layout, TALES)
    before = counted_signals(build, pair)
    assert measure_settings(pair.config) == {"second_voice": "always"}, "versions of before keep their identity"
    assert "mixed" not in pair.config.lang.as_json()
    tiny.write_config(layout, lang={"mixed": "und"})
    build, pair = tampering.a_build(layout), load_pair(layout, TALES)
    assert counted_signals(build, pair).folder != before.folder
    measured = dataset.read_table(counted_signals(build, pair).make())
    assert measured["lang"].equals(dataset.read_table(before.open())["lang"]), "no tale is in two languages"


def test_what_assets_show_of_languages_is_what_was_measured_and_judged(tmp_path):
    layout = tiny.copy(tmp_path / "root")
    build, pair = tampering.a_build(layout), load_pair(layout, TALES)
    measured = dataset.read_table(counted_signals(build, pair).open())
    judged = dataset.read_table(counted_verdicts(build, pair).open())["verdict"].to_pylist()
    lang = measured["lang"].to_pylist()
    told = language_counts(counted_signals(build, pair).open())
    assert told.languages == Counter(lang)
    scores = [score for score in measured["lang_score"].to_pylist() if score is not None]
    assert list(told.scores) == [sum(min(score // 100, 9) == i for score in scores) for i in range(10)]
    found = verdicts_by_language(build, pair)
    assert {code: dict(counts) for code, counts in found.items()} == {
        code: dict(Counter(v for v, c in zip(judged, lang, strict=True) if c == code)) for code in set(lang)
    }
    for picture in (told.largest(), told.of_scores(), kept_by_language(found)):
        assert picture.standalone().startswith("<svg")
    share = round(1000 * found["en"]["kept"] / found["en"].total())
    assert f">{share:,}<" in kept_by_language(found).standalone()


def test_a_limit_is_told_as_the_language_has_it():
    rules = {"thresholds": {"mean_word_too_short": 3_000}, "by_language": {"ko": {"mean_word_too_short": 2_000}}}
    rule = RULE_BY_REASON["mean_word_too_short"]
    assert [limit_words(rule, rules, lang) for lang in ("ko", "de", None)] == ["2", "3", "3"]
