"""Why a document leaves: every reason once, and the table of filter rules with the signal each one reads.

A reason names the rule that failed. Limits are whole numbers in the unit of the signal (see `Rule.scale`), so that a
verdict never depends on floating point. Gopher's defaults are those of Rae et al. 2021 (arXiv 2112.11446, table A1).
"""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """What is not a filter rule. `kept` is the verdict of a row that stays."""

    KEPT = "kept"
    OPT_OUT = "opt_out"
    BLOCKED_SITE = "blocked_site"
    NOT_SAMPLED = "not_sampled"
    TOO_MANY_LISTED_WORDS = "too_many_listed_words"
    EXACT_DUPLICATE = "exact_duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    CONTAMINATED = "contaminated"
    TRAIN_NEAR_VAL = "train_near_val"
    OVER_DOMAIN_CAP = "over_domain_cap"


PROFILES = ("prose", "code", "short")
FILTERS = ("length", "lang", "charset", "gopher", "repetition")
"""Default order of the filters; a config may order them otherwise."""
MODEL_FILTERS = ("ppl", "quality", "safety")
"""Filters by the scores of models, after all others: only what these keep is scored."""
MANIFEST_FILTERS = ("lang", "gopher", "repetition", "ppl")
"""Filters that every manifest names first, also where they dropped nothing or were not configured."""


@dataclass(frozen=True)
class Rule:
    """One threshold on one signal. `prose`, `code`, `short` are the profiles' defaults, in people's units
    (a ratio from 0 to 1, a mean in characters, a count); None: the rule does not apply to the profile.
    """

    reason: str
    filter: str
    signal: str
    bound: str  # "min": a smaller value fails; "max": a larger one fails
    scale: int  # signal = round(people's unit * scale): 1 for counts, 1_000_000 for ratios, 1_000 for means
    prose: float | None = None
    code: float | None = None
    short: float | None = None

    def limit(self, profile: str) -> int | None:
        """The profile's default in the unit of the signal."""
        value: float | None = getattr(self, profile)
        return None if value is None else round(value * self.scale)


_RATIO, _MEAN, _COUNT, _PERMILLE = 1_000_000, 1_000, 1, 1_000

RULES: tuple[Rule, ...] = (
    Rule("empty_text", "length", "n_chars", "min", _COUNT, 1, 1, 1),
    Rule("too_short", "length", "n_chars", "min", _COUNT, 50, 20, None),
    Rule("too_long", "length", "n_chars", "max", _COUNT),
    Rule("language_not_allowed", "lang", "lang", "allow", _COUNT, 1, 1, 1),
    Rule("language_unsure", "lang", "lang_score", "min", _PERMILLE),
    Rule("too_many_replacement_characters", "charset", "replacement_char_ratio", "max", _RATIO, 0.01, 0.01, 0.01),
    Rule("too_many_control_characters", "charset", "control_char_ratio", "max", _RATIO, 0.01, 0.01, 0.01),
    Rule("too_few_words", "gopher", "n_words", "min", _COUNT, 50, None, None),
    Rule("too_many_words", "gopher", "n_words", "max", _COUNT, 100_000, 100_000, 100_000),
    Rule("mean_word_too_short", "gopher", "mean_word_chars", "min", _MEAN, 3, None, None),
    Rule("mean_word_too_long", "gopher", "mean_word_chars", "max", _MEAN, 10, None, 15),
    Rule("too_many_symbols", "gopher", "symbol_word_ratio", "max", _RATIO, 0.1, None, None),
    Rule("too_many_bullet_lines", "gopher", "bullet_line_ratio", "max", _RATIO, 0.9, None, None),
    Rule("too_many_ellipsis_lines", "gopher", "ellipsis_line_ratio", "max", _RATIO, 0.3, None, 0.5),
    Rule("too_few_alphabetic_words", "gopher", "alphabetic_word_ratio", "min", _RATIO, 0.8, None, 0.5),
    Rule("too_few_stop_words", "gopher", "stop_words", "min", _COUNT, 2, None, None),
    Rule("too_many_duplicate_lines", "repetition", "duplicate_line_ratio", "max", _RATIO, 0.3, None, 0.5),
    Rule("too_many_duplicate_paragraphs", "repetition", "duplicate_paragraph_ratio", "max", _RATIO, 0.3, None, 0.5),
    Rule(
        "too_many_duplicate_line_characters", "repetition", "duplicate_line_char_ratio", "max", _RATIO, 0.2, None, 0.4
    ),
    Rule(
        "too_many_duplicate_paragraph_characters", "repetition", "duplicate_paragraph_char_ratio", "max", _RATIO,
        0.2, None, 0.4,
    ),
    Rule("top_2gram_too_frequent", "repetition", "top_2gram_char_ratio", "max", _RATIO, 0.20, None, None),
    Rule("top_3gram_too_frequent", "repetition", "top_3gram_char_ratio", "max", _RATIO, 0.18, None, None),
    Rule("top_4gram_too_frequent", "repetition", "top_4gram_char_ratio", "max", _RATIO, 0.16, None, None),
    Rule("too_many_duplicate_5grams", "repetition", "duplicate_5gram_char_ratio", "max", _RATIO, 0.15, None, None),
    Rule("too_many_duplicate_6grams", "repetition", "duplicate_6gram_char_ratio", "max", _RATIO, 0.14, None, None),
    Rule("too_many_duplicate_7grams", "repetition", "duplicate_7gram_char_ratio", "max", _RATIO, 0.13, None, None),
    Rule("too_many_duplicate_8grams", "repetition", "duplicate_8gram_char_ratio", "max", _RATIO, 0.12, None, None),
    Rule("too_many_duplicate_9grams", "repetition", "duplicate_9gram_char_ratio", "max", _RATIO, 0.11, None, None),
    Rule("too_many_duplicate_10grams", "repetition", "duplicate_10gram_char_ratio", "max", _RATIO, 0.10, None, None),
)  # fmt: skip

