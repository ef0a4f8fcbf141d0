"""dedup_clusters: exact and near duplicates over all sources of a version, and who stays."""

import dagster as dg

from corpus_assets import pictures
from corpus_assets.automation import WHEN_READY
from corpus_assets.doc_signals import doc_signals
from corpus_assets.filtered_docs import filtered_docs
from corpus_assets.minhash_signatures import minhash_signatures
from corpus_assets.partitions import by_version, pair_to_version
from corpus_assets.plans import clusters, curves, dedup_report, keepers, near_edges
from corpus_assets.plans.funnel import verdict_counts
from corpus_assets.plans.pinned import Build, load_pairs
from corpus_assets.stages import survivors
from formats.naming import VersionKey
from resources.engine import EngineResource
from resources.store import Store

_OF_SOURCES = (doc_signals, filtered_docs, minhash_signatures)


@dg.asset(
    partitions_def=by_version,
    deps=[
        *(dg.AssetDep(one, partition_mapping=pair_to_version) for one in _OF_SOURCES),
        "corpus_config",
    ],
    group_name="dedup",
    kinds={"parquet"},
    code_version=survivors.CODE_VERSION,
    automation_condition=WHEN_READY,
    pool="cpu",
)
def dedup_clusters(context: dg.AssetExecutionContext, store: Store, engine: EngineResource) -> dg.MaterializeResult:
    """For each document that passed its filters: its cluster, and the keeper it is dropped onto, if it is."""
    pairs = load_pairs(store.layout, VersionKey.parse(context.partition_key))
    build = Build(store.layout, engine.open(store.layout, context))
    keepers.ranks(build, pairs).make()
    edges = near_edges.edges(build, pairs).make()
    made = clusters.dedup_clusters(build, pairs).make()
    counts, survival = verdict_counts(made), dedup_report.survival(build, pairs)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(made.digest),
        metadata={
            "dagster/row_count": made.rows,
            "verified_edges": edges.rows,
            **edges.notes,
            "by_verdict": dg.MetadataValue.json(dict(counts)),
            "survival": dg.MetadataValue.json({one.source: one.as_json() for one in survival}),
            "picture": pictures.as_metadata(pictures.bars("documents by verdict", counts)),
            "cluster_sizes": pictures.as_metadata(dedup_report.sizes_picture(dedup_report.cluster_sizes(build, pairs))),
            "lost_by_source": pictures.as_metadata(dedup_report.survival_picture(survival)),
            "s_curve": pictures.as_metadata(curves.s_curve(pairs[0].config.dedup.near)),
        },
    )
