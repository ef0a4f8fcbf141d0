"""datasheet: what a version holds, for people, from what the build measured."""

import dagster as dg

from corpus_assets.automation import WHEN_READY
from corpus_assets.partitions import by_version
from corpus_assets.plans.datasheet import write_datasheet
from formats import durable
from formats.naming import VersionKey
from resources.store import Store


@dg.asset(
    partitions_def=by_version,
    deps=["manifest"],
    group_name="release",
    kinds={"html"},
    code_version="3",
    automation_condition=WHEN_READY,
)
def datasheet(context: dg.AssetExecutionContext, store: Store) -> dg.MaterializeResult:
    """Counts, licences, languages and the funnel of drops of a published version; what differs from the one before."""
    sheet = write_datasheet(store.layout, VersionKey.parse(context.partition_key))
    differences = {"differences": dg.MetadataValue.path(str(sheet.differences))} if sheet.differences else {}
    return dg.MaterializeResult(
        data_version=dg.DataVersion(durable.sha256_of(sheet.html)),
        metadata={
            "path": dg.MetadataValue.path(str(sheet.html)),
            "since": sheet.since,
            **differences,
            "datasheet": dg.MetadataValue.md(sheet.markdown),
        },
    )
