"""Checks of one source in one version: nothing is lost between stages, and enough is kept."""

from collections.abc import Callable

import dagster as dg

from corpus_assets.checks.results import as_result
from corpus_assets.filtered_docs import filtered_docs
from corpus_assets.partitions import by_pair
from corpus_assets.plans import audit_records, audit_sites, audit_source
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.pinned import Build, Pair, load_pair, load_pairs
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
    return as_result(lambda: audit_records.records_accounted_for(store.layout, load_pair(store.layout, key)), key)


@dg.asset_check(
    asset=raw_fetch, partitions_def=by_pair, description="Few of the records that should be documents are damaged"
)
def few_records_damaged(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
    key = PairKey.parse(context.partition_key)
    return as_result(lambda: audit_records.few_records_damaged(store.layout, load_pair(store.layout, key)), key)


def _of_filtered_docs(
    name: str, find: Callable[[Build, Pair], Finding], description: str, *, blocking: bool = False
) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=filtered_docs, name=name, partitions_def=by_pair, blocking=blocking, description=description)
    def check(context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource) -> dg.AssetCheckResult:
        key = PairKey.parse(context.partition_key)
        build = Build(store.layout, engine.open(store.layout))
        return as_result(lambda: find(build, load_pair(store.layout, key)), key, warn=not blocking)

    return check


documents_conserved = _of_filtered_docs(
    "documents_conserved",
    audit_source.documents_conserved,
    "Every raw document has signals and a verdict: rows in = kept + dropped",
    blocking=True,
)
retention = _of_filtered_docs("retention", audit_source.retention, "The filters keep at least a tenth of the documents")
retention_of_languages = _of_filtered_docs(
    "retention_of_languages",
    audit_source.retention_of_languages,
    "Of each language with a hundred documents, the filters keep at least half of the source's share",
)
site_lists_apply = _of_filtered_docs(
    "site_lists_apply",
    audit_sites.site_lists_apply,
    "Where the version has site lists or a cap of domains, some document of the source has a web address",
)


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

    def find() -> Finding:
        return audit_source.survivors_conserved(
            build, load_pairs(store.layout, key.version), load_pair(store.layout, key)
        )

    return as_result(find, key)
