"""How the signals of a version's rules are spread over its documents, each with the limit that decided: of a profile's
rules the ones that dropped most, of models all, since a person chose their limits.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans import datasheet_bins
from corpus_assets.plans.datasheet_bins import Histogram
from formats.corpus_config import CorpusConfig
from formats.languages import UNDETERMINED
from formats.model_rules import EVERY_LANGUAGE
from formats.reasons import RULE_BIT, RULE_BY_REASON, RULES, Rule

MAX_SIGNALS = 24
"""Of rules of profiles."""
FIRST_SIGNALS = ("too_few_words", "too_few_alphabetic_words", "too_many_duplicate_5grams")
"""Rules whose signals come first among those that dropped nothing."""


@dataclass
class SignalFigures:
    """A rule's signal over the documents of `sources` (None: all) and `lang` (None: every one) that the rule applies
    to; `dropped` have its reason. `among` says in words whose they are.
    """

    rule: Rule
    among: str
    limit: int
    histogram: Histogram
    sources: pa.Array | None = None
    lang: str | None = None
    dropped: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Count rows of the evidence's documents."""
        rows = batch
        if self.sources is not None:
            rows = rows.filter(pc.is_in(rows.column("source_id"), self.sources))
        if self.lang is not None:
            rows = rows.filter(pc.equal(pc.fill_null(rows.column("lang"), UNDETERMINED), self.lang))
        self.dropped += pc.sum(pc.equal(rows.column("verdict"), self.rule.reason)).as_py() or 0
        not_applied = rows.column("rules_not_applied").to_numpy() & RULE_BIT[self.rule.reason]
        values = rows.column(self.rule.signal).filter(pa.array(not_applied == 0))
        self.histogram.add(values.drop_null().to_numpy().astype(np.int64))


def of_models(config: CorpusConfig) -> list[SignalFigures]:
    """Every limit that the config sets on a model's score."""
    sections = [one for one in (config.ppl, config.quality, config.safety) if one is not None]
    return [
        _empty(reason, "documents it scored" if lang == EVERY_LANGUAGE else f"language {lang}", limit, lang=lang)
        for section in sections
        for reason, of_languages in section.limits().items()
        for lang, limit in sorted(of_languages.items())
    ]


def of_profiles(
    profiles: Mapping[str, str], rules: Mapping[str, Mapping[str, int | None]], dropped: Mapping[str, Counter[str]]
) -> list[SignalFigures]:
    """The rule of each filter, with its profile, that dropped most documents; then others, the usual ones first. Given
    are, by source, its profile, its limits by reason, and how many documents it lost by reason.
    """
    lost = Counter[tuple[str, str]]()
    limits: dict[tuple[str, str], int] = {}
    for source, profile in profiles.items():
        for reason, limit in rules[source].items():
            if limit is not None and RULE_BY_REASON[reason].bound != "allow":
                limits[reason, profile] = limit
                lost[reason, profile] += dropped[source][reason]
    place = {rule.reason: i for i, rule in enumerate(RULES)}
    order = sorted(limits, key=lambda key: (-lost[key], key[0] not in FIRST_SIGNALS, place[key[0]], key[1]))
    first_of_filter = {RULE_BY_REASON[key[0]].filter: key for key in reversed(order) if lost[key]}
    order.sort(key=lambda key: key not in first_of_filter.values())
    return [
        _empty(reason, f"profile {profile}", limits[reason, profile], sources=_with_profile(profiles, profile))
        for reason, profile in order[:MAX_SIGNALS]
    ]


def _with_profile(profiles: Mapping[str, str], profile: str) -> Sequence[str]:
    return [source for source, of_source in profiles.items() if of_source == profile]


def _empty(
    reason: str, among: str, limit: int, *, sources: Sequence[str] | None = None, lang: str = EVERY_LANGUAGE
) -> SignalFigures:
    rule = RULE_BY_REASON[reason]
    of_sources = None if sources is None else pa.array(sources, pa.large_string())
    of_lang = None if lang == EVERY_LANGUAGE else lang
    return SignalFigures(rule, among, limit, datasheet_bins.for_rule(rule, limit), of_sources, of_lang)
