"""What a trace tells: one document from its shard row back to its ledger row, one rejected record, and what was looked
through.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corpus_assets.plans.extraction_errors import Extraction
from corpus_assets.plans.mixed_texts import MixedLanguages
from corpus_assets.plans.reason_words import FailedRule
from corpus_assets.plans.tracing_items import NearItem
from corpus_assets.plans.tracing_sites import ListedSite, ListedWords


@dataclass(frozen=True)
class ShardRow:
    """Where a kept document lies. `row` counts in the shard, `row_of_version` over all shards, both from 0."""

    shard: str
    shard_sha256: str
    row: int
    row_of_version: int
    split: str
    license_spdx: str
    sha256: str
    minhash_cluster: int
    pii_redactions: int


@dataclass(frozen=True)
class Keeper:
    """The document that stayed instead, and what became of it later."""

    id: str
    url: str
    verdict: str
    jaccard: float | None
    shard: str | None
    row_of_version: int | None


@dataclass(frozen=True)
class Cluster:
    root: str
    size: int
    keepers: int
    largest_distance: float


@dataclass(frozen=True)
class Contamination:
    """The protected item met, and the words of the document that meet it (code points of the normalized text)."""

    eval_set: str
    eval_item: str
    span_start: int
    span_end: int
    text: str | None


@dataclass(frozen=True)
class RawLine:
    """The line of a raw part, counted from 0, and what it holds."""

    part: str
    part_sha256: str
    line: int
    fetched_at: str
    text: str


@dataclass(frozen=True)
class FetchedFile:
    url: str
    sha256: str
    num_bytes: int


@dataclass(frozen=True)
class LedgerSource:
    """The ledger row as the version pinned it."""

    source_id: str
    title: str
    license_spdx: str
    license_evidence: str
    attribution: str
    retrieved: str
    digest: str


@dataclass(frozen=True)
class TracedDocument:
    """One document in one version, from its shard row back to its ledger row."""

    version: str
    id: str
    doc_id: str
    url: str
    verdict: str
    reason: str
    rules_failed: Sequence[FailedRule]
    filters_passed: Sequence[str]
    n_chars: int
    n_words: int
    lang: str
    lang_score: float | None
    pii: Mapping[str, int] | None
    published: ShardRow | None
    keeper: Keeper | None
    cluster: Cluster | None
    contamination: Contamination | None
    near_item: NearItem | None
    mixed: MixedLanguages | None
    extraction: Extraction | None
    listed: ListedSite | None
    listed_words: Sequence[ListedWords]
    raw: RawLine | None
    file: FetchedFile | None
    ledger: LedgerSource


@dataclass(frozen=True)
class TracedReject:
    """A record that became no document in one version."""

    version: str
    source_id: str
    url: str
    position: int
    reason: str
    rejects_file: str
    file: FetchedFile | None
    ledger: LedgerSource


@dataclass
class Trace:
    """What was found, and what was looked through. `more` counts documents beyond those told in full."""

    target: str
    documents: list[TracedDocument] = field(default_factory=list)
    rejects: list[TracedReject] = field(default_factory=list)
    more: int = 0
    searched: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def found(self) -> bool:
        return bool(self.documents or self.rejects)
