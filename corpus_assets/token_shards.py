"""token_shards: the documents of a published version as token ids, packed into sequences of one length."""

import os

import dagster as dg

from corpus_assets import pictures
from corpus_assets.partitions import by_tokens, version_to_tokens
from corpus_assets.plans import token_shards as plan
from corpus_assets.plans import yanking
from corpus_assets.plans.snapshot import counts_of
from corpus_assets.plans.token_build import open_build
from corpus_assets.stages import pack_tokens, tokenize_documents
from formats.naming import TokensKey
from resources.engine import EngineResource
from resources.store import Store


@dg.asset(
    partitions_def=by_tokens,
    deps=[dg.AssetDep("manifest", partition_mapping=version_to_tokens), "token_config"],
    group_name="tokens",
    kinds={"parquet"},
    code_version=f"{tokenize_documents.CODE_VERSION}.{pack_tokens.CODE_VERSION}",
    pool="cpu",
)
def token_shards(context: dg.AssetExecutionContext, store: Store, engine: EngineResource) -> dg.MaterializeResult:
    """Every document once, ended by its token, in the order of its hash within its mixture bucket. The corpus is only
    read: another tokenizer or length is another partition of its own.
    """
    key = TokensKey.parse(context.partition_key)
    yanking.hold_not_yanked(store.layout, key.version, allowed=os.environ.get(yanking.ALLOWED) == "1")
    build = open_build(store.layout, engine.open(store.layout, context), key)
    plan.tokenized(build).make()
    made = plan.packed(build).make()
    counts = counts_of(made)
    padding_share = counts["padding"] / max(1, counts["padding"] + counts["tokens"])
    return dg.MaterializeResult(
        data_version=dg.DataVersion(made.digest),
        metadata={
            "dagster/row_count": made.rows,
            "documents": counts["documents"],
            "tokens": counts["tokens"],
            "padding": counts["padding"],
            "padding_share": padding_share,
            "cut_documents": counts["cut_documents"],
            "tokens_by_language": dg.MetadataValue.json(counts["tokens_by_lang"]),
            "tokens_by_license": dg.MetadataValue.json(counts["tokens_by_license"]),
            "languages": pictures.as_metadata(pictures.bars("tokens by language", counts["tokens_by_lang"])),
        },
    )
