"""Checks of one source in one version: nothing is lost between stages, and enough is kept."""

import dagster as dg

from corpus_assets.checks.results import as_result
from corpus_assets.filtered_docs import filtered_docs
from corpus_assets.partitions import by_pair
from corpus_assets.plans import audit, audit_sites
from corpus_assets.plans.pinned import Build, load_pair, load_pairs
from corpus_assets.raw_fetch import raw_fetch
from corpus_assets.scrubbed_docs import scrubbed_docs
from formats.naming import PairKey
from resources.engine import EngineResource
from resources.store import Store


@dg.asset_check(
    asset=raw_fetch,
    partitions_def=by_pair,
    blocking=True,
    description="Every record of every file is a document or a reject with a reason, and parts have their hashes",
)
def records_accounted_for(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
    key = PairKey.parse(context.partition_key)
    return as_result(lambda: audit.records_accounted_for(store.layout, load_pair(store.layout, key)), key)


@dg.asset_check(
    asset=raw_fetch, partitions_def=by_pair, description="Few of the records that should be documents are damaged"
)
def few_records_damaged(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
    key = PairKey.parse(context.partition_key)
    return as_result(lambda: audit.few_records_damaged(store.layout, load_pair(store.layout, key)), key)


@dg.asset_check(
    asset=filtered_docs,
    partitions_def=by_pair,
    blocking=True,
    description="Every raw document has signals and a verdict: rows in = kept + dropped",
)
def documents_conserved(
    context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource
) -> dg.AssetCheckResult:
    key = PairKey.parse(context.partition_key)
    build = Build(store.layout, engine.open(store.layout))
    return as_result(lambda: audit.documents_conserved(build, load_pair(store.layout, key)), key)


@dg.asset_check(
    asset=filtered_docs, partitions_def=by_pair, description="The filters keep at least a tenth of the documents"
)
def retention(context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource) -> dg.AssetCheckResult:
    key = PairKey.parse(context.partition_key)
    build = Build(store.layout, engine.open(store.layout))
    return as_result(lambda: audit.retention(build, load_pair(store.layout, key)), key, warn=True)


@dg.asset_check(
    asset=filtered_docs,
    partitions_def=by_pair,
    description="Of each language with a hundred documents, the filters keep at least half of the source's share",
)
def retention_of_languages(
    context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource
) -> dg.AssetCheckResult:
    key = PairKey.parse(context.partition_key)
    build = Build(store.layout, engine.open(store.layout))
    return as_result(lambda: audit.retention_of_languages(build, load_pair(store.layout, key)), key, warn=True)


@dg.asset_check(
    asset=filtered_docs,
    partitions_def=by_pair,
    description="Where the version has site lists or a cap of domains, some document of the source has a web address",
)
def site_lists_apply(
    context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource
) -> dg.AssetCheckResult:
    key = PairKey.parse(context.partition_key)
    build = Build(store.layout, engine.open(store.layout))
    return as_result(lambda: audit_sites.site_lists_apply(build, load_pair(store.layout, key)), key, warn=True)


@dg.asset_check(
    asset=scrubbed_docs,
    partitions_def=by_pair,
    blocking=True,
    description="Every document that dedup kept was scrubbed or dropped as contaminated",
)
def survivors_conserved(
    context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource
) -> dg.AssetCheckResult:
    key = PairKey.parse(context.partition_key)
    build = Build(store.layout, engine.open(store.layout))

    def find() -> audit.Finding:
        return audit.survivors_conserved(build, load_pairs(store.layout, key.version), load_pair(store.layout, key))

    return as_result(find, key)
