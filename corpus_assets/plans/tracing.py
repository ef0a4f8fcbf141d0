"""From a document's id or URL to its shard row, its fate and its reasons, its raw line, the fetched file and the ledger
row; and back, from a source, domain or URL prefix to shards.

Everything is read from published versions and hashed before it is believed. What is looked for is a `Target`; another
kind of name (a token's place in a snapshot) is another Target, which resolves to ids before the chain begins.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.exact_text import normalize, text_digests
from corpus_assets.plans import evidence_lookup
from corpus_assets.plans.evidence_lookup import DocumentRows
from corpus_assets.plans.extraction_errors import extraction_of
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.mixed_texts import mixed_languages
from corpus_assets.plans.published_version import PublishedVersion, open_published
from corpus_assets.plans.reason_words import failed_rules, in_words, passed_filters
from corpus_assets.plans.traced import (
    Cluster,
    Contamination,
    FetchedFile,
    Keeper,
    LedgerSource,
    RawLine,
    ShardRow,
    Trace,
    TracedDocument,
    TracedReject,
)
from corpus_assets.plans.tracing_items import near_item
from corpus_assets.plans.tracing_sites import cap_words, listed_site, words_on_lists
from formats import corpus_shard, evidence, raw_set, raw_set_rows
from formats.errors import CorruptDataError
from formats.layout import Layout
from formats.naming import NAME, VersionKey
from formats.parquet_file import Shard
from formats.raw_set import RawSet
from formats.reasons import Reason
from formats.stage_tables import PII_KINDS

MAX_DOCUMENTS = 20
"""Documents of one URL whose chain is told in full; the others are counted."""
_ID = re.compile(rf"({NAME.pattern}):(0|[1-9][0-9]*)")
_SHARD_COLUMNS = tuple(name for name in corpus_shard.SCHEMA.names if name != "text")
_MILLION = 1_000_000
_TWO_BUILDS = "it and the evidence are of two builds; restore both from a copy, or build the version again"


@dataclass(frozen=True)
class Target:
    """What a person asked for: a URL, and, where the words have that form, the id `<source>:<k>`."""

    words: str
    source: str | None = None
    k: int | None = None

    @classmethod
    def parse(cls, words: str) -> "Target":
        found = _ID.fullmatch(words)
        return cls(words, found[1], int(found[2])) if found else cls(words)


def trace(layout: Layout, words: str, keys: Iterable[VersionKey]) -> Trace:
    """The chain of the document or rejected record that `words` name, in each of the versions.

    Raises ConfigError for a version that is not published, CorruptDataError for anything that changed since.
    """
    target, result = Target.parse(words), Trace(words)
    for key in keys:
        _Tracer(open_published(layout, key), result).trace(target)
    return result


class _Tracer:
    """One version."""

    def __init__(self, version: PublishedVersion, result: Trace) -> None:
        self._version, self._result = version, result
        self._rows = DocumentRows(version)

    def trace(self, target: Target) -> None:
        self._result.searched.append(f"{self._version.key}: {self._rows.rows:,} documents")
        row = self._rows.at(target.source, target.k) if target.source is not None and target.k is not None else None
        for found in [row] if row else self._with_url(target.words):
            if len(self._result.documents) < MAX_DOCUMENTS:
                self._result.documents.append(self._document(found))
            else:
                self._result.more += 1
        if row is None:
            self._result.rejects.extend(self._rejects(target.words))
            self._hint(target)

    def _hint(self, target: Target) -> None:
        """What numbers a source's documents have, to who asked for another one."""
        if target.source in self._version.counts["sources"]:
            last = self._version.counts["sources"][target.source]["documents"] - 1
            held = f"documents 0 to {last}" if last >= 0 else "no documents"
            self._result.notes.append(
                f"{self._version.key}: {target.source} has {held}; rejects are found by their url"
            )

    def _with_url(self, url: str) -> Iterator[dict[str, Any]]:
        for batch in self._rows.where(*evidence_lookup.equal_to(url)):
            yield from batch.to_pylist()

    def _document(self, row: dict[str, Any]) -> TracedDocument:
        version = self._version
        source, _, k = row["id"].partition(":")
        rules = version.counts["rules"][source]
        raw = self._raw_line(row)
        listed = listed_site(version, row)
        reason = in_words(row, rules, version.manifest["dedup"]["jaccard_threshold"])
        wordy = words_on_lists(version, row)
        if row["verdict"] == Reason.TOO_MANY_LISTED_WORDS:
            reason = wordy[0].words
        if row["verdict"] == Reason.OVER_DOMAIN_CAP:
            reason = f"{reason}: {cap_words(version, row)}"
        return TracedDocument(
            version=str(version.key),
            **{name: row[name] for name in ("id", "doc_id", "url", "verdict", "n_chars", "n_words", "lang")},
            reason=f"{reason}: {listed.words}" if listed else reason,
            rules_failed=failed_rules(row, rules),
            filters_passed=passed_filters(row, rules),
            lang_score=None if row["lang_score"] is None else row["lang_score"] / 1000,
            pii=None if row["pii_email"] is None else {kind: row[f"pii_{kind}"] for kind in PII_KINDS},
            published=self._shard_row(row) if row["verdict"] == Reason.KEPT else None,
            keeper=self._keeper(row),
            cluster=self._cluster(row["cluster"]),
            contamination=_contamination(row, raw),
            near_item=near_item(version, row),
            mixed=mixed_languages(version, row),
            extraction=extraction_of(version, row),
            listed=listed,
            listed_words=wordy,
            raw=raw,
            file=self._file(source, int(k), "documents"),
            ledger=self._ledger(source),
        )

    def _shard_row(self, row: dict[str, Any]) -> ShardRow:
        entries = self._version.manifest["shards"]
        entry = entries[row["shard"]]
        at = row["row"] - sum(shard["rows"] for shard in entries[: row["shard"]])
        seen = 0
        for batch in corpus_shard.read_shard(self._version.folder, entry, columns=_SHARD_COLUMNS):
            if at < seen + batch.num_rows:
                found = batch.slice(at - seen, 1).to_pylist()[0]
                break
            seen += batch.num_rows
        else:
            found = {"id": None}
        path = self._version.folder / entry["name"]
        if found["id"] != row["id"]:
            raise CorruptDataError(path, f"id of row {at}", row["id"], found["id"], _TWO_BUILDS)
        return ShardRow(
            shard=path.relative_to(self._version.layout.root).as_posix(),
            shard_sha256=entry["sha256"],
            row=at,
            row_of_version=row["row"],
            sha256=found["sha256"].hex(),
            **{name: found[name] for name in ("split", "license_spdx", "minhash_cluster", "pii_redactions")},
        )

    def _keeper(self, row: dict[str, Any]) -> Keeper | None:
        if row["keeper_id"] is None:
            return None
        source, _, k = row["keeper_id"].partition(":")
        keeper = self._rows.at(source, int(k))
        if keeper is None:
            place = self._version.evidence
            raise CorruptDataError(place, f"keeper of {row['id']}", row["keeper_id"], "no row", _TWO_BUILDS)
        return Keeper(
            keeper["id"],
            keeper["url"],
            keeper["verdict"],
            None if row["keeper_jaccard"] is None else row["keeper_jaccard"] / _MILLION,
            None if keeper["shard"] is None else self._version.manifest["shards"][keeper["shard"]]["name"],
            keeper["row"],
        )

    def _cluster(self, root: str | None) -> Cluster | None:
        """Clusters of one are not listed."""
        if root is None:
            return None
        for batch in evidence.read(self._version.evidence, "clusters"):
            for row in batch.filter(pc.equal(batch.column("root"), root)).to_pylist():
                return Cluster(root, row["size"], row["keepers"], row["largest_distance"] / _MILLION)
        return None

    def _raw_line(self, row: dict[str, Any]) -> RawLine | None:
        raw = self._raw_set(row["source_id"])
        if raw is None:
            return None
        part = raw.parts[row["raw_part"]]
        line = _line_of(part, row["raw_line"])
        digest = text_digests(normalize(pa.array([line["text"]], pa.large_string())))[0].as_py()
        if digest != row["text_digest"]:
            expected = row["text_digest"].hex()
            raise CorruptDataError(part.path, f"digest of line {row['raw_line']}", expected, digest.hex(), _TWO_BUILDS)
        name = raw.folder.joinpath(raw_set.part_name(part.id)).relative_to(self._version.layout.root).as_posix()
        return RawLine(name, part.sha256, row["raw_line"], line["fetched_at"], line["text"])

    def _raw_set(self, source: str) -> RawSet | None:
        raw = self._version.raw_set(source)
        if raw is None:
            note = f"{self._version.key}: the raw set of {source} is no longer below {self._version.layout.root}"
            if note not in self._result.notes:
                self._result.notes.append(note)
        return raw

    def _rejects(self, url: str) -> Iterator[TracedReject]:
        """Rejected records of this URL, in any source."""
        for source, counts in self._version.counts["sources"].items():
            total = sum(counts["rejects"].values())
            raw = self._raw_set(source) if total else None
            if raw is None:
                continue
            self._result.searched.append(f"{self._version.key}: {plural(total, 'rejected record')} of {source}")
            name = raw.folder.joinpath(raw_set.REJECTS).relative_to(self._version.layout.root).as_posix()
            for number, reject in enumerate(raw_set_rows.read_rejects(raw)):
                if reject["url"] == url:
                    yield TracedReject(
                        str(self._version.key),
                        source,
                        url,
                        reject["position"],
                        reject["reason"],
                        name,
                        self._file(source, number, "rejects"),
                        self._ledger(source),
                    )

    def _file(self, source: str, number: int, what: str) -> FetchedFile | None:
        """The fetched file of a source's document (or reject) `number`: they come file after file."""
        for batch in evidence.read(self._version.evidence, "files"):
            for file in batch.filter(pc.equal(batch.column("source_id"), source)).to_pylist():
                if number < file[what]:
                    return FetchedFile(file["url"], file["sha256"].hex(), file["num_bytes"])
                number -= file[what]
        return None

    def _ledger(self, source: str) -> LedgerSource:
        row = self._version.rows[source]
        names = ("source_id", "title", "license_spdx", "license_evidence", "attribution", "retrieved", "digest")
        return LedgerSource(**{name: getattr(row, name) for name in names})


def _line_of(part: Shard, line: int) -> dict[str, Any]:
    for batch in raw_set_rows.read_part(part, columns=("raw_line", "fetched_at", "text")):
        at = np.flatnonzero(batch.column("raw_line").to_numpy() == line)
        if len(at):
            found: dict[str, Any] = batch.slice(int(at[0]), 1).to_pylist()[0]
            return found
    raise CorruptDataError(part.path, "lines", f"more than {line}", part.rows, _TWO_BUILDS)


def _contamination(row: dict[str, Any], raw: RawLine | None) -> Contamination | None:
    if row["eval_set"] is None:
        return None
    text = None
    if raw is not None:
        normalized = normalize(pa.array([raw.text], pa.large_string()))[0].as_py()
        text = normalized[row["span_start"] : row["span_end"]]
    return Contamination(row["eval_set"], row["eval_item"], row["span_start"], row["span_end"], text)
