"""doc_signals: normalized documents of one source, and what is measured about each, once."""

import dagster as dg

from corpus_assets.automation import WHEN_READY
from corpus_assets.partitions import by_pair, version_to_pairs
from corpus_assets.pictures import as_metadata
from corpus_assets.plans.language_counts import language_counts
from corpus_assets.plans.pinned import Build, load_pair
from corpus_assets.plans.source_stages import measuring
from corpus_assets.raw_fetch import raw_fetch
from corpus_assets.stages import measure_documents
from formats.naming import PairKey
from resources.engine import EngineResource
from resources.store import Store


@dg.asset(
    partitions_def=by_pair,
    deps=[raw_fetch, dg.AssetDep("corpus_config", partition_mapping=version_to_pairs)],
    group_name="measure",
    kinds={"parquet"},
    code_version=measure_documents.CODE_VERSION,
    automation_condition=WHEN_READY,
    pool="cpu",
)
def doc_signals(context: dg.AssetExecutionContext, store: Store, engine: EngineResource) -> dg.MaterializeResult:
    """Language, counts and repetition of every document; quality, safety and perplexity, where the config has models,
    of those that the cheap rules keep. Thresholds of models come later and touch no text.
    """
    pair = load_pair(store.layout, PairKey.parse(context.partition_key))
    build = Build(store.layout, engine.open(store.layout, context))
    texts, *_, made = (stage.make() for stage in measuring(build, pair))
    told = language_counts(made)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(made.digest),
        metadata={
            "dagster/row_count": made.rows,
            "text_bytes_stored": texts.num_bytes,
            "bytes": made.num_bytes,
            "languages": as_metadata(told.largest()),
            "lang_scores": as_metadata(told.of_scores()),
        },
    )