MODEL_RULES: tuple[Rule, ...] = (
    Rule("perplexity_too_low", "ppl", "ppl", "min", _MEAN),
    Rule("perplexity_too_high", "ppl", "ppl", "max", _MEAN),
    Rule("quality_too_low", "quality", "quality", "min", _PERMILLE),
    Rule("safety_too_low", "safety", "safety", "min", _PERMILLE),
)
"""Rules of MODEL_FILTERS, in the order in which they name a verdict. Their limits are in a config's sections of these
names (formats.model_rules): models have no defaults. Appended to, never reordered, as their bits are.
"""

RULE_BY_REASON = {rule.reason: rule for rule in (*RULES, *MODEL_RULES)}
CAP_FILTER = "domain_cap"
"""The filter by what a registered domain already has, over all sources and after all else."""
WORD_FILTER = "words"
"""The filter by word lists, after the rules of a profile and before models."""
SITE_FILTERS = {Reason.OPT_OUT.value: "opt_out", Reason.BLOCKED_SITE.value: "block_list"}
"""The filters that a document's URL alone decides, before anything else; by reason, in the order in which they decide.
"""
SAMPLE_FILTER = "sample"
"""The filter of a version that holds a part of its documents, drawn by id: after the site lists, before all else."""
FILTER_BY_REASON = {rule.reason: rule.filter for rule in (*RULES, *MODEL_RULES)} | SITE_FILTERS
FILTER_BY_REASON |= {Reason.TOO_MANY_LISTED_WORDS.value: WORD_FILTER, Reason.OVER_DOMAIN_CAP.value: CAP_FILTER}
FILTER_BY_REASON[Reason.NOT_SAMPLED.value] = SAMPLE_FILTER
"""The filter whose count in the manifest a dropped document adds to; a reason that is missing is no filter's."""
RULE_BIT = {rule.reason: 1 << i for i, rule in enumerate(RULES)}
"""The bit of each rule in `rules_failed` and `rules_not_applied`; appended to, never reordered. Rules of models count
down from the highest: where a version has no models, their bits are in neither; nor is that of `safety` where it has no
such model.
"""
RULE_BIT |= {rule.reason: 1 << 62 - i for i, rule in enumerate(MODEL_RULES)}
