"""Audits: what is stored, read back and held against its promises. Each says what it found in words and figures."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans import ledger_changes
from corpus_assets.plans import raw_set as raw_sets
from corpus_assets.plans.clusters import dedup_clusters, of_source
from corpus_assets.plans.evidence_tables import cluster_rows
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.funnel import verdict_counts
from corpus_assets.plans.keepers import shards_of
from corpus_assets.plans.language_counts import verdicts_by_language
from corpus_assets.plans.pinned import Build, Pair, Version, load_pairs, load_version, pinned_value, todays_value
from corpus_assets.plans.published_version import open_published, published_versions
from corpus_assets.plans.scrub import scrubbed_docs
from corpus_assets.plans.source_stages import documents, signals, verdicts
from corpus_assets.validation.ledger import ROW_CHECKS
from formats import corpus_manifest, corpus_shard, dataset, durable, parquet_file
from formats import evidence as evidence_files
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError, CorruptDataError
from formats.languages import UNDETERMINED
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from formats.reasons import FILTER_BY_REASON, Reason
from formats.reject_reasons import DAMAGED, RejectReason

KEPT = Reason.KEPT.value
MIN_RETENTION = 0.1
MAX_RETENTION_LOSS = 0.1
MIN_LANGUAGE_DOCS, MIN_LANGUAGE_RETENTION = 100, 0.5
"""A language of so many documents of a source should keep at least half of the share that the source keeps."""


@dataclass(frozen=True)
class Finding:
    """Whether a promise holds, in words a person understands, with the figures behind them."""

    passed: bool
    words: str
    figures: Mapping[str, int | float | str] = field(default_factory=dict)


def ledger_rule(layout: Layout, key: PairKey, rule: str) -> Finding:
    """One of the rules that a pinned ledger row must hold (validation.ledger.ROW_CHECKS)."""
    value, config = pinned_value(layout, key), load_version(layout, key.version).config
    licence = str(value.get("license_spdx")) if isinstance(value, dict) else "none"
    if wrong := ROW_CHECKS[rule](value, config):
        return Finding(False, f"{layout.ledger}: {'; '.join(wrong)}", {"license": licence, "violations": len(wrong)})
    return Finding(True, _RIGHT[rule](value, licence, config), {"license": licence})


_RIGHT: dict[str, Callable[[dict[str, Any], str, CorpusConfig], str]] = {
    "ledger_schema": lambda row, _licence, _config: (
        f"{plural(len(row), 'field')} checked, each as the ledger's format has it: {', '.join(sorted(row))}"
    ),
    "spdx_expression": lambda _row, licence, _config: f"{licence} is an SPDX licence expression",
    "licence_allowed": lambda _row, licence, config: (
        f"{licence} is allowed by {config.key}, which allows {', '.join(config.licenses.allow)}"
    ),
    "checksums_present": lambda row, _licence, _config: (
        f"{plural(len(row['files']), 'file')} with SHA-256 and length, "
        f"{plural(sum(file['bytes'] for file in row['files']), 'byte')} in all"
    ),
}
"""Rule -> what was found where it holds."""


def unchanged_in_ledger(layout: Layout, key: PairKey) -> Finding:
    """Whether the ledger of today has the row that the version pinned."""
    pinned = pinned_value(layout, key)
    try:
        today = todays_value(layout, key.source)
    except ConfigError as error:
        step = ledger_changes.next_step(layout, key, gone=True)
        return Finding(False, f"{ledger_changes.no_row(layout, key, error)}. {step}")
    changed = sum(today.get(name) != pinned.get(name) for name in {*today, *pinned})
    words = "same row as pinned"
    if changed:
        step = ledger_changes.next_step(layout, key)
        words = f"the ledger's row changed since it was pinned: {ledger_changes.changes(pinned, today)}. {step}"
    return Finding(not changed, words, {"changed_fields": changed})


def records_accounted_for(layout: Layout, pair: Pair) -> Finding:
    """Records = documents + rejects in every file of the raw set; every part reads back with its hash and rows,
    and the rejects and judged pages have their hashes.
    """
    raw = raw_sets.find_raw_set(layout, pair.row, pair.config.extract)
    for file in raw.shards[len(raw.parts) :]:
        parquet_file.verified(file)
    read = sum(batch.num_rows for batch in dataset.read(raw.as_dataset()))
    records, rejects = sum(file.records for file in raw.files), sum(file.rejects for file in raw.files)
    listed = {(file.url, file.sha256) for file in pair.row.files}
    missing = listed - {(file.url, file.sha256) for file in raw.files}
    passed = records == read + rejects and not missing
    words = f"{records} records = {read} documents + {rejects} rejects"
    if missing:
        words += f"; {len(missing)} files of the ledger row are not in the raw set, such as {sorted(missing)[0][0]}"
    return Finding(passed, words, {"records": records, "documents": read, "rejects": rejects, "files": len(raw.files)})


def few_records_damaged(layout: Layout, pair: Pair) -> Finding:
    """At most the config's share of the records that should be documents are broken, there are records, and some are
    documents. A file cut short, or read with the wrong field mapping or as another kind, shows here, where each of its
    lines is only one more reject; so does a source of empty files, which has not even those.
    """
    raw, limit = raw_sets.find_raw_set(layout, pair.row, pair.config.extract), pair.config.max_damaged_ratio
    rejects = {reason: count for reason, count in raw.rejects.items() if count}
    damaged = {reason: count for reason, count in rejects.items() if reason in DAMAGED}
    total, records = sum(damaged.values()), raw.documents + sum(rejects.values())
    expected = raw.documents + total
    if not records:
        plural = "s" * (len(raw.files) != 1)
        words = (
            f"no record in {len(raw.files)} file{plural}; look whether they were fetched whole, or take the source out"
        )
    elif not raw.documents:
        words = f"none of {records} records is a document: {_told(rejects)}; {_todo(rejects)}"
    else:
        words = f"{total} of {expected} records are damaged, {limit:.2%} may be"
        if damaged:
            words += f": {_told(damaged)}; see rejects.jsonl.zst"
    passed = limit >= 1 or (raw.documents > 0 and total <= limit * expected)
    return Finding(passed, words, {"damaged": total, "records": expected, "limit": limit})


def _told(rejects: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(rejects.items()))


def _todo(rejects: Mapping[str, int]) -> str:
    """What to do about a source without a document, by what most of its records are."""
    if max(sorted(rejects), key=rejects.__getitem__) == RejectReason.UNSAFE_MEMBER_NAME:
        return "pack the archive anew with relative names, without a leading / and without .. in them"
    return "look at kind, container, fields and files of the ledger row"


def documents_conserved(build: Build, pair: Pair) -> Finding:
    """As many documents in each stage of the source as in its raw set, and a verdict for each."""
    raw = raw_sets.find_raw_set(build.layout, pair.row, pair.config.extract).documents
    rows = {
        "documents": documents(build, pair).open().rows,
        "signals": signals(build, pair).open().rows,
    }
    counts = verdict_counts(verdicts(build, pair).open())
    rows["verdicts"] = sum(counts.values())
    passed = all(n == raw for n in rows.values())
    kept = counts[Reason.KEPT.value]
    words = f"{raw} raw documents, {rows['verdicts']} verdicts: {kept} kept + {rows['verdicts'] - kept} dropped"
    return Finding(passed, words, {"raw": raw, **rows, "kept": kept})


def retention(build: Build, pair: Pair) -> Finding:
    """The share of the source's documents that its filters keep."""
    counts = verdict_counts(verdicts(build, pair).open())
    total = sum(counts.values())
    kept = counts[Reason.KEPT.value]
    share = kept / total if total else 1.0
    most = max(((n, why) for why, n in counts.items() if why != Reason.KEPT), default=(0, "nothing"))
    words = f"{kept} of {total} documents kept ({share:.1%}); most go by {most[1]} ({most[0]})"
    return Finding(share >= MIN_RETENTION, words, {"kept_ratio": share, "kept": kept})


