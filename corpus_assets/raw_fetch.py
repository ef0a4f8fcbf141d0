"""raw_fetch: the verified bytes of one source, read into a raw set. Nothing is downloaded twice, in any version."""

import dagster as dg

from corpus_assets.automation import WHEN_READY
from corpus_assets.ledger_entry import ledger_entry
from corpus_assets.partitions import by_pair
from corpus_assets.plans import raw_set
from corpus_assets.plans.fetch_access import access_of
from corpus_assets.plans.pinned import load_pair
from corpus_assets.plans.work import at_work
from formats.naming import PairKey
from resources.engine import EngineResource
from resources.fetcher import FetcherResource
from resources.progress import tell
from resources.store import Store


@dg.asset(
    partitions_def=by_pair,
    deps=[ledger_entry],
    group_name="ingest",
    kinds={"zstd"},
    code_version=raw_set.CODE_VERSION,
    automation_condition=WHEN_READY,
    pool="fetch",
)
def raw_fetch(
    context: dg.AssetExecutionContext, store: Store, fetcher: FetcherResource, engine: EngineResource
) -> dg.MaterializeResult:
    """Every document of one source as extracted, and what could not become one, with the reason."""
    pair = load_pair(store.layout, PairKey.parse(context.partition_key))  # refuses what the version does not allow
    fetch = fetcher.open(store.layout, access_of(store.layout, pair.row.source_id))
    with at_work("raw_fetch"):
        raw = raw_set.fetch_raw_set(
            store.layout, pair.row, fetch, extract=pair.config.extract, workers=engine.num_workers, progress=_tell
        )
    return dg.MaterializeResult(
        data_version=dg.DataVersion(raw.digest),
        metadata={
            "dagster/row_count": raw.documents,
            "rejects": sum(raw.rejects.values()),
            "rejects_by_reason": dg.MetadataValue.json(dict(raw.rejects)),
            "bytes": sum(file.bytes for file in raw.files),
            "license": pair.row.license_spdx,
            "path": dg.MetadataValue.path(str(raw.folder)),
        },
    )


def _tell(files: int, of_files: int, documents: int) -> None:
    tell(f"documents, {files:,} of {of_files:,} files read", documents, 0)  # nobody knows how many there will be
