"""Checks of what was published in the object store: asked there, object by object."""

import dagster as dg

from corpus_assets.checks.results import as_result
from corpus_assets.partitions import by_tokens, by_version
from corpus_assets.plans.audit_stored import is_stored
from resources.remote_store import RemoteStore
from resources.store import Store

_SAYS = "The store has every file of the {} under its name, put with the digest that is named here"


def _check(asset: str, name: str, keys: dg.StaticPartitionsDefinition, what: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=asset, name=name, partitions_def=keys, blocking=True, description=_SAYS.format(what))
    def check(context: dg.AssetCheckExecutionContext, store: Store, remote_store: RemoteStore) -> dg.AssetCheckResult:
        key = context.partition_key
        return as_result(lambda: is_stored(remote_store.open(), store.layout, key), key)

    return check


version_is_stored = _check("stored_version", "version_is_stored", by_version, "version")
snapshot_is_stored = _check("stored_snapshot", "snapshot_is_stored", by_tokens, "snapshot")