def retention_of_languages(build: Build, pair: Pair) -> Finding:
    """Of each language of a source, the share of documents that the filters keep, against that of the whole source."""
    by_language = verdicts_by_language(build, pair)
    whole = sum(by_language.values(), Counter[str]())
    share = whole[KEPT] / whole.total() if whole else 1.0
    by_language.pop(UNDETERMINED, None)  # what is too short to have a language goes for that
    large = {code: counts for code, counts in by_language.items() if counts.total() >= MIN_LANGUAGE_DOCS}
    kept = {code: counts[KEPT] / counts.total() for code, counts in sorted(large.items())}
    low = [code for code in kept if kept[code] < MIN_LANGUAGE_RETENTION * share]
    told = [f"{code} {kept[code]:.1%}, most go by {_most_lost(large[code])}" for code in low]
    words = f"{share:.1%} kept of all languages; " + ("; ".join(told) or "none keeps less than half of that")
    return Finding(not low, words, {"languages": len(large), "languages_low": len(low)})


def _most_lost(counts: Counter[str]) -> str:
    n, why = min((-n, why) for why, n in counts.items() if why != KEPT)
    return f"{why} ({-n})"


def survivors_conserved(build: Build, pairs: list[Pair], pair: Pair) -> Finding:
    """Documents that passed the filters = those dedup decided on; those it kept = scrubbed + contaminated."""
    passed_filters = verdict_counts(verdicts(build, pair).open())[Reason.KEPT.value]
    decided = verdict_counts(
        of_source(dedup_clusters(build, pairs).open(), shards_of(build, pairs)[pair.source_number])
    )
    scrubbed = verdict_counts(scrubbed_docs(build, pairs, pair).open())
    entered, kept = sum(decided.values()), decided[Reason.KEPT.value]
    out = sum(scrubbed.values())
    words = f"{passed_filters} passed the filters, {entered} entered dedup, {kept} stayed, {out} came out of scrubbing"
    figures = {"passed_filters": passed_filters, "kept_by_dedup": kept, "scrubbed": out}
    return Finding(passed_filters == entered and kept == out, words, figures)


