"""Checks of a version: each reads the stored result back, from disk, as a consumer would."""

from collections.abc import Callable
from pathlib import Path

import dagster as dg

from corpus_assets.checks.results import as_result
from corpus_assets.partitions import by_version
from corpus_assets.plans import audit_drift, audit_files, audit_text, audit_version
from corpus_assets.plans.audit_finding import Finding
from formats import corpus_manifest
from formats.errors import CorpusError, CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from resources.store import Store

Audit = Callable[[Layout, VersionKey], Finding]


def _check(
    name: str, find: Audit, description: str, *, blocking: bool = True, asset: str = "manifest"
) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=asset, name=name, partitions_def=by_version, blocking=blocking, description=description)
    def check(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
        key = VersionKey.parse(context.partition_key)
        return as_result(
            lambda: find(store.layout, key), key, warn=not blocking, words=_words_of(store.layout, key, name)
        )

    return check


_OF_BYTES = ("sha256", "length", "file", "lock", "manifest", "bytes", "seal")


def _words_of(layout: Layout, key: VersionKey, name: str) -> Callable[[CorpusError], str]:
    """Damage is told in full by the check of the file's hash; the others say that they could not look."""
    manifest, lock = layout.version(key) / corpus_manifest.NAME_ON_DISK, layout.lock(key)

    def words(error: CorpusError) -> str:
        if not isinstance(error, CorruptDataError) or error.field not in _OF_BYTES:
            return str(error)
        path = Path(error.path)
        if name != "manifest_hashes" and path in (manifest, lock):
            return "not checked: manifest and lock are not as they were published, see manifest_hashes"
        if name != "manifest_hashes" and path.parent == manifest.parent:
            return f"not checked: shard {path.name} is damaged, see manifest_hashes"
        if name != "evidence_sealed" and layout.evidence(key) in path.parents:
            return f"not checked: {path.name} of the evidence is damaged, see evidence_sealed"
        return str(error)

    return words


manifest_hashes = _check(
    "manifest_hashes",
    audit_version.manifest_hashes,
    "Lock, manifest and every shard have their hashes; rows are as counted",
)
evidence_sealed = _check(
    "evidence_sealed",
    audit_files.evidence_sealed,
    "Every file of the evidence has the hash of its seal, and no other file lies there",
)
rows_match_ledger = _check(
    "rows_match_ledger",
    audit_version.rows_match_ledger,
    "source_id and license_spdx of every row are those of the ledger row its version pins",
)
version_conserved = _check(
    "version_conserved",
    audit_version.version_conserved,
    "Raw documents = published rows + documents dropped, by reason; the manifest counts the same",
)
no_residual_pii = _check(
    "no_residual_pii", audit_text.no_residual_pii, "Scrubbing published rows again finds nothing", blocking=False
)
no_contamination = _check(
    "no_contamination", audit_text.no_contamination, "No published row shares an n-gram with a protected item"
)
no_leakage = _check(
    "no_leakage",
    audit_text.no_leakage,
    "No train row is a near duplicate of a val row, by the published texts",
    blocking=False,
)
no_equal_texts = _check(
    "no_equal_texts",
    audit_text.no_equal_texts,
    "No two published rows have the same text, after personal data was replaced",
    blocking=False,
)
retention_of_sources = _check(
    "retention_of_sources",
    audit_version.retention_of_sources,
    "No source keeps a clearly smaller share than in the version before",
    blocking=False,
)
drift = _check(
    "drift",
    audit_drift.drift,
    "Languages and lengths of the documents are about those of the version before, whole and by source",
    blocking=False,
)
datasheet_sealed = _check(
    "datasheet_sealed",
    audit_files.datasheet_sealed,
    "The datasheet's pages are sealed with the evidence, and have their hashes",
    asset="datasheet",
)
