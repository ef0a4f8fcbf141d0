"""Checks of token sets: documents, tokens, ids and digests, read back from what was stored."""

from collections.abc import Callable

import dagster as dg

from corpus_assets.checks.results import as_result
from corpus_assets.partitions import by_tokens
from corpus_assets.plans import audit_tokens
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.token_build import TokenBuild, open_build
from formats.naming import TokensKey
from resources.engine import EngineResource
from resources.store import Store


def _check(asset: str, name: str, find: Callable[[TokenBuild], Finding], description: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=asset, name=name, partitions_def=by_tokens, blocking=True, description=description)
    def check(context: dg.AssetCheckExecutionContext, store: Store, engine: EngineResource) -> dg.AssetCheckResult:
        key = TokensKey.parse(context.partition_key)
        return as_result(lambda: find(open_build(store.layout, engine.open(store.layout), key)), key)

    return check


token_shards_conserved = _check(
    "token_shards",
    "token_shards_conserved",
    audit_tokens.token_shards_conserved,
    "Every published document is tokenized once, and every token of it is in one sequence",
)
sampled_texts_give_their_tokens = _check(
    "token_shards",
    "sampled_texts_give_their_tokens",
    audit_tokens.sampled_texts_give_their_tokens,
    "Documents chosen by hash, encoded again by the tokenizers library alone, give the stored ids",
)
snapshot_digests = _check(
    "snapshot",
    "snapshot_digests",
    audit_tokens.snapshot_digests,
    "Manifest, every shard and every index have their hashes and lengths, and no other file lies there",
)
snapshot_conserved = _check(
    "snapshot",
    "snapshot_conserved",
    audit_tokens.snapshot_conserved,
    "The documents put together from the snapshot's shards are the tokenized ones, token for token",
)
ids_below_vocabulary = _check(
    "snapshot",
    "ids_below_vocabulary",
    audit_tokens.ids_below_vocabulary,
    "Every id is one of the vocabulary, and what belongs to no document is padding",
)
