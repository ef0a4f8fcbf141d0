"""minhash_signatures: 128 permutations per document still in, by which near duplicates find each other."""

import dagster as dg

from corpus_assets.automation import WHEN_READY
from corpus_assets.doc_signals import doc_signals
from corpus_assets.filtered_docs import filtered_docs
from corpus_assets.partitions import by_pair, version_to_pairs
from corpus_assets.plans.pinned import Build, load_pair
from corpus_assets.plans.source_stages import signatures
from corpus_assets.stages import sign_documents
from formats.naming import PairKey
from resources.engine import EngineResource
from resources.store import Store


@dg.asset(
    partitions_def=by_pair,
    deps=[doc_signals, filtered_docs, dg.AssetDep("corpus_config", partition_mapping=version_to_pairs)],
    group_name="dedup",
    kinds={"parquet"},
    code_version=sign_documents.CODE_VERSION,
    automation_condition=WHEN_READY,
    pool="cpu",
)
def minhash_signatures(context: dg.AssetExecutionContext, store: Store, engine: EngineResource) -> dg.MaterializeResult:
    """The MinHash signature of every document of one source that its filters kept."""
    pair = load_pair(store.layout, PairKey.parse(context.partition_key))
    made = signatures(Build(store.layout, engine.open(store.layout, context)), pair).make()
    return dg.MaterializeResult(
        data_version=dg.DataVersion(made.digest),
        metadata={"dagster/row_count": made.rows, "bytes": made.num_bytes},
    )