def manifest_hashes(layout: Layout, key: VersionKey) -> Finding:
    """Lock = manifest; every shard has the hash, rows and columns that the manifest says."""
    out = layout.version(key)
    try:
        digest = durable.check_lock(
            layout.lock(key), out / corpus_manifest.NAME_ON_DISK, disagree=corpus_manifest.DISAGREE
        )
    except CorruptDataError as error:
        if error.field == "sha256":
            try:
                corpus_manifest.read(out)
            except CorruptDataError as broken:  # then it is not the lock
                return Finding(False, str(broken))
        return Finding(False, str(error))
    found = files_as_listed(out)
    return replace(found, words=f"{found.words}, sha256 {digest}") if found.passed else found


def files_as_listed(folder: Path) -> Finding:
    """Every shard has the hash, rows and columns that the manifest in `folder` says, and no other file lies there."""
    try:
        manifest = corpus_manifest.read(folder)
        for entry in manifest["shards"]:
            for _ in corpus_shard.read_shard(folder, entry, columns=["n_chars"]):
                pass  # reading holds the rows to the manifest
        strangers = {path.name for path in folder.iterdir()} - {entry["name"] for entry in manifest["shards"]}
        if extra := strangers - {corpus_manifest.NAME_ON_DISK}:
            raise CorruptDataError(folder, "files", "shards and manifest alone", sorted(extra), "remove the others")
    except CorruptDataError as error:
        return Finding(False, str(error))
    words = f"{manifest['n_shards']} shards, {manifest['n_docs']} rows"
    return Finding(True, words, {"rows": manifest["n_docs"]})


def rows_match_ledger(layout: Layout, key: VersionKey) -> Finding:
    """Every published row names a source of the version and the licence of its pinned ledger row."""
    licences = {source: row.license_spdx for source, row in open_published(layout, key).rows.items()}
    return licences_of_rows(layout.version(key), licences)


def licences_of_rows(folder: Path, licences: Mapping[str, str]) -> Finding:
    """Every row of the shards in `folder` names a source of `licences`, and its licence there."""
    wrong: Counter[str] = Counter()
    checked = 0
    for entry in corpus_manifest.read(folder)["shards"]:
        for batch in corpus_shard.read_shard(folder, entry, columns=["source_id", "license_spdx"]):
            checked += batch.num_rows
            pairs = pa.Table.from_batches([batch]).group_by(["source_id", "license_spdx"])
            for found in pairs.aggregate([([], "count_all")]).to_pylist():
                source, licence, n = found["source_id"], found["license_spdx"], found["count_all"]
                if licences.get(source) != licence:
                    wrong[f"{source}: {licence}, expected {licences.get(source, 'no such source')}"] += n
    words = (
        "; ".join(f"{n} rows of {what}" for what, n in wrong.items()) or f"all {checked} rows match their ledger rows"
    )
    return Finding(not wrong, words, {"rows": checked, "rows_at_fault": sum(wrong.values())})


