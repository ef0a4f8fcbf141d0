"""The way back: which shards of which versions hold what came from a source, a domain or a URL prefix, and what of it
was dropped. A source is answered from lineage and counts alone; URLs stream by, a batch at a time.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.evidence_lookup import DocumentRows, Mask, MayHold, beginning_with, of_domain
from corpus_assets.plans.published_version import PublishedVersion, open_published
from formats import evidence, raw_set_rows
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.reasons import Reason

_COLUMNS = ("url", "source_id", "verdict", "shard")
_BATCH_REJECTS = 4096


@dataclass(frozen=True)
class ShardCount:
    """Rows of one shard that came from one source, under its licence."""

    shard: str
    source_id: str
    license_spdx: str
    rows: int


@dataclass
class Holding:
    """What one version holds of what was asked for: documents = kept + dropped; rejects by source and reason."""

    version: str
    shards: list[ShardCount] = field(default_factory=list)
    documents: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    rejects: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass
class Holdings:
    """Per version that has some, what it holds; and what was looked through."""

    asked: str
    versions: list[Holding] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def found(self) -> bool:
        return bool(self.versions)

    def add(self, holding: Holding, searched: str, *, found: bool) -> None:
        self.searched.append(f"{holding.version}: {searched}")
        if found:
            self.versions.append(holding)


def of_source(layout: Layout, source: str, keys: Iterable[VersionKey]) -> Holdings:
    """What each version holds of a source of the ledger; a version that has the source may hold nothing of it."""
    result = Holdings(f"source {source}")
    for key in keys:
        version = open_published(layout, key)
        counts = version.counts["sources"].get(source)
        holding = Holding(str(key))
        if counts is not None:
            verdicts = Counter(counts["verdicts"])
            holding.documents, holding.kept = verdicts.total(), verdicts.pop(Reason.KEPT.value, 0)
            holding.dropped = dict(sorted(verdicts.items()))
            holding.rejects = {source: dict(counts["rejects"])}
            holding.shards = list(_lineage(version, source))
        result.add(holding, f"sources {', '.join(version.counts['sources'])}", found=counts is not None)
    return result


def of_domain_name(layout: Layout, domain: str, keys: Iterable[VersionKey]) -> Holdings:
    """What each version holds of http(s) URLs whose host is `domain` or below it. Raises ConfigError for no host."""
    return _of_urls(layout, f"domain {domain}", urls_of_domain(domain), keys)


def of_prefix(layout: Layout, prefix: str, keys: Iterable[VersionKey]) -> Holdings:
    """What each version holds of URLs that begin with `prefix`. Raises ConfigError for an empty one."""
    return _of_urls(layout, f"URLs that begin with {prefix}", urls_of_prefix(prefix), keys)


def urls_of_domain(domain: str) -> tuple[Mask, MayHold]:
    """As `evidence_lookup.of_domain`, of what a person wrote. Raises ConfigError for no host."""
    if not domain.strip(".") or any(c in domain for c in "/:@ ?#"):
        raise ConfigError(f"{domain!r} is no domain; write a host such as example.org, or use --prefix for a URL")
    return of_domain(domain)


def urls_of_prefix(prefix: str) -> tuple[Mask, MayHold]:
    """As `evidence_lookup.beginning_with`, of what a person wrote. Raises ConfigError for an empty prefix."""
    if not prefix:
        raise ConfigError("an empty prefix is that of every URL; write how the URLs begin")
    return beginning_with(prefix)


def _of_urls(layout: Layout, asked: str, wanted: tuple[Mask, MayHold], keys: Iterable[VersionKey]) -> Holdings:
    result = Holdings(asked)
    mask, may_hold = wanted
    for key in keys:
        version = open_published(layout, key)
        rows, verdicts = DocumentRows(version), Counter[str]()
        of_shard: Counter[tuple[int, str]] = Counter()
        for batch in rows.where(mask, may_hold, _COLUMNS):
            verdicts.update(batch.column("verdict").to_pylist())
            kept = batch.filter(pc.is_valid(batch.column("shard")))
            of_shard.update(zip(kept.column("shard").to_pylist(), kept.column("source_id").to_pylist(), strict=True))
        holding = Holding(str(key), documents=verdicts.total(), kept=verdicts.pop(Reason.KEPT.value, 0))
        holding.dropped = dict(sorted(verdicts.items()))
        holding.shards = [
            ShardCount(_shard_name(version, shard), source, version.rows[source].license_spdx, n)
            for (shard, source), n in sorted(of_shard.items())
        ]
        holding.rejects = dict(_rejects(version, mask, result))
        found = holding.documents > 0 or bool(holding.rejects)
        result.add(holding, f"{rows.rows:,} documents and the rejected records", found=found)
    return result


def _lineage(version: PublishedVersion, source: str) -> Iterator[ShardCount]:
    for batch in evidence.read(version.evidence, "lineage"):
        for row in batch.filter(pc.equal(batch.column("source_id"), source)).to_pylist():
            yield ShardCount(_shard_name(version, row["shard"]), source, row["license_spdx"], row["rows"])


def _rejects(version: PublishedVersion, mask: Mask, result: Holdings) -> Iterator[tuple[str, dict[str, int]]]:
    for source, counts in version.counts["sources"].items():
        if not counts["rejects"]:
            continue
        raw = version.raw_set(source)
        if raw is None:
            result.notes.append(f"{version.key}: the raw set of {source} is gone, so its rejects were not searched")
            continue
        found: Counter[str] = Counter()
        for rejects in _batches(raw_set_rows.read_rejects(raw)):
            wanted = mask(pa.array([reject["url"] for reject in rejects], pa.large_string())).to_pylist()
            found.update(reject["reason"] for reject in compress(rejects, wanted))
        if found:
            yield source, dict(sorted(found.items()))


def _batches(rejects: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(rejects, _BATCH_REJECTS)):
        yield batch


def _shard_name(version: PublishedVersion, shard: int) -> str:
    path = version.folder / version.manifest["shards"][shard]["name"]
    return path.relative_to(version.layout.root).as_posix()
