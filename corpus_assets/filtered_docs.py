"""filtered_docs: the verdict on every document of one source, from signals and thresholds alone."""

import dagster as dg

from corpus_assets import pictures
from corpus_assets.automation import WHEN_READY
from corpus_assets.doc_signals import doc_signals
from corpus_assets.partitions import by_pair, version_to_pairs
from corpus_assets.plans.funnel import verdict_counts
from corpus_assets.plans.language_counts import kept_by_language, verdicts_by_language
from corpus_assets.plans.pinned import Build, load_pair
from corpus_assets.plans.source_stages import all_rules, verdicts
from corpus_assets.stages import filter_documents
from formats.naming import PairKey
from resources.engine import EngineResource
from resources.store import Store


@dg.asset(
    partitions_def=by_pair,
    deps=[doc_signals, dg.AssetDep("corpus_config", partition_mapping=version_to_pairs)],
    group_name="measure",
    kinds={"parquet"},
    code_version=filter_documents.CODE_VERSION,
    automation_condition=WHEN_READY,
    pool="cpu",
)
def filtered_docs(context: dg.AssetExecutionContext, store: Store, engine: EngineResource) -> dg.MaterializeResult:
    """Every document of one source in one version, with the reason it was dropped, if it was."""
    pair = load_pair(store.layout, PairKey.parse(context.partition_key))
    build = Build(store.layout, engine.open(store.layout, context))
    made = verdicts(build, pair).make()
    counts = verdict_counts(made)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(made.digest),
        metadata={
            "dagster/row_count": made.rows,
            "kept": counts["kept"],
            "dropped": made.rows - counts["kept"],
            "by_reason": dg.MetadataValue.json(dict(counts)),
            "picture": pictures.as_metadata(pictures.bars("documents by verdict", counts)),
            "kept_by_language": pictures.as_metadata(kept_by_language(verdicts_by_language(build, pair))),
            "rules": dg.MetadataValue.json(all_rules(pair)),
        },
    )
