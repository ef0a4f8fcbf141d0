"""Corpus config: what one version of a dataset is made of, and every rule that changes its bytes.

Spec: corpus_config.md.

Each setting and its default stand once: here, or in the file of its section (dedup_rules, benchmark_rules, list_rules,
model_rules, language_rules, extraction_rules). YAML is read in `corpus_assets.validation.corpus_config`.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

from formats import config_document
from formats.benchmark_rules import DecontaminationRules, NgramIndexRules
from formats.config_document import Config
from formats.dedup_rules import DedupRules
from formats.errors import ConfigError
from formats.extraction_rules import ExtractorRules
from formats.json_fields import Choice, Kind, Listing, Number, OrNull, Problem, SetOf, Text, Whole, first_problems
from formats.json_kinds import name_of
from formats.json_tables import Keyed, MapOf, Rules, table
from formats.language_rules import LANGUAGE_LIMITS, LanguageRules
from formats.languages import LANGUAGE
from formats.list_rules import SiteRules, WordRules
from formats.model_rules import Limits, PerplexityRules, QualityRules, SafetyRules
from formats.naming import VersionKey
from formats.reasons import (
    CAP_FILTER,
    FILTERS,
    MODEL_FILTERS,
    PROFILES,
    RULE_BY_REASON,
    RULES,
    SAMPLE_FILTER,
    WORD_FILTER,
    Rule,
)


@dataclass(frozen=True)
class LicenseRules(Rules):
    """SPDX ids, exact `X WITH Y` forms and LicenseRef- names under which a source may be used."""

    allow: Annotated[
        tuple[str, ...], SetOf(Text(r"[A-Za-z0-9.+\x20:-]+", "an SPDX licence id or a LicenseRef- name"), min_items=1)
    ]


@dataclass(frozen=True)
class DomainCapRules(Rules):
    """How much of a registered domain a version holds at most, over all sources. Which stay is drawn, by doc_id and
    `seed`.
    """

    max_documents: Annotated[int | None, OrNull(Whole(1))] = None
    max_bytes: Annotated[int | None, OrNull(Whole(1))] = None
    seed: Annotated[int, Whole()] = 0

    @property
    def configured(self) -> bool:
        return self.max_documents is not None or self.max_bytes is not None


@dataclass(frozen=True)
class PiiRules(Rules):
    """Which IP addresses are replaced, and by which countries' rules a number without context is a phone."""

    ips: Annotated[str, Choice(("public", "all"))] = "public"
    phone_regions: Annotated[tuple[str, ...], SetOf(Text(r"[A-Z]{2}", "an ISO 3166 country code"))] = (
        "AU", "BR", "DE", "ES", "FR", "GB", "IN", "IT", "US",
    )  # fmt: skip


def _threshold(rule: Rule) -> Kind:
    """What may stand for a rule: null turns it off; the limits are those of its unit."""
    if rule.signal.endswith("_ratio") or rule.signal == "lang_score":
        return OrNull(Number(0, 1))
    if rule.bound == "allow":
        return OrNull(Whole(1, 1, "1 turns the rule on, null turns it off"))
    return OrNull(Whole() if rule.scale == 1 else Number(0, 1_000_000))


_OVERRIDES = Keyed({rule.reason: _threshold(rule) for rule in RULES})


