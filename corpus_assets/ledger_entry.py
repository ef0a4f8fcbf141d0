"""ledger_entry: the ledger row of one source as one version pins it. Its blocking checks stop what is not allowed."""

import dagster as dg

from corpus_assets.partitions import by_pair, source_to_pairs, version_to_pairs
from corpus_assets.plans.pinned import pin_row
from formats import canonical
from formats.naming import PairKey
from resources.download.wanted import mask_values
from resources.store import Store


@dg.asset(
    partitions_def=by_pair,
    deps=[
        dg.AssetDep("ledger", partition_mapping=source_to_pairs),
        dg.AssetDep("corpus_config", partition_mapping=version_to_pairs),
    ],
    group_name="ingest",
    kinds={"json"},
    code_version="1",
)
def ledger_entry(context: dg.AssetExecutionContext, store: Store) -> dg.MaterializeResult:
    """The ledger row of one source as this version pins it: what it is, where it lies, under which licence."""
    row = pin_row(store.layout, PairKey.parse(context.partition_key))
    digest = canonical.digest(row)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(digest),
        metadata={
            "ledger_row_digest": digest,  # as the lineage of shards names the row
            "license": str(row.get("license_spdx")),
            "files": len(row.get("files") or ()),
            "row": dg.MetadataValue.json(mask_values(row)),
        },
    )
