"""The rows of the evidence that no stage has: what came of each file, the clusters, and the lineage of shards."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.clusters import find_clusters, read_edges
from corpus_assets.plans.keepers import ranks
from corpus_assets.plans.near_edges import edges
from corpus_assets.plans.pinned import Build, Pair
from corpus_assets.stages.side_rows import column
from formats import dataset, evidence_schemas
from formats.dataset import Dataset
from formats.raw_set import RawSet
from formats.reasons import Reason


def file_rows(raw: Iterable[RawSet], told: Dataset) -> pa.RecordBatch:
    """FILES: what came of each fetched file; its documents are consecutive k of its source."""
    rows = []
    exact, near = _dropped_by_k(told)
    for one in raw:
        gone_exact, gone_near = exact.get(one.source_id, np.zeros(0)), near.get(one.source_id, np.zeros(0))
        for file in one.files:
            bounds = (file.first_k, file.first_k + file.documents)
            duplicates = int(np.diff(np.searchsorted(gone_exact, bounds))[0])
            rows.append(
                {
                    "source_id": one.source_id,
                    "url": file.url,
                    "sha256": bytes.fromhex(file.sha256),
                    "num_bytes": file.bytes,
                    "records": file.records,
                    "documents": file.documents,
                    "rejects": file.rejects,
                    "unique_documents": file.documents - duplicates,
                    "near_duplicates": int(np.diff(np.searchsorted(gone_near, bounds))[0]),
                }
            )
    return pa.RecordBatch.from_pylist(rows, evidence_schemas.FILES)


def _dropped_by_k(told: Dataset) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Per source the k, ascending, of its exact and of its near duplicates."""
    reasons = (Reason.EXACT_DUPLICATE.value, Reason.NEAR_DUPLICATE.value)
    found: tuple[dict[str, list[np.ndarray]], ...] = ({}, {})
    for batch in dataset.read(told, columns=("id", "source_id", "verdict")):
        for reason, by_source in zip(reasons, found, strict=True):
            rows = batch.filter(pc.equal(batch.column("verdict"), reason))
            for source in pc.unique(rows.column("source_id")).to_pylist():
                ids = rows.filter(pc.equal(rows.column("source_id"), source)).column("id")
                k = pc.cast(pc.utf8_slice_codeunits(ids, len(source) + 1), pa.int64())  # of `<source>:<k>`
                by_source.setdefault(source, []).append(k.to_numpy())
    exact, near = ({source: np.concatenate(parts) for source, parts in one.items()} for one in found)
    return exact, near


def cluster_rows(build: Build, pairs: list[Pair]) -> pa.RecordBatch:
    """CLUSTERS of two documents or more, by the rank of their root."""
    found = edges(build, pairs).open()
    clusters = find_clusters(build, ranks(build, pairs).open(), found, drop_near=pairs[0].config.dedup.near.drop)
    roots, at = np.unique(clusters.root, return_inverse=True)
    # The root of exact duplicates alone has no row of its own among them; every cluster counts its root.
    listed = np.zeros(len(roots), np.bool_)
    listed[at[clusters.rank == clusters.root]] = True
    size = np.bincount(at, minlength=len(roots)) + ~listed
    keepers = np.bincount(at[clusters.keeper == clusters.rank], minlength=len(roots)) + ~listed
    a, _, jaccard = read_edges(found)
    weakest = np.full(len(roots), 1_000_000, np.int64)
    if len(a):
        root_of_a = clusters.root[np.searchsorted(clusters.rank, a)]
        np.minimum.at(weakest, np.searchsorted(roots, root_of_a), jaccard)
    columns = [
        _ids_of_ranks(build, pairs, roots),
        pa.array(size),
        pa.array(keepers),
        pa.array((1_000_000 - weakest).astype(np.int32)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=evidence_schemas.CLUSTERS)


def _ids_of_ranks(build: Build, pairs: list[Pair], wanted: np.ndarray) -> pa.Array:
    """The id of each rank in `wanted` (ascending), as large_string."""
    source, k = np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
    for batch in dataset.read(ranks(build, pairs).open(), columns=("rank", "source", "k")) if len(wanted) else ():
        rank = column(batch, "rank")
        at = np.minimum(np.searchsorted(wanted, rank), len(wanted) - 1)
        rows = np.flatnonzero(wanted[at] == rank)
        source[at[rows]], k[at[rows]] = column(batch, "source")[rows], column(batch, "k")[rows]
    names = pa.array([pair.row.source_id for pair in pairs], pa.large_string()).take(pa.array(source))
    colon = pa.scalar(":", pa.large_string())
    return pc.binary_join_element_wise(names, pc.cast(pa.array(k), pa.large_string()), colon)


def lineage_rows(pairs: list[Pair], told: Dataset) -> pa.RecordBatch:
    """LINEAGE: per shard and source, its rows; with the licence and ledger row they stand on."""
    rows = {pair.row.source_id: pair.row for pair in pairs}
    counted = []
    for (shard, source), n in sorted(_rows_by_shard(told).items()):
        row = rows[source]
        counted.append(
            {
                "shard": shard,
                "source_id": source,
                "license_spdx": row.license_spdx,
                "ledger_row_digest": bytes.fromhex(row.digest),
                "rows": n,
            }
        )
    return pa.RecordBatch.from_pylist(counted, evidence_schemas.LINEAGE)


def _rows_by_shard(told: Dataset) -> dict[tuple[int, str], int]:
    found: dict[tuple[int, str], int] = {}
    for shard, source, n in _grouped(told):
        found[shard, source] = found.get((shard, source), 0) + n
    return found


def _grouped(told: Dataset) -> Iterator[tuple[int, str, int]]:
    for batch in dataset.read(told, columns=("source_id", "shard")):
        rows = pa.Table.from_batches([batch]).filter(pc.is_valid(batch.column("shard")))
        for entry in rows.group_by(["shard", "source_id"]).aggregate([([], "count_all")]).to_pylist():
            yield entry["shard"], entry["source_id"], entry["count_all"]