@dataclass(frozen=True)
class CorpusConfig(Config):
    """Everything that decides what a version holds, and what raises an alarm. Above `max_damaged_ratio` of a source's
    records that should be documents and are broken, its check fails.
    """

    dataset: Annotated[str, name_of("dataset")]
    version: Annotated[str, name_of("version")]
    sources: Annotated[tuple[str, ...], SetOf(name_of("source"), min_items=1)]
    licenses: LicenseRules
    shard_rows: Annotated[int, Whole(1, 2**31 - 1)] = 50_000
    row_group_bytes: Annotated[int, Whole(1, 2**31 - 1, "a column of text holds no more")] = 64 * 1024 * 1024
    val_permille: Annotated[int, Whole(0, 1000)] = 5
    sample_permille: Annotated[int, Whole(1, 1000)] = 1000
    sample_seed: Annotated[int, Whole(0, 2**32 - 1)] = 0
    max_damaged_ratio: Annotated[float, Number(0, 1)] = 0.05
    filters: Annotated[tuple[str, ...], Listing(Choice(FILTERS))] = FILTERS
    extract: ExtractorRules = field(default=ExtractorRules())
    lang: LanguageRules = field(default=LanguageRules())
    profiles: Annotated[dict[str, dict[str, float | int | None]], Keyed(dict.fromkeys(PROFILES, _OVERRIDES))] = field(
        default_factory=dict
    )
    languages: Annotated[
        dict[str, dict[str, dict[str, float | int | None]]],
        MapOf(LANGUAGE, Keyed(dict.fromkeys(PROFILES, _OVERRIDES))),
    ] = field(default_factory=dict)
    sites: SiteRules = field(default=SiteRules())
    words: WordRules = field(default=WordRules())
    domain_cap: DomainCapRules = field(default=DomainCapRules())
    quality: Annotated[QualityRules | None, OrNull(table(QualityRules))] = None
    safety: Annotated[SafetyRules | None, OrNull(table(SafetyRules))] = None
    ppl: Annotated[PerplexityRules | None, OrNull(table(PerplexityRules))] = None
    dedup: DedupRules = field(default=DedupRules())
    decontaminate: DecontaminationRules = field(default=DecontaminationRules())
    pii: PiiRules = field(default=PiiRules())
    ngram_index: NgramIndexRules = field(default=NgramIndexRules())
    notes: Annotated[str, Text(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]*", "text", max_length=100_000)] = ""

    @property
    def all_filters(self) -> tuple[str, ...]:
        """Every filter of the version, in the order in which they decide."""
        words = (WORD_FILTER,) if self.words.lists else ()
        caps = (CAP_FILTER,) if self.domain_cap.configured else ()
        sample = (SAMPLE_FILTER,) if self.is_sample else ()
        return (*self.sites.configured, *sample, *self.filters, *words, *self.model_filters, *caps)

    @property
    def is_sample(self) -> bool:
        """Whether the version holds a part of its documents only, drawn by their ids."""
        return self.sample_permille < 1000

    @property
    def key(self) -> VersionKey:
        return VersionKey(self.dataset, self.version)

    @property
    def model_filters(self) -> tuple[str, ...]:
        """The filters by models whose section is there, in the order in which they decide."""
        return tuple(name for name in MODEL_FILTERS if getattr(self, name) is not None)

    @property
    def classifiers(self) -> tuple[QualityRules, ...]:
        """The sections of classifiers that are there."""
        return tuple(one for one in (self.quality, self.safety) if one is not None)

    def model_limits(self, profile: str) -> Limits:
        """The limits of the rules of models for one profile; a rule without one does not apply."""
        sections = [one for one in (self.ppl, *self.classifiers) if one is not None and profile in one.profiles]
        return {reason: limits for one in sections for reason, limits in one.limits().items()}

    def thresholds(self, profile: str) -> dict[str, int | None]:
        """The threshold of every rule for one profile, in the unit of its signal (`Rule.scale`), None where the rule
        does not apply. Rules are in the order in which they decide: by `filters`, then as in formats.reasons; those of
        a filter that is not configured come last, as None.
        """
        if profile not in PROFILES:
            raise ConfigError(f"profile {profile!r} is not one of {', '.join(PROFILES)}")
        overrides = self.profiles.get(profile, {})
        found: dict[str, int | None] = {}
        for name in (*self.filters, *(name for name in FILTERS if name not in self.filters)):
            for rule in (rule for rule in RULES if rule.filter == name):
                value = overrides.get(rule.reason, getattr(rule, profile))
                applies = value is not None and name in self.filters
                found[rule.reason] = round(value * rule.scale) if applies else None
        return found

    def language_thresholds(self, profile: str) -> dict[str, dict[str, int | None]]:
        """By language, the thresholds for one profile that stand before those of `thresholds`, in the unit of the
        signal; None where the rule does not apply to the language. What a person wrote stands before a language's own.
        """
        own = LANGUAGE_LIMITS[profile] if self.lang.own_rules else {}
        written = self.profiles.get(profile, {})
        found: dict[str, dict[str, int | None]] = {}
        for code in sorted({*own, *self.languages}):
            limits = {reason: written.get(reason, limit) for reason, limit in own.get(code, {}).items()}
            limits |= self.languages.get(code, {}).get(profile, {})
            scaled = {
                reason: None if limit is None else round(limit * RULE_BY_REASON[reason].scale)
                for reason, limit in sorted(limits.items())
                if RULE_BY_REASON[reason].filter in self.filters
            }
            if scaled:
                found[code] = scaled
        return found


def problems(document: Any) -> list[Problem]:
    """Every setting that is wrong in a parsed document, or the first MAX_PROBLEMS."""
    return first_problems(table(CorpusConfig), document)


def from_document(document: Any) -> CorpusConfig:
    return config_document.from_document(table(CorpusConfig), document)
