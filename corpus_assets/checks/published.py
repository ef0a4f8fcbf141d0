"""Checks of a version: each reads the stored result back, from disk, as a consumer would."""

from collections.abc import Callable

import dagster as dg

from corpus_assets.checks.results import as_result
from corpus_assets.dedup_clusters import dedup_clusters
from corpus_assets.partitions import by_version
from corpus_assets.plans import audit, audit_text
from corpus_assets.plans.pinned import Build, load_version
from formats.layout import Layout
from formats.naming import VersionKey
from resources.engine import EngineResource
from resources.store import Store

Audit = Callable[[Layout, VersionKey], audit.Finding]


def _check(name: str, find: Audit, description: str, *, blocking: bool = True) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset="manifest", name=name, partitions_def=by_version, blocking=blocking, description=description)
    def check(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
        key = VersionKey.parse(context.partition_key)
        return as_result(lambda: find(store.layout, key), key, warn=not blocking)

    return check


manifest_hashes = _check(
    "manifest_hashes", audit.manifest_hashes, "Lock, manifest and every shard have their hashes; rows are as counted"
)
rows_match_ledger = _check(
    "rows_match_ledger",
    audit.rows_match_ledger,
    "source_id and license_spdx of every row are those of the ledger row its version pins",
)
version_conserved = _check(
    "version_conserved",
    audit.version_conserved,
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
    audit.retention_of_sources,
    "No source keeps a clearly smaller share than in the version before",
    blocking=False,
)


@dg.asset_check(asset=dedup_clusters, partitions_def=by_version, description="No cluster is larger than max_cluster")
def cluster_sizes(context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource) -> dg.AssetCheckResult:
    key = VersionKey.parse(context.partition_key)
    build = Build(store.layout, engine.open(store.layout))
    return as_result(lambda: audit.cluster_sizes(build, load_version(store.layout, key)), key, warn=True)
