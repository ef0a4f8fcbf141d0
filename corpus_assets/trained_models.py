"""trained_models: models of quality, safety and perplexity, trained on sources of your own, for configs to pin."""

import dagster as dg

from corpus_assets.partitions import by_model, pair_to_models, version_to_models
from corpus_assets.pictures import as_metadata
from corpus_assets.plans import model_figures
from corpus_assets.plans import trained_models as plan
from corpus_assets.plans.pinned import Build
from corpus_assets.raw_fetch import raw_fetch
from resources.engine import EngineResource
from resources.store import Store


@dg.asset(
    partitions_def=by_model,
    deps=[
        "model_config",
        dg.AssetDep(raw_fetch, partition_mapping=pair_to_models),
        dg.AssetDep("manifest", partition_mapping=version_to_models),
    ],
    group_name="models",
    kinds={"binary"},
    code_version=plan.CODE_VERSION,
    pool="cpu",
)
def trained_models(context: dg.AssetExecutionContext, store: Store, engine: EngineResource) -> dg.MaterializeResult:
    """A classifier that tells documents of good sources from others, or a language model of good text: the same bytes
    for the same documents, in a file named by its content, with the lines that pin it and how it does on held-out ones.
    """
    build = Build(store.layout, engine.open(store.layout, context))
    made = plan.train_model(build, context.partition_key)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(made.sha256),
        metadata={
            "sha256": made.sha256,
            "kind": made.kind,
            "bytes": made.num_bytes,
            "trained_on": dg.MetadataValue.json(dict(made.trained)),
            "for_a_config": dg.MetadataValue.md("\n".join(("```yaml", *plan.section_of(made), "```"))),
            "held_out_figures": dg.MetadataValue.md(model_figures.table(made)),
            "held_out_picture": as_metadata(model_figures.picture(made)),
            "path": dg.MetadataValue.path(str(plan.file_of(store.layout, made))),
            **model_figures.numbers(made),
        },
    )
