"""stored_version: a published version in the object store, too, where others read it."""

import dagster as dg

from corpus_assets.automation import WHEN_READY
from corpus_assets.partitions import by_version
from corpus_assets.plans.push import push
from resources.remote_store import RemoteStore
from resources.store import Store


@dg.asset(
    partitions_def=by_version,
    deps=["manifest", "datasheet", "ngram_index"],
    group_name="release",
    kinds={"s3"},
    code_version="1",
    automation_condition=WHEN_READY,
    pool="push",
)
def stored_version(context: dg.AssetExecutionContext, store: Store, remote_store: RemoteStore) -> dg.MaterializeResult:
    """Shards and evidence first, each only where none lies, the manifest last: there whole or not at all. What is there
    is not sent again.
    """
    remote = remote_store.open()
    done = push(remote, store.layout, context.partition_key)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(done.sha256),
        metadata={
            "files_put": done.put,
            "bytes_put": done.num_bytes,
            "files_there_before": done.found,
            "evidence_of_publication_kept": done.kept_evidence,
            "store": remote.address.url,
        },
    )