def version_conserved(layout: Layout, key: VersionKey) -> Finding:
    """Raw documents = evidence rows = published + dropped by reason, counted anew from the evidence."""
    folder = layout.evidence(key)
    counts: Counter[str] = Counter()
    for batch in evidence_files.read(folder, "documents", columns=["verdict"]):
        counts.update({c["values"]: c["counts"] for c in pc.value_counts(batch.column("verdict")).to_pylist()})
    files = pa.Table.from_batches(evidence_files.read(folder, "files"))
    raw = pc.sum(files.column("documents")).as_py() or 0
    return documents_add_up(corpus_manifest.read(layout.version(key)), counts, raw)


def documents_add_up(manifest: Mapping[str, Any], verdicts: Counter[str], raw: int) -> Finding:
    """`raw` documents = rows of the manifest + documents dropped, by `verdicts`; the manifest counts them the same."""
    kept = verdicts[Reason.KEPT.value]
    dropped = {reason: n for reason, n in verdicts.items() if reason != Reason.KEPT}
    by_filter: Counter[str] = Counter()
    for reason, n in dropped.items():
        if reason in FILTER_BY_REASON:
            by_filter[FILTER_BY_REASON[reason]] += n
    dedup = manifest["dedup"]
    same = {
        "rows": kept == manifest["n_docs"],
        "documents": raw == kept + sum(dropped.values()),
        "filters": all(by_filter.get(name, 0) == n for name, n in manifest["filters"].items()),
        "filters, all": sum(by_filter.values()) == sum(manifest["filters"].values()),
        "exact": verdicts[Reason.EXACT_DUPLICATE.value] == dedup["exact_dropped"],
        "near": verdicts[Reason.NEAR_DUPLICATE.value] + verdicts[Reason.TRAIN_NEAR_VAL.value] == dedup["near_dropped"],
        "contaminated": verdicts[Reason.CONTAMINATED.value] == dedup["decontaminated"],
    }
    broken = [name for name, holds in same.items() if not holds]
    words = f"{raw} raw documents = {kept} published + {sum(dropped.values())} dropped"
    if broken:
        words = f"counts of {', '.join(broken)} disagree with manifest or raw sets; " + words
    return Finding(not broken, words, {"raw": raw, "published": kept, "dropped": sum(dropped.values())})


def retention_of_sources(layout: Layout, key: VersionKey) -> Finding:
    """Per source the published share, against the version published before this one, by name."""
    before = version_before(layout, key)
    if before is None:
        return Finding(True, "no earlier version of the dataset is published")
    now, then = _kept_ratios(layout, key), _kept_ratios(layout, before)
    lost = {name: then[name] - now[name] for name in sorted(now.keys() & then.keys())}
    worse = [f"{name} {then[name]:.1%} -> {now[name]:.1%}" for name, loss in lost.items() if loss > MAX_RETENTION_LOSS]
    words = f"against {before}: " + ("; ".join(worse) or f"{len(lost)} common sources keep about the same share")
    return Finding(
        not worse, words, {"sources_worse": len(worse), "largest_loss_ratio": max(lost.values(), default=0.0)}
    )


def version_before(layout: Layout, key: VersionKey) -> VersionKey | None:
    published = (other for other in published_versions(layout) if other.dataset == key.dataset)
    return max((other for other in published if _natural(other) < _natural(key)), key=_natural, default=None)


def _natural(key: VersionKey) -> list[tuple[int, str]]:
    """Orders v2 before v10."""
    digits, found, text = "", [], ""
    for char in key.version + "-":
        if char.isdigit():
            digits += char
            continue
        if digits:
            found.append((int(digits), text))
            digits, text = "", ""
        text += char
    return [*found, (0, text)]


def _kept_ratios(layout: Layout, key: VersionKey) -> dict[str, float]:
    counts = durable.json_of(layout.evidence(key) / evidence_files.COUNTS)["sources"]
    return {name: one["kept"] / one["documents"] for name, one in counts.items() if one["documents"]}


def cluster_sizes(build: Build, version: Version) -> Finding:
    """The largest cluster against max_cluster; how many there are of each size class."""
    table = pa.Table.from_batches([cluster_rows(build, load_pairs(build.layout, version.key))])
    limit = version.config.dedup.near.max_cluster
    largest = pc.max(table.column("size")).as_py() or 0
    words = f"{table.num_rows} clusters of 2 or more, the largest of {largest}; max_cluster is {limit}"
    return Finding(largest <= limit, words, {"clusters": table.num_rows, "largest": largest})
