"""Corpus config: what one version of a dataset is made of, and every rule that changes its bytes.

Spec: corpus_config.md.

Each setting and its default stand here once. YAML is read in `corpus_assets.validation.corpus_config`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from formats import canonical
from formats.errors import ConfigError
from formats.json_fields import (
    Choice,
    Keyed,
    Kind,
    Listing,
    Number,
    OrNull,
    Problem,
    Rules,
    SetOf,
    Text,
    Whole,
    table,
)
from formats.ledger import name_of
from formats.naming import VersionKey
from formats.reasons import FILTERS, PROFILES, RULES, Rule

DEFAULT_SHARD_ROWS = 50_000
DEFAULT_ROW_GROUP_BYTES = 64 * 1024 * 1024
NUM_PERM = 128
_SHA256 = Text(r"[0-9a-f]{64}", "64 lower-case hex digits")
_FIELD = Text(says="the name of a field")


@dataclass(frozen=True)
class LicenseRules(Rules):
    """SPDX ids, exact `X WITH Y` forms and LicenseRef- names under which a source may be used."""

    allow: Annotated[
        tuple[str, ...], SetOf(Text(r"[A-Za-z0-9.+\x20:-]+", "an SPDX licence id or a LicenseRef- name"), min_items=1)
    ]


@dataclass(frozen=True)
class LanguageRules(Rules):
    """An empty `allow` keeps every language, `und` too. The second voice is asked always, or where the first is
    unsure.
    """

    allow: Annotated[tuple[str, ...], SetOf(Text(r"[a-z]{2}|und", "an ISO 639-1 code or und"))] = ()
    second_voice: Annotated[str, Choice(("always", "unsure"))] = "always"


@dataclass(frozen=True)
class NearRules(Rules):
    """Near duplicates. A bucket above `max_bucket` members is hot: each is compared with its first `hot_keepers` only.
    Above `max_cluster` members a cluster raises the alarm; nothing else happens to it.
    """

    drop: bool = True
    jaccard_threshold: Annotated[float, Number(0, 1)] = 0.8
    shingle: Annotated[int, Whole(1, 100)] = 5
    num_perm: Annotated[int, Whole(NUM_PERM, NUM_PERM, "signatures are stored as 128 x uint32")] = NUM_PERM
    bands: Annotated[int, Whole(1, NUM_PERM)] = 16
    rows: Annotated[int, Whole(1, NUM_PERM)] = 8
    seed: Annotated[int, Whole(0, 2**32 - 1)] = 1
    max_bucket: Annotated[int, Whole(2)] = 1000
    hot_keepers: Annotated[int, Whole(1)] = 16
    max_cluster: Annotated[int, Whole(1)] = 10_000

    @property
    def jaccard_millionths(self) -> int:
        """The threshold as it decides: shared * 1_000_000 >= jaccard_millionths * union."""
        return round(self.jaccard_threshold * 1_000_000)

    def rules(self) -> Iterator[Problem]:
        if self.bands * self.rows > self.num_perm:
            needed = f"{self.bands} bands of {self.rows} rows need {self.bands * self.rows} permutations"
            yield "bands", f"{needed}, num_perm is {self.num_perm}; take fewer bands or rows"


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
    format: Annotated[str, Choice(("jsonl", "csv"))]
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
class CorpusConfig(Rules):
    """Everything that decides what a version holds."""

    dataset: Annotated[str, name_of("dataset")]
    version: Annotated[str, name_of("version")]
    sources: Annotated[tuple[str, ...], SetOf(name_of("source"), min_items=1)]
    licenses: LicenseRules
    shard_rows: Annotated[int, Whole(1, 2**31 - 1)] = DEFAULT_SHARD_ROWS
    row_group_bytes: Annotated[int, Whole(1)] = DEFAULT_ROW_GROUP_BYTES
    val_permille: Annotated[int, Whole(0, 1000)] = 5
    filters: Annotated[tuple[str, ...], Listing(Choice(FILTERS))] = FILTERS
    lang: LanguageRules = LanguageRules()
    profiles: Annotated[dict[str, dict[str, float | int | None]], Keyed(dict.fromkeys(PROFILES, _OVERRIDES))] = field(
        default_factory=dict
    )
    dedup: DedupRules = DedupRules()
    decontaminate: DecontaminationRules = DecontaminationRules()
    pii: PiiRules = PiiRules()
    notes: Annotated[str, Text(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]*", "text", max_length=100_000)] = ""
    config_sha256: str = "0" * 64
    """SHA-256 of the document as it was written; not a setting."""

    @property
    def key(self) -> VersionKey:
        return VersionKey(self.dataset, self.version)

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


def problems(document: Any) -> list[Problem]:
    """Every setting that is wrong in a parsed document."""
    return list(table(CorpusConfig).problems(document, ""))


def from_document(document: Any) -> CorpusConfig:
    """The config of a parsed document. Raises ConfigError that names every setting that is wrong."""
    if found := problems(document):
        raise ConfigError("\n".join(f"{path}: {wrong}" if path else wrong for path, wrong in found))
    config: CorpusConfig = table(CorpusConfig).build(document)
    return replace(config, config_sha256=canonical.digest(table(CorpusConfig).canonical(document)))
