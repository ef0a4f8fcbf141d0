"""Corpus config: what one version of a dataset is made of, and every rule that changes its bytes.

Spec: corpus_config.md.

Each setting and its default stand here once. YAML is read in `corpus_assets.validation.corpus_config`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from formats import canonical
from formats.errors import ConfigError
from formats.json_fields import Choice, Kind, Listing, Number, OrNull, Problem, SetOf, Text, Whole, first_problems
from formats.json_tables import Keyed, MapOf, Rules, table
from formats.language_rules import LANGUAGE_LIMITS
from formats.ledger import name_of
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
    SITE_FILTERS,
    WORD_FILTER,
    Rule,
)

DEFAULT_SHARD_ROWS = 50_000
DEFAULT_ROW_GROUP_BYTES = 64 * 1024 * 1024
NUM_PERM = 128
_SHA256 = Text(r"[0-9a-f]{64}", "64 lower-case hex digits")
_FIELD = Text(says="the name of a field")
_LANGUAGE = Text(r"[a-z]{2}|und", "an ISO 639-1 code or und")


@dataclass(frozen=True)
class LicenseRules(Rules):
    """SPDX ids, exact `X WITH Y` forms and LicenseRef- names under which a source may be used."""

    allow: Annotated[
        tuple[str, ...], SetOf(Text(r"[A-Za-z0-9.+\x20:-]+", "an SPDX licence id or a LicenseRef- name"), min_items=1)
    ]


@dataclass(frozen=True)
class LanguageRules(Rules):
    """An empty `allow` keeps every language, `und` too. The second voice is asked always, or where the first is
    unsure. With `own_rules` each language has limits and stop words of its own (language_rules.md).
    """

    allow: Annotated[tuple[str, ...], SetOf(_LANGUAGE)] = ()
    second_voice: Annotated[str, Choice(("always", "unsure"))] = "always"
    own_rules: bool = False


@dataclass(frozen=True)
class BlockModelFile(Rules):
    """A block model that `corpus extract train` wrote; `path` is absolute or relative to the artifacts root."""

    path: Annotated[str, Text(says="a path")]
    sha256: Annotated[str, _SHA256]


@dataclass(frozen=True)
class ExtractorRules(Rules):
    """How the main text of web pages is found: by Resiliparse's rules, or by our blocks and the trees of a model, which
    is the package's own where none is named. The second opinion is asked of pages of which the model is unsure.
    """

    extractor: Annotated[str, Choice(("resiliparse", "blocks"))] = "resiliparse"
    model: Annotated[BlockModelFile | None, OrNull(table(BlockModelFile))] = None
    second_opinion: Annotated[str, Choice(("resiliparse", "trafilatura"))] = "resiliparse"

    def rules(self) -> Iterator[Problem]:
        if self.extractor == "blocks":
            return
        if self.model:
            yield "model", "only extractor blocks has a model; leave it out, or write extractor: blocks"
        if self.second_opinion != "resiliparse":
            words = "only extractor blocks asks for a second opinion; leave it out, or write extractor: blocks"
            yield "second_opinion", words


@dataclass(frozen=True)
class NearRules(Rules):
    """Near duplicates. A bucket above `max_bucket` members is hot: each is compared with its first `hot_keepers` only.
    Above `max_cluster` members a cluster raises the alarm; nothing else happens to it. The two ratios raise alarms:
    for a source that loses more of its documents to dedup, and for keepers that differ more in length from the median
    of their cluster.
    """

    drop: bool = True
    jaccard_threshold: Annotated[float, Number(0, 1)] = 0.8
    shingle: Annotated[int, Whole(1, 100)] = 5
    shingle_unit: Annotated[str, Choice(("word", "char"))] = "word"
    num_perm: Annotated[int, Whole(NUM_PERM, NUM_PERM, "signatures are stored as 128 x uint32")] = NUM_PERM
    bands: Annotated[int, Whole(1, NUM_PERM)] = 16
    rows: Annotated[int, Whole(1, NUM_PERM)] = 8
    seed: Annotated[int, Whole(0, 2**32 - 1)] = 1
    max_bucket: Annotated[int, Whole(2)] = 1000
    hot_keepers: Annotated[int, Whole(1)] = 16
    max_cluster: Annotated[int, Whole(1)] = 10_000
    max_source_loss_ratio: Annotated[float, Number(0, 1)] = 0.5
    max_keeper_length_ratio: Annotated[float, Number(0, 100)] = 0.2

    @property
    def jaccard_millionths(self) -> int:
        """The threshold as it decides: shared * 1_000_000 >= jaccard_millionths * union."""
        return round(self.jaccard_threshold * 1_000_000)

    def rules(self) -> Iterator[Problem]:
        if self.bands * self.rows > self.num_perm:
            needed = f"{self.bands} bands of {self.rows} rows need {self.bands * self.rows} permutations"
            yield "bands", f"{needed}, num_perm is {self.num_perm}; take fewer bands or rows"
        if self.hot_keepers > self.max_bucket:
            yield "hot_keepers", f"is {self.hot_keepers}, above max_bucket, which is {self.max_bucket}; take fewer"
        if self.jaccard_millionths < 1:
            yield "jaccard_threshold", "is 0 in millionths, so that all that meet were duplicates; take more"


@dataclass(frozen=True)
class DedupRules(Rules):
    near: NearRules = NearRules()


@dataclass(frozen=True)
class EvalSet(Rules):
    """A benchmark that must not be in the corpus. `path` is absolute or relative to the artifacts root; a name that
    ends in .gz or .zst is decompressed. An item is named by its position in the file, from 0.
    """

    name: Annotated[str, name_of("eval set")]
    path: Annotated[str, Text(says="a path")]
    sha256: Annotated[str, _SHA256]
    format: Annotated[str, Choice(("jsonl", "csv", "parquet"))]
    fields: Annotated[tuple[str, ...], SetOf(_FIELD, min_items=1)]


@dataclass(frozen=True)
class DecontaminationRules(Rules):
    """Documents that share an n-gram with a protected item go. `exempt` lists reviewed items as `<set>:<item>`."""

    eval_sets: Annotated[tuple[EvalSet, ...], SetOf(table(EvalSet), key="name")] = ()
    ngram: Annotated[int, Whole(1, 100)] = 13
    min_item_words: Annotated[int, Whole(1, 100)] = 8
    exempt: Annotated[
        tuple[str, ...], SetOf(Text(r"[a-z0-9][a-z0-9_-]*:(?:0|[1-9][0-9]*)", "<eval set>:<item's position>"))
    ] = ()

    def rules(self) -> Iterator[Problem]:
        if self.min_item_words > self.ngram:
            yield "min_item_words", f"{self.min_item_words} is above ngram, which is {self.ngram}"
        names = {eval_set.name for eval_set in self.eval_sets}
        for item in self.exempt:
            if item.partition(":")[0] not in names:
                yield "exempt", f"{item} names no eval set of this config ({', '.join(sorted(names)) or 'it has none'})"


@dataclass(frozen=True)
class SiteList(Rules):
    """A file that the version is bound to. `path` is absolute or relative to the artifacts root."""

    name: Annotated[str, name_of("list")]
    path: Annotated[str, Text(says="a path")]
    sha256: Annotated[str, _SHA256]


@dataclass(frozen=True)
class SiteRules(Rules):
    """Domains and URL prefixes whose documents are left out, by what is asked first. Formats: site_lists.md."""

    opt_out: Annotated[tuple[SiteList, ...], SetOf(table(SiteList), key="name")] = ()
    block: Annotated[tuple[SiteList, ...], SetOf(table(SiteList), key="name")] = ()

    @property
    def configured(self) -> tuple[str, ...]:
        """The filters that have a list, in the order in which they decide."""
        return tuple(
            name for name, lists in zip(SITE_FILTERS.values(), (self.opt_out, self.block), strict=True) if lists
        )


@dataclass(frozen=True)
class WordList(Rules):
    """A file of words and phrases for documents of one language, `*` for all. Too many is a share above `max_ratio` of
    a document's words, and at least `min_words` of them.
    """

    name: Annotated[str, name_of("list")]
    path: Annotated[str, Text(says="a path")]
    sha256: Annotated[str, _SHA256]
    lang: Annotated[str, Text(r"[a-z]{2}|und|\*", "an ISO 639-1 code, und, or * for all")]
    max_ratio: Annotated[float, Number(0, 1)]
    min_words: Annotated[int, Whole(1)] = 1

    @property
    def max_millionths(self) -> int:
        """The share as it decides: listed * 1_000_000 > max_millionths * words is too many."""
        return round(self.max_ratio * 1_000_000)


@dataclass(frozen=True)
class WordRules(Rules):
    """Word lists, each with its own limits. Format: word_lists.md."""

    lists: Annotated[tuple[WordList, ...], SetOf(table(WordList), key="name")] = ()


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


@dataclass(frozen=True)
class NgramIndexRules(Rules):
    """What is kept of the published n-grams, so that a later benchmark can be checked without the texts: one in `rate`
    of them, by hash, with its places (`postings`), or only that it occurs (`filter`).
    """

    form: Annotated[str, Choice(("none", "postings", "filter"))] = "none"
    rate: Annotated[int, Whole(1, 2**32)] = 16


def _threshold(rule: Rule) -> Kind:
    """What may stand for a rule: null turns it off; the limits are those of its unit."""
    if rule.signal.endswith("_ratio") or rule.signal == "lang_score":
        return OrNull(Number(0, 1))
    if rule.bound == "allow":
        return OrNull(Whole(1, 1, "1 turns the rule on, null turns it off"))
    return OrNull(Whole() if rule.scale == 1 else Number(0, 1_000_000))


_OVERRIDES = Keyed({rule.reason: _threshold(rule) for rule in RULES})


@dataclass(frozen=True)
class CorpusConfig(Rules):
    """Everything that decides what a version holds, and what raises an alarm. Above `max_damaged_ratio` of a source's
    records that should be documents and are broken, its check fails.
    """

    dataset: Annotated[str, name_of("dataset")]
    version: Annotated[str, name_of("version")]
    sources: Annotated[tuple[str, ...], SetOf(name_of("source"), min_items=1)]
    licenses: LicenseRules
    shard_rows: Annotated[int, Whole(1, 2**31 - 1)] = DEFAULT_SHARD_ROWS
    row_group_bytes: Annotated[int, Whole(1, 2**31 - 1, "a column of text holds no more")] = DEFAULT_ROW_GROUP_BYTES
    val_permille: Annotated[int, Whole(0, 1000)] = 5
    sample_permille: Annotated[int, Whole(1, 1000)] = 1000
    sample_seed: Annotated[int, Whole(0, 2**32 - 1)] = 0
    max_damaged_ratio: Annotated[float, Number(0, 1)] = 0.05
    filters: Annotated[tuple[str, ...], Listing(Choice(FILTERS))] = FILTERS
    extract: ExtractorRules = ExtractorRules()
    lang: LanguageRules = LanguageRules()
    profiles: Annotated[dict[str, dict[str, float | int | None]], Keyed(dict.fromkeys(PROFILES, _OVERRIDES))] = field(
        default_factory=dict
    )
    languages: Annotated[
        dict[str, dict[str, dict[str, float | int | None]]],
        MapOf(_LANGUAGE, Keyed(dict.fromkeys(PROFILES, _OVERRIDES))),
    ] = field(default_factory=dict)
    sites: SiteRules = SiteRules()
    words: WordRules = WordRules()
    domain_cap: DomainCapRules = DomainCapRules()
    quality: Annotated[QualityRules | None, OrNull(table(QualityRules))] = None
    safety: Annotated[SafetyRules | None, OrNull(table(SafetyRules))] = None
    ppl: Annotated[PerplexityRules | None, OrNull(table(PerplexityRules))] = None
    dedup: DedupRules = DedupRules()
    decontaminate: DecontaminationRules = DecontaminationRules()
    pii: PiiRules = PiiRules()
    ngram_index: NgramIndexRules = NgramIndexRules()
    notes: Annotated[str, Text(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]*", "text", max_length=100_000)] = ""
    config_sha256: str = "0" * 64
    """SHA-256 of the document as it was written; not a setting."""

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
    """The config of a parsed document. Raises ConfigError that names every setting that is wrong."""
    if found := problems(document):
        raise ConfigError("\n".join(f"{path}: {wrong}" if path else wrong for path, wrong in found))
    config: CorpusConfig = table(CorpusConfig).build(document)
    return replace(config, config_sha256=canonical.digest(table(CorpusConfig).canonical(document)))
