"""snapshot: packed sequences as plain files, named by the SHA-256 of their manifest: what a trainer reads."""

import dagster as dg

from corpus_assets import pictures
from corpus_assets.partitions import by_tokens, version_to_tokens
from corpus_assets.plans import snapshot as plan
from corpus_assets.plans.token_build import open_build
from corpus_assets.token_shards import token_shards
from formats.naming import TokensKey
from formats.snapshot.manifest import SPLITS
from resources.engine import EngineResource
from resources.store import Store


@dg.asset(
    partitions_def=by_tokens,
    deps=[token_shards, "token_config", dg.AssetDep("ngram_index", partition_mapping=version_to_tokens)],
    group_name="tokens",
    kinds={"binary"},
    code_version=plan.CODE_VERSION,
)
def snapshot(context: dg.AssetExecutionContext, store: Store, engine: EngineResource) -> dg.MaterializeResult:
    """Shards of one mixture bucket each, with the index of their documents, and a manifest; immutable, and published
    whole or not at all.
    """
    build = open_build(store.layout, engine.open(store.layout), TokensKey.parse(context.partition_key))
    made = plan.write_snapshot(build)
    counts = made.document["counts"]
    sequences = {split: sum(shard.sequences for shard in made.shards(split)) for split in SPLITS}
    return dg.MaterializeResult(
        data_version=dg.DataVersion(made.snapshot_id),
        metadata={
            "dagster/row_count": sum(sequences.values()),
            "snapshot_id": made.snapshot_id,
            "documents": counts["documents"],
            "tokens": counts["tokens"],
            "shards": sum(len(made.shards(split)) for split in SPLITS),
            "sequences": dg.MetadataValue.json(sequences),
            "seq_len": made.seq_len,
            "tokens_by_bucket": dg.MetadataValue.json(counts["tokens_by_bucket"]),
            "buckets": pictures.as_metadata(pictures.bars("tokens by bucket", counts["tokens_by_bucket"])),
            "licences": pictures.as_metadata(pictures.bars("tokens by licence", counts["tokens_by_license"])),
            "path": dg.MetadataValue.path(str(made.folder)),
        },
    )
