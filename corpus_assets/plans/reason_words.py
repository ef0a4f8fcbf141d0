"""Verdicts in words: which rule failed, what was measured, and what would have passed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from formats.model_rules import EVERY_LANGUAGE
from formats.reasons import MODEL_RULES, RULE_BIT, RULE_BY_REASON, RULES, Reason, Rule

MILLION = 1_000_000
_SIGNAL_WORDS = {
    "n_chars": "characters",
    "n_words": "words",
    "lang": "language",
    "lang_score": "language score",
    "mean_word_chars": "characters a word",
    "ppl": "perplexity of a word",
}
NO_RULE = {
    Reason.KEPT.value: "kept",
    Reason.OPT_OUT.value: "its site asked to be left out",
    Reason.BLOCKED_SITE.value: "its site is on a block list",
    Reason.NOT_SAMPLED.value: "it is not in the sample that the version takes",
    Reason.TOO_MANY_LISTED_WORDS.value: "too many of its words are on a word list of its language",
    Reason.EXACT_DUPLICATE.value: "the same text, but for case and white space, as a document that stays",
    Reason.NEAR_DUPLICATE.value: "nearly the same text as a document that stays",
    Reason.CONTAMINATED.value: "shares words with a protected item of an eval set",
    Reason.OVER_DOMAIN_CAP.value: "its registered domain has as much as the version takes",
    Reason.TRAIN_NEAR_VAL.value: "nearly the same text as a document of the val split",
}


@dataclass(frozen=True)
class FailedRule:
    """One filter rule that a document did not pass; numbers in people's units (ratios from 0 to 1)."""

    reason: str
    filter: str
    words: str


def number(value: int, scale: int) -> str:
    """A signal in people's unit, exactly: 252812 millionths is 0.252812."""
    if scale == 1:
        return f"{value:,}"
    digits = len(str(scale)) - 1
    whole, rest = divmod(value, scale)
    return f"{whole:,}.{rest:0{digits}d}".rstrip("0").rstrip(".")


def signal_words(rule: Rule) -> str:
    return _SIGNAL_WORDS.get(rule.signal, rule.signal.replace("_", " ").replace("char ", "character "))


def asked(rule: Rule) -> str:
    """What the rule asks of its signal, up to the limit: `words at least`."""
    if rule.bound == "allow":
        return "language one of"
    return f"{signal_words(rule)} at {'least' if rule.bound == 'min' else 'most'}"


def limit_words(rule: Rule, rules: Mapping[str, Any], lang: str | None = None) -> str | None:
    """The rule's limit for a source; None where it does not apply. `rules` are those of the source. A language may have
    another limit: that of `lang`; where no language is asked for, rules of models tell all of theirs.
    """
    if rule in MODEL_RULES:
        limits = rules.get("limits", {}).get(rule.reason, {})
        mine = {one: limit for one, limit in limits.items() if lang is None or one in (lang, EVERY_LANGUAGE)}
        words = [_of_language(one, number(limit, rule.scale), lang) for one, limit in sorted(mine.items())]
        return ", ".join(words) or None
    limit = rules.get("by_language", {}).get(lang, {}).get(rule.reason, rules["thresholds"].get(rule.reason))
    if limit is None:
        return None
    return ", ".join(rules["lang_allow"]) if rule.bound == "allow" else number(limit, rule.scale)


def _of_language(language: str, limit: str, asked_for: str | None) -> str:
    return limit if language == EVERY_LANGUAGE or asked_for else f"{limit} ({language})"


def failed_rules(row: Mapping[str, Any], rules: Mapping[str, Any]) -> list[FailedRule]:
    """Every filter rule that an evidence row failed, the verdict's first; `rules` are those of its source."""
    failed = [rule for rule in (*RULES, *MODEL_RULES) if row["rules_failed"] & RULE_BIT[rule.reason]]
    failed.sort(key=lambda rule: rule.reason != row["verdict"])
    return [FailedRule(rule.reason, rule.filter, _measured(rule, row, rules)) for rule in failed]


def passed_filters(row: Mapping[str, Any], rules: Mapping[str, Any]) -> list[str]:
    """The filters, in their order, of which at least one rule applied to an evidence row and none failed."""
    bits = {
        name: sum(RULE_BIT[rule.reason] for rule in RULES if rule.filter == name and rule.reason in rules["thresholds"])
        for name in rules["filters"]
    }
    for name in rules.get("model_filters", ()):
        bits[name] = sum(RULE_BIT[rule.reason] for rule in MODEL_RULES if rule.filter == name)
    failed, skipped = row["rules_failed"], row["rules_not_applied"]
    return [name for name, mine in bits.items() if not mine & failed and mine & ~skipped]


def _measured(rule: Rule, row: Mapping[str, Any], rules: Mapping[str, Any]) -> str:
    value = row[rule.signal]
    found = value if rule.bound == "allow" else number(value, rule.scale)
    limit = limit_words(rule, rules, row["lang"])
    expected = f"{asked(rule).removeprefix(f'{signal_words(rule)} ')} {limit}"
    return f"{signal_words(rule)} is {found}, expected {expected} (filter {rule.filter}, profile {rules['profile']})"


def in_words(row: Mapping[str, Any], rules: Mapping[str, Any], jaccard_threshold: float) -> str:
    """Why an evidence row is in or out, with what was measured and the limit that decided."""
    verdict = row["verdict"]
    if verdict in RULE_BY_REASON:
        return failed_rules(row, rules)[0].words
    words = NO_RULE[verdict]
    if row["keeper_id"] and row["keeper_jaccard"] is None:
        return f"{words}, {row['keeper_id']}"
    if row["keeper_id"]:
        jaccard = number(row["keeper_jaccard"], MILLION)
        return f"{words}, {row['keeper_id']}: Jaccard {jaccard}, dropped from {jaccard_threshold} on"
    if verdict == Reason.CONTAMINATED:
        return f"{words}: {row['eval_set']}:{row['eval_item']}"
    return words
