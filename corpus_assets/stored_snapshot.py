"""stored_snapshot: a token snapshot in the object store, too, where trainers read it."""

import dagster as dg

from corpus_assets.partitions import by_tokens
from corpus_assets.plans.push import push
from resources.remote_store import RemoteStore
from resources.store import Store


@dg.asset(
    partitions_def=by_tokens,
    deps=["snapshot"],
    group_name="tokens",
    kinds={"s3"},
    code_version="1",
    pool="push",
)
def stored_snapshot(context: dg.AssetExecutionContext, store: Store, remote_store: RemoteStore) -> dg.MaterializeResult:
    """The snapshot that was made last of the token set: shards first, the manifest last. What is there is not sent
    again.
    """
    remote = remote_store.open()
    done = push(remote, store.layout, context.partition_key)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(done.of),
        metadata={
            "snapshot_id": done.of,
            "files_put": done.put,
            "bytes_put": done.num_bytes,
            "files_there_before": done.found,
            "store": remote.address.url,
        },
    )
