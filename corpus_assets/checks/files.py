"""Checks of stored bytes: every part of a stage output is as its manifest says, whether or not anything reads it again.

They fail and stop nothing: who reads a part holds it to its hash by itself, and a build that can mend it goes on.
"""

import dagster as dg

from corpus_assets.checks.results import as_result
from corpus_assets.partitions import by_pair, by_tokens, by_version
from corpus_assets.plans import audit_files
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.pinned import Build
from corpus_assets.plans.token_build import open_build
from formats.naming import PairKey, TokensKey, VersionKey
from resources.engine import EngineResource
from resources.store import Store

_SAYS = "Every part of what the asset stored has the length and hash of its manifest"


def _outputs_as_written(asset: str, keys: dg.StaticPartitionsDefinition) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=asset, name="outputs_as_written", partitions_def=keys, description=_SAYS)
    def check(context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource) -> dg.AssetCheckResult:
        build, key = Build(store.layout, engine.open(store.layout)), context.partition_key

        def find() -> Finding:
            if keys is by_pair:
                return audit_files.outputs_of_source(build, PairKey.parse(key), asset)
            if keys is by_tokens:
                return audit_files.outputs_of_tokens(
                    open_build(build.layout, build.engine, TokensKey.parse(key)), asset
                )
            return audit_files.outputs_of_version(build, VersionKey.parse(key), asset)

        return as_result(find, key)

    return check


of_doc_signals = _outputs_as_written("doc_signals", by_pair)
of_filtered_docs = _outputs_as_written("filtered_docs", by_pair)
of_minhash_signatures = _outputs_as_written("minhash_signatures", by_pair)
of_dedup_clusters = _outputs_as_written("dedup_clusters", by_version)
of_scrubbed_docs = _outputs_as_written("scrubbed_docs", by_pair)
of_shards = _outputs_as_written("shards", by_version)
of_ngram_index = _outputs_as_written("ngram_index", by_version)
of_token_shards = _outputs_as_written("token_shards", by_tokens)


@dg.asset_check(
    asset="ngram_index",
    partitions_def=by_version,
    blocking=True,
    description="Every file of the n-gram index is sealed with the evidence, and has its hash",
)
def ngram_index_sealed(
    context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource
) -> dg.AssetCheckResult:
    key = VersionKey.parse(context.partition_key)
    build = Build(store.layout, engine.open(store.layout))
    return as_result(lambda: audit_files.ngram_index_sealed(build, key), key)
