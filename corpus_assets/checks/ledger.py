"""Checks of ledger_entry: what the version pins is valid, licensed and allowed. They block; one only warns."""

import dagster as dg

from corpus_assets.checks.results import as_result
from corpus_assets.ledger_entry import ledger_entry
from corpus_assets.partitions import by_pair
from corpus_assets.plans import audit_ledger
from corpus_assets.validation.ledger import ROW_CHECKS
from formats.naming import PairKey
from resources.store import Store

_WORDS = {
    "ledger_schema": "The row has every field of the ledger format, each valid",
    "spdx_expression": "The licence is an SPDX expression",
    "licence_allowed": "The version's config allows the licence",
    "checksums_present": "Every file has its SHA-256 and its bytes",
}


def _blocking_check(name: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=ledger_entry, name=name, partitions_def=by_pair, blocking=True, description=_WORDS[name])
    def check(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
        key = PairKey.parse(context.partition_key)
        return as_result(lambda: audit_ledger.ledger_rule(store.layout, key, name), key)

    return check


ledger_schema = _blocking_check("ledger_schema")
spdx_expression = _blocking_check("spdx_expression")
licence_allowed = _blocking_check("licence_allowed")
checksums_present = _blocking_check("checksums_present")
if set(ROW_CHECKS) != set(_WORDS):
    raise AssertionError("every rule of a ledger row has its blocking check")


@dg.asset_check(
    asset=ledger_entry, partitions_def=by_pair, description="Today's ledger still says what this version pinned"
)
def unchanged_in_ledger(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
    key = PairKey.parse(context.partition_key)
    return as_result(lambda: audit_ledger.unchanged_in_ledger(store.layout, key), key, warn=True)
