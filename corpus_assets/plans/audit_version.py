"""Audits of a published version: hashes, rows and licences, documents by what became of them, shares of sources."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.published_version import json_in, open_published, version_before
from formats import corpus_manifest, corpus_shard, durable
from formats import evidence as evidence_files
from formats.errors import CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.reasons import FILTER_BY_REASON, Reason

MAX_RETENTION_LOSS = 0.1


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


def _kept_ratios(layout: Layout, key: VersionKey) -> dict[str, float]:
    folder = layout.evidence(key)
    counts = json_in(folder, evidence_files.read_seal(folder), evidence_files.COUNTS)["sources"]
    return {name: one["kept"] / one["documents"] for name, one in counts.items() if one["documents"]}
