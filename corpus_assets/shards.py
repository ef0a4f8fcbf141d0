"""shards and manifest: two assets of one atomic step; a published version is immutable."""

from collections.abc import Iterator
from urllib.parse import urlencode

import dagster as dg
import pyarrow as pa

from corpus_assets import pictures
from corpus_assets.automation import WHEN_READY
from corpus_assets.dedup_clusters import dedup_clusters
from corpus_assets.doc_signals import doc_signals
from corpus_assets.filtered_docs import filtered_docs
from corpus_assets.partitions import by_version, pair_to_version
from corpus_assets.plans import for_people
from corpus_assets.plans.pinned import Build, load_pairs
from corpus_assets.plans.publish import publish
from corpus_assets.scrubbed_docs import scrubbed_docs
from corpus_assets.stages import place_rows
from formats.corpus_shard import SCHEMA
from formats.evidence_schemas import LINEAGE
from formats.naming import PairKey, VersionKey
from resources.engine import EngineResource
from resources.store import Store

_DEPS = [  # every asset whose rows are read: what does not show in the texts (lang, a reason) is published, too
    *(dg.AssetDep(one, partition_mapping=pair_to_version) for one in (doc_signals, filtered_docs, scrubbed_docs)),
    dg.AssetDep(dedup_clusters),
    dg.AssetDep("corpus_config"),
]
LINEAGE_ROWS = 100


def _columns(schema: pa.Schema) -> dg.TableSchema:
    return dg.TableSchema(columns=[dg.TableColumn(field.name, str(field.type)) for field in schema])


_COLUMNS, _LINEAGE_COLUMNS = _columns(SCHEMA), _columns(LINEAGE)

_LINEAGE = dg.TableColumnLineage(
    {
        "text": [dg.TableColumnDep(dg.AssetKey("scrubbed_docs"), "text")],
        "url": [dg.TableColumnDep(dg.AssetKey("raw_fetch"), "url")],
        "license_spdx": [dg.TableColumnDep(dg.AssetKey("ledger_entry"), "license_spdx")],
        "lang": [dg.TableColumnDep(dg.AssetKey("doc_signals"), "lang")],
        "minhash_cluster": [dg.TableColumnDep(dg.AssetKey("dedup_clusters"), "cluster_id")],
    }
)


@dg.multi_asset(
    name="publish",
    partitions_def=by_version,
    specs=[
        dg.AssetSpec(
            "shards",
            deps=_DEPS,
            group_name="release",
            kinds={"parquet"},
            code_version=place_rows.CODE_VERSION,
            automation_condition=WHEN_READY,
            metadata={"dagster/column_schema": _COLUMNS, "dagster/column_lineage": _LINEAGE},
            description="The published rows, sorted by id, as byte-identical Parquet shards. `lineage` says which "
            "ledger rows each shard draws from; `ledger_rows` leads to each row as this version pins it.",
        ),
        dg.AssetSpec(
            "manifest",
            deps=["shards"],
            group_name="release",
            kinds={"json"},
            code_version=place_rows.CODE_VERSION,
            automation_condition=WHEN_READY,
            description="Every shard's hash and rows, what was dropped and why; its digest is the version's lock. What "
            "is in it, for people, is in `datasheet`; why a document went, `corpus trace` says.",
        ),
    ],
    pool="cpu",
)
def publish_version(
    context: dg.AssetExecutionContext, store: Store, engine: EngineResource
) -> Iterator[dg.MaterializeResult]:
    """Write shards, manifest, evidence and lock of a version, whole or not at all."""
    key = VersionKey.parse(context.partition_key)
    done = publish(Build(store.layout, engine.open(store.layout, context)), load_pairs(store.layout, key))
    yield dg.MaterializeResult(
        asset_key="shards",
        data_version=dg.DataVersion(done.digest),
        metadata={
            "dagster/row_count": done.manifest["n_docs"],
            "shards": done.manifest["n_shards"],
            "bytes": done.num_bytes,
            "lineage": _as_table(done.lineage),
            "ledger_rows": _links_to_ledger_rows(key, done.lineage),
            "path": dg.MetadataValue.path(str(store.layout.version(key))),
        },
    )
    yield dg.MaterializeResult(
        asset_key="manifest",
        data_version=dg.DataVersion(done.digest),
        metadata={
            "documents": done.funnel.documents,
            "kept": done.funnel.kept,
            "dropped_by_reason": dg.MetadataValue.json(done.funnel.dropped),
            "funnel": pictures.as_metadata(
                pictures.bars("documents by fate", {"kept": done.funnel.kept, **done.funnel.dropped})
            ),
            "sha256": done.digest,
        },
    )


def _as_table(lineage: pa.Table) -> dg.TableMetadataValue:
    """The ledger rows that each shard draws from; a large version shows its first shards, the evidence has all."""
    records = [
        dg.TableRecord({name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()})
        for row in lineage.slice(0, LINEAGE_ROWS).to_pylist()
    ]
    return dg.MetadataValue.table(records, schema=_LINEAGE_COLUMNS)  # Dagster takes no empty table without its columns


def _links_to_ledger_rows(key: VersionKey, lineage: pa.Table) -> dg.MarkdownMetadataValue:
    """A line a source, the largest first: its page of ledger_entry, its licence, its rows. Largest sources only, as in
    the table.
    """
    of_sources = lineage.group_by(["source_id", "license_spdx"]).aggregate([("rows", "sum")])
    largest = of_sources.sort_by([("rows_sum", "descending"), ("source_id", "ascending")]).slice(0, LINEAGE_ROWS)
    lines = [
        f"- [{one['source_id']}]({_page_of_ledger_row(PairKey(one['source_id'], key))}): "
        f"{one['license_spdx']}, {for_people.plural(one['rows_sum'], 'row')}"
        for one in largest.to_pylist()
    ]
    return dg.MetadataValue.md("\n".join(lines) or "no rows, so no ledger row")


def _page_of_ledger_row(pair: PairKey) -> str:
    """Where the UI shows ledger_entry of one pair."""
    return f"/assets/ledger_entry?{urlencode({'view': 'partitions', 'partition': str(pair)})}"
