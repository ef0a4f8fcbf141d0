"""ngram_index: which n-grams of words a version holds, so that a benchmark that is published later can be checked."""

import dagster as dg

from corpus_assets.automation import WHEN_READY
from corpus_assets.kernels.fuse_filter import FALSE_POSITIVE_RATE
from corpus_assets.partitions import by_version
from corpus_assets.plans import ngram_index as plan
from corpus_assets.plans.pinned import Build
from corpus_assets.stages import index_ngrams
from formats.naming import VersionKey
from resources.engine import EngineResource
from resources.store import Store


@dg.asset(
    partitions_def=by_version,
    deps=["manifest"],
    group_name="release",
    kinds={"parquet"},
    code_version=index_ngrams.CODE_VERSION,
    automation_condition=WHEN_READY,
    pool="cpu",
)
def ngram_index(context: dg.AssetExecutionContext, store: Store, engine: EngineResource) -> dg.MaterializeResult:
    """Hashes of the published n-grams, with their places or as a filter; nothing where the version's config asks for
    none. Kept in the evidence, and pinned by snapshots.
    """
    build = Build(store.layout, engine.open(store.layout, context))
    made = plan.write_ngram_index(build, VersionKey.parse(context.partition_key))
    if made is None:
        return dg.MaterializeResult(data_version=dg.DataVersion(plan.NOT_KEPT), metadata={"form": plan.NOT_KEPT})
    head = made.head
    return dg.MaterializeResult(
        data_version=dg.DataVersion(made.sha256),
        metadata={
            "dagster/row_count": head.ngrams,
            "form": head.form,
            "ngram": head.ngram,
            "rate": head.rate,
            "distinct": head.distinct,
            "documents": head.documents,
            "bytes": head.num_bytes,
            "false_positive_rate": FALSE_POSITIVE_RATE if head.form == "filter" else 0.0,
            "path": dg.MetadataValue.path(str(made.folder)),
        },
    )
