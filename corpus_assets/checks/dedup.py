"""Checks of dedup over all sources: they warn where a cluster is too large, or what stayed may be the wrong copy."""

from collections.abc import Callable

import dagster as dg

from corpus_assets.checks.results import as_result
from corpus_assets.dedup_clusters import dedup_clusters
from corpus_assets.partitions import by_version
from corpus_assets.plans import audit_dedup
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.pinned import Build, Pair, load_pairs
from formats.naming import VersionKey
from resources.engine import EngineResource
from resources.store import Store


def _check(name: str, find: Callable[[Build, list[Pair]], Finding], words: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=dedup_clusters, name=name, partitions_def=by_version, description=words)
    def check(context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource) -> dg.AssetCheckResult:
        key = VersionKey.parse(context.partition_key)
        build = Build(store.layout, engine.open(store.layout))
        return as_result(lambda: find(build, load_pairs(store.layout, key)), key, warn=True)

    return check


cluster_sizes = _check("cluster_sizes", audit_dedup.cluster_sizes, "No cluster is larger than max_cluster")
source_survival = _check(
    "source_survival", audit_dedup.source_survival, "No source loses more than max_source_loss_ratio to the others"
)
keeper_lengths = _check(
    "keeper_lengths",
    audit_dedup.keeper_lengths,
    "No keeper differs in length from its cluster's median by more than max_keeper_length_ratio",
)
