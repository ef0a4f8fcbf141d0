"""language_rules: which languages have limits of their own, and that each can be met."""

import re
from pathlib import Path

import pytest

from corpus_assets.stages.function_words import FUNCTION_WORDS
from formats import language_rules
from formats.language_rules import LANGUAGE_LIMITS, STOP_WORD_RULE
from formats.reasons import PROFILES, RULE_BY_REASON

PAGE = Path(language_rules.__file__).with_suffix(".md").read_text("utf-8")


def test_every_profile_is_there_and_every_limit_is_of_a_rule_of_it():
    assert tuple(LANGUAGE_LIMITS) == PROFILES
    for profile, languages in LANGUAGE_LIMITS.items():
        for limits in languages.values():
            assert all(getattr(RULE_BY_REASON[reason], profile) is not None for reason in limits)


def test_a_language_with_a_limit_of_stop_words_has_enough_of_them():
    limits = {code: own[STOP_WORD_RULE] for code, own in LANGUAGE_LIMITS["prose"].items() if STOP_WORD_RULE in own}
    assert len(limits) >= 12
    assert all(len(FUNCTION_WORDS[code].split()) >= 4 * limit for code, limit in limits.items())


@pytest.mark.parametrize("language", ["zh", "ja", "th"])
def test_a_script_without_spaces_is_more_lenient_about_runs_of_ten_characters(language):
    own = LANGUAGE_LIMITS["prose"][language]["too_many_duplicate_10grams"]
    assert own is None or own > RULE_BY_REASON["too_many_duplicate_10grams"].prose


def test_the_page_names_every_language_that_has_one_stop_word_or_other_word_lengths():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    named = {code for row in rows[2:] for code in re.findall(r"\b[a-z]{2}\b", row.split("|")[1])}
    own = {code for code, limits in LANGUAGE_LIMITS["prose"].items() if limits != {STOP_WORD_RULE: 2}}
    assert own <= named
    two = sum(limits.get(STOP_WORD_RULE) == 2 for limits in LANGUAGE_LIMITS["prose"].values())
    assert f"| {two} languages," in PAGE
