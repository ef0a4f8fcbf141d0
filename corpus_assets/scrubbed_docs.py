"""scrubbed_docs: what dedup kept of one source, decontaminated, then with personal data replaced."""

import dagster as dg

from corpus_assets.automation import WHEN_READY
from corpus_assets.dedup_clusters import dedup_clusters
from corpus_assets.doc_signals import doc_signals
from corpus_assets.partitions import by_pair, version_to_pairs
from corpus_assets.pictures import as_metadata, bars
from corpus_assets.plans.eval_index import eval_counts, eval_index
from corpus_assets.plans.funnel import verdict_counts
from corpus_assets.plans.pinned import Build, load_pair, load_pairs
from corpus_assets.plans.scrub import contaminated_by_set, pii_counts
from corpus_assets.plans.scrub import scrubbed_docs as scrub
from corpus_assets.stages import scrub_documents
from formats.naming import PairKey
from resources.engine import EngineResource
from resources.store import Store


@dg.asset(
    partitions_def=by_pair,
    deps=[
        doc_signals,
        dg.AssetDep(dedup_clusters, partition_mapping=version_to_pairs),
        dg.AssetDep("corpus_config", partition_mapping=version_to_pairs),
        "eval_sets",
    ],
    group_name="release",
    kinds={"parquet"},
    code_version=scrub_documents.CODE_VERSION,
    automation_condition=WHEN_READY,
    pool="cpu",
)
def scrubbed_docs(context: dg.AssetExecutionContext, store: Store, engine: EngineResource) -> dg.MaterializeResult:
    """Texts as they will be published; a contaminated document leaves here, with the item it repeats."""
    key = PairKey.parse(context.partition_key)
    build = Build(store.layout, engine.open(store.layout, context))
    pair = load_pair(store.layout, key)
    made = scrub(build, load_pairs(store.layout, key.version), pair).make()
    protected = eval_counts(eval_index(build, pair.version))
    counts, (pii, pii_rates) = verdict_counts(made), pii_counts(made)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(made.digest),
        metadata={
            "dagster/row_count": made.rows,
            "contaminated": counts["contaminated"],
            "contaminated_by_set": dg.MetadataValue.json(contaminated_by_set(made)),
            "eval_texts_too_short": dg.MetadataValue.json({one["eval_set"]: one["too_short"] for one in protected}),
            "pii": dg.MetadataValue.json(pii),
            "pii_per_million_characters": dg.MetadataValue.json(pii_rates),
            "pii_by_kind": as_metadata(bars("personal data replaced, by kind", pii)),
            "bytes": made.num_bytes,
        },
    )
