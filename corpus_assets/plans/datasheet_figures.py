"""Every figure of a datasheet, from the sealed evidence and the manifest of a published version.

The evidence streams by once, a batch at a time; what is held is counters of fixed size, but for the hosts, which are
pruned (datasheet_hosts).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans import datasheet_bins, datasheet_signals
from corpus_assets.plans.datasheet_bins import Histogram
from corpus_assets.plans.datasheet_hosts import HostCounts
from corpus_assets.plans.datasheet_signals import SignalFigures
from corpus_assets.plans.datasheet_tokens import TokenFigures, of_version
from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.web_addresses import asks_for_sites, count_without
from formats import evidence, evidence_schemas
from formats.corpus_config import CorpusConfig
from formats.errors import CorruptDataError
from formats.languages import UNDETERMINED
from formats.ledger import LedgerRow
from formats.reasons import FILTER_BY_REASON, Reason
from formats.stage_tables import PII_KINDS

CLUSTER_SIZES = (2, 3, 4, 5, 9, 17, 33, 65, 129, 257, 1025, 10_001)
"""The least size of each row of the table of clusters."""
_AFTER_FILTERS = (
    (Reason.EXACT_DUPLICATE, "exact duplicates"),
    (Reason.NEAR_DUPLICATE, "near duplicates"),
    (Reason.CONTAMINATED, "eval sets met"),
    (Reason.TRAIN_NEAR_VAL, "train rows near val"),
)


@dataclass(frozen=True)
class SourceFigures:
    """One source; `counts` is its part of counts.json."""

    row: LedgerRow
    counts: Mapping[str, Any]
    num_files: int
    num_bytes: int
    text_bytes: int | None
    """Of its published texts, UTF-8; None in a version of before they were counted."""

    @property
    def name(self) -> str:
        return self.row.source_id

    @property
    def num_rejects(self) -> int:
        return sum(self.counts["rejects"].values())

    def dropped(self, *reasons: str) -> int:
        return sum(self.counts["verdicts"].get(reason, 0) for reason in reasons)


@dataclass(frozen=True)
class LicenseFigures:
    """The published rows under one licence; `tokens` by the names of token sets."""

    name: str
    documents: int
    chars: int
    text_bytes: int | None
    tokens: Mapping[str, int]


@dataclass(frozen=True)
class FunnelStep:
    """A step, and what it took away of each source. `taken` None: nothing can be lost there."""

    name: str
    left: tuple[int, ...]
    taken: tuple[int, ...] | None


@dataclass
class Figures:
    """Everything a datasheet says, as numbers."""

    version: PublishedVersion
    config: CorpusConfig
    sources: Sequence[SourceFigures]
    shard_bytes: int
    token_sets: Sequence[TokenFigures] = ()
    lengths: Histogram = field(default_factory=lambda: Histogram(datasheet_bins.log_edges()))
    signals: list[SignalFigures] = field(default_factory=list)
    hosts: HostCounts = field(default_factory=HostCounts)
    extraction: Histogram | None = None
    """Expected errors of pages, in thousandths; None where the block extractor judged none."""
    extractors: Counter[str] = field(default_factory=Counter)
    """Whose text it is -> pages that the block extractor judged."""
    without_address: Counter[str] = field(default_factory=Counter)
    """Per source the documents that site lists and caps of domains cannot meet; empty where there are neither."""
    verdicts: Counter[str] = field(default_factory=Counter)
    by_language: dict[str, Counter[str]] = field(default_factory=dict)
    """Per language the verdicts on its raw documents; `und` holds also what was never measured."""
    examples: dict[str, str] = field(default_factory=dict)
    """Per verdict the id of the first document that has it."""
    clusters: list[tuple[int, int, int]] = field(default_factory=lambda: [(0, 0, 0)] * len(CLUSTER_SIZES))
    """Per row of CLUSTER_SIZES: clusters, documents in them, documents of those that stayed."""

    @property
    def num_docs(self) -> int:
        n: int = self.version.manifest["n_docs"]
        return n

    @property
    def num_chars(self) -> int:
        return sum(one.counts["chars"] for one in self.sources)

    @property
    def pairs(self) -> Counter[str]:
        """Candidate pairs, hot buckets and pairs skipped of the near-duplicate search; what did not occur is 0."""
        return Counter(self.version.counts["near_duplicates"])

    def total(self, name: str) -> Counter[str]:
        """One of the counters of counts.json, summed over sources."""
        found: Counter[str] = Counter()
        for one in self.sources:
            found.update(one.counts[name])
        return found

    @property
    def text_bytes(self) -> int | None:
        """UTF-8 bytes of the published texts; None in a version of before they were counted."""
        return _sum_of([one.text_bytes for one in self.sources])

    def licenses(self) -> list[LicenseFigures]:
        """Those of the ledger rows, most characters first."""
        by_name: dict[str, list[SourceFigures]] = {}
        for one in self.sources:
            by_name.setdefault(one.row.license_spdx, []).append(one)
        found = [
            LicenseFigures(
                name,
                sum(one.counts["kept"] for one in mine),
                sum(one.counts["chars"] for one in mine),
                _sum_of([one.text_bytes for one in mine]),
                {one.name: one.by_license.get(name, 0) for one in self.token_sets},
            )
            for name, mine in by_name.items()
        ]
        return sorted(found, key=lambda one: (-one.chars, one.name))

    def funnel(self) -> list[FunnelStep]:
        """From records to published rows. What leaves within a source as an exact duplicate is counted with those over
        all sources.
        """
        left = np.array([one.counts["records"] for one in self.sources], np.int64)
        steps = [FunnelStep("records fetched", tuple(left.tolist()), None)]

        def take(name: str, taken: list[int]) -> None:
            nonlocal left
            left = left - np.array(taken, np.int64)
            steps.append(FunnelStep(name, tuple(left.tolist()), tuple(taken)))

        take("rejected records", [one.num_rejects for one in self.sources])
        steps.append(FunnelStep("documents", tuple(left.tolist()), None))
        for name in self.config.all_filters:
            reasons = [reason for reason, of in FILTER_BY_REASON.items() if of == name]
            take(f"filter {name}", [one.dropped(*reasons) for one in self.sources])
        for reason, words in _AFTER_FILTERS:
            take(words, [one.dropped(reason.value) for one in self.sources])
        steps.append(FunnelStep("published", tuple(left.tolist()), None))
        return steps


def measure(version: PublishedVersion) -> Figures:
    """Read the evidence. Raises CorruptDataError for a changed file, and when rows and counts.json disagree."""
    sources = _sources(version)
    figures = Figures(version, version.config(), sources, version.counts["shard_bytes"], of_version(version))
    figures.signals = _signals_to_draw(figures)
    signals = [one.rule.signal for one in figures.signals]
    names = ("id", "source_id", "url", "lang", "n_chars", "verdict", "rules_not_applied", *signals)
    for batch in evidence.read(version.evidence, "documents", columns=tuple(dict.fromkeys(names))):
        _add(figures, batch)
    for batch in evidence.read(version.evidence, "clusters"):
        _add_clusters(figures, batch)
    if evidence_schemas.table_names("extraction", version.sealed):
        figures.extraction = Histogram(range(0, 1001, 50))
        for batch in evidence.read(version.evidence, "extraction"):
            figures.extraction.add(batch.column("expected_error").to_numpy())
            counted = pc.value_counts(batch.column("extractor")).to_pylist()
            figures.extractors.update({one["values"]: one["counts"] for one in counted})
    if figures.verdicts != (said := figures.total("verdicts")):
        path = version.evidence / evidence.COUNTS
        todo = "build the version again"
        raise CorruptDataError(path, "verdicts", dict(sorted(said.items())), dict(figures.verdicts), todo)
    return figures


def _sources(version: PublishedVersion) -> list[SourceFigures]:
    files, num_bytes = Counter[str](), Counter[str]()
    for batch in evidence.read(version.evidence, "files"):
        for source, n in zip(batch.column("source_id").to_pylist(), batch.column("num_bytes").to_pylist(), strict=True):
            files[source] += 1
            num_bytes[source] += n
    counts, texts = version.counts["sources"], version.counts.get(evidence.TEXT_BYTES, {})
    return [
        SourceFigures(row, counts[name], files[name], num_bytes[name], texts.get(name))
        for name, row in sorted(version.rows.items())
    ]


def _sum_of(numbers: Sequence[int | None]) -> int | None:
    known = [n for n in numbers if n is not None]
    return sum(known) if len(known) == len(numbers) else None


def _signals_to_draw(figures: Figures) -> list[SignalFigures]:
    rules = figures.version.counts["rules"]
    profiles = {one.name: rules[one.name]["profile"] for one in figures.sources}
    limits = {name: rules[name]["thresholds"] for name in profiles}
    lost = {one.name: Counter(one.counts["verdicts"]) for one in figures.sources}
    return datasheet_signals.of_models(figures.config) + datasheet_signals.of_profiles(profiles, limits, lost)


def _add(figures: Figures, batch: pa.RecordBatch) -> None:
    verdict = batch.column("verdict")
    for row in pc.value_counts(verdict).to_pylist():
        figures.verdicts[row["values"]] += row["counts"]
        if row["values"] not in figures.examples:
            at = pc.index(verdict, pa.scalar(row["values"], verdict.type)).as_py()
            figures.examples[row["values"]] = batch.column("id")[at].as_py()
    pairs = pa.table({"lang": batch.column("lang"), "verdict": verdict}).group_by(["lang", "verdict"])
    for row in pairs.aggregate([([], "count_all")]).to_pylist():
        figures.by_language.setdefault(row["lang"] or UNDETERMINED, Counter())[row["verdict"]] += row["count_all"]
    if asks_for_sites(figures.config):
        urls = pa.table({"source": batch.column("source_id"), "url": batch.column("url")})
        for source in pc.unique(batch.column("source_id")).to_pylist():
            mine = urls.filter(pc.equal(urls["source"], source))["url"].chunks
            figures.without_address[source] += count_without(figures.version.rows[source], mine)[0]
    kept = batch.filter(pc.equal(verdict, Reason.KEPT.value))
    figures.lengths.add(kept.column("n_chars").to_numpy())
    figures.hosts.add(kept.column("url"), kept.column("n_chars"))
    for one in figures.signals:
        one.add(batch)


def _add_clusters(figures: Figures, batch: pa.RecordBatch) -> None:
    sizes, keepers = batch.column("size").to_numpy(), batch.column("keepers").to_numpy()
    at = np.searchsorted(np.array(CLUSTER_SIZES), sizes, side="right") - 1
    for i in np.unique(at).tolist():
        clusters, documents, stayed = figures.clusters[i]
        mine = at == i
        figures.clusters[i] = (
            clusters + int(mine.sum()),
            documents + int(sizes[mine].sum()),
            stayed + int(keepers[mine].sum()),
        )


def pii_counts(figures: Figures) -> list[tuple[str, int]]:
    """Replacements in published rows, by kind."""
    found = figures.total("pii")
    return [(kind, found[kind]) for kind in PII_KINDS]


def cluster_sizes() -> list[str]:
    """The rows of CLUSTER_SIZES in words: `2`, `5 to 8`, `10,001 and more`."""
    told = []
    for least, after in zip(CLUSTER_SIZES, (*CLUSTER_SIZES[1:], None), strict=True):
        most = None if after is None else after - 1
        told.append(f"{least:,}" if most == least else f"{least:,} to {most:,}" if most else f"{least:,} and more")
    return told
