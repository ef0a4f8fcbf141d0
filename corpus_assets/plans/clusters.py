"""Clusters and keepers: what dedup decides for each document, from verified edges and exact duplicates.

Memory: some 60 bytes for each document that has a duplicate; documents without one only stream by.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.plans.connected import find_components, find_keepers
from corpus_assets.plans.keepers import ranks, shards_of
from corpus_assets.plans.near_edges import edges
from corpus_assets.plans.pinned import Build, Pair, once_a_build
from corpus_assets.plans.raw_order import in_raw_order
from corpus_assets.plans.work import Output, identity
from corpus_assets.stages import sorted_rows, survivors
from corpus_assets.stages.side_rows import column
from formats import dataset
from formats.dataset import Dataset
from formats.reasons import Reason
from resources.engines.contract import Dest, Task
from resources.engines.scratch import spill_folder

_STAGES = "corpus_assets.stages"


@dataclass(frozen=True)
class Clusters:
    """Documents that have a duplicate, by ascending rank, each with its cluster's root and its keeper (ranks).

    `exact` marks those dropped as exact duplicates; `jaccard` is that of the edge to the keeper, in millionths.
    """

    rank: np.ndarray
    root: np.ndarray
    keeper: np.ndarray
    exact: np.ndarray
    jaccard: np.ndarray


def read_edges(found: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(a, b, jaccard in millionths) of every verified edge."""
    table = dataset.read_table(found)
    return column(table, "a"), column(table, "b"), column(table, "jaccard")


def find_clusters(build: Build, ranked: Dataset, found: Dataset, *, drop_near: bool) -> Clusters:
    """Components of the edges, keepers by the walk in keeper order; exact duplicates join their keeper's cluster."""
    with spill_folder(build.layout.corpus / "work" / "scratch") as folder:
        nodes, root = find_components(build.engine, found, folder)
        keeper, score = nodes.copy(), np.zeros(len(nodes), np.int64)
        if drop_near:
            gone, onto, by = find_keepers(build.engine, found, ranked.rows, folder)
            at = np.searchsorted(nodes, gone)
            keeper[at], score[at] = onto, by
    dropped, first = _exact_duplicates(ranked)
    at = np.minimum(np.searchsorted(nodes, first), max(0, len(nodes) - 1))
    clustered = nodes[at] == first if len(nodes) else np.zeros(len(first), np.bool_)
    exact_root = np.where(clustered, root[at], first) if len(nodes) else first
    rank = np.concatenate((nodes, dropped))
    order = np.argsort(rank, kind="stable")
    return Clusters(
        rank[order],
        np.concatenate((root, exact_root))[order],
        np.concatenate((keeper, first))[order],
        np.concatenate((np.zeros(len(nodes), np.bool_), np.ones(len(dropped), np.bool_)))[order],
        np.concatenate((score, np.zeros(len(dropped), np.int64)))[order],
    )


def _exact_duplicates(ranked: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """(rank, rank of the keeper) of every exact duplicate across sources."""
    dropped, keepers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for batch in dataset.read(ranked, columns=("rank", "exact_keeper")):
        rank, keeper = column(batch, "rank"), column(batch, "exact_keeper")
        dropped.append(rank[rank != keeper])
        keepers.append(keeper[rank != keeper])
    return np.concatenate(dropped), np.concatenate(keepers)


def _whereabouts(ranked: Dataset, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(shard, k, source number) of each rank in `wanted` (ascending)."""
    shard, k = np.full(len(wanted), -1, np.int64), np.zeros(len(wanted), np.int64)
    source = np.zeros(len(wanted), np.int64)
    for batch in dataset.read(ranked, columns=("rank", "shard", "k", "source")):
        rank = column(batch, "rank")
        at = np.minimum(np.searchsorted(wanted, rank), max(0, len(wanted) - 1))
        hit = np.flatnonzero(wanted[at] == rank) if len(wanted) else np.zeros(0, np.int64)
        shard[at[hit]], k[at[hit]] = column(batch, "shard")[hit], column(batch, "k")[hit]
        source[at[hit]] = column(batch, "source")[hit]
    return shard, k, source


def decisions(clusters: Clusters, ranked: Dataset, sources: list[str], firsts: list[int]) -> pa.Table:
    """DECISIONS rows: the clusters with ids in place of ranks."""
    named = np.unique(np.concatenate((clusters.rank, clusters.root, clusters.keeper)))
    shard, k, source = _whereabouts(ranked, named)
    own, root, keeper = (np.searchsorted(named, r) for r in (clusters.rank, clusters.root, clusters.keeper))
    dropped = clusters.keeper != clusters.rank
    stays = ~dropped
    near = Reason.NEAR_DUPLICATE.value
    verdict = np.where(clusters.exact, Reason.EXACT_DUPLICATE.value, np.where(dropped, near, Reason.KEPT.value))
    id_of = np.array([f"{sources[s]}:{i}" for s, i in zip(source, k, strict=True)], object)
    raw_part = shard - np.array(firsts, np.int64)[source] if len(named) else shard
    columns = {
        "shard": pa.array(shard[own].astype(np.int32)),
        "k": pa.array(k[own]),
        "verdict": pa.array(verdict.astype(object), pa.large_string()),
        "root": pa.array(clusters.root),
        "cluster_id": pa.array(id_of[root], pa.large_string()),
        "keeper_id": pa.array(id_of[keeper], pa.large_string(), mask=stays),
        "keeper_raw_part": pa.array(raw_part[keeper].astype(np.int32), mask=stays),
        "keeper_jaccard": pa.array(clusters.jaccard, mask=stays | clusters.exact),
    }
    return pa.table([columns[name] for name in survivors.DECISIONS.names], schema=survivors.DECISIONS)


@once_a_build
def dedup_clusters(build: Build, pairs: list[Pair]) -> Output:
    """SURVIVORS of a version, cut like its documents."""
    near = pairs[0].config.dedup.near
    ranked, found = ranks(build, pairs).open(), edges(build, pairs).open()
    ident = identity(
        "dedup_clusters",
        f"{survivors.CODE_VERSION}.{sorted_rows.CODE_VERSION}",
        settings={"drop_near": near.drop},
        inputs={"keeper_ranks": ranked.digest, "near_edges": found.digest},
        libraries=("pyarrow", "numpy"),
    )

    def make(folder: Path) -> Dataset:
        shards = shards_of(build, pairs)
        sources = [pair.row.source_id for pair in pairs]
        clusters = find_clusters(build, ranked, found, drop_near=near.drop)
        table = decisions(clusters, ranked, sources, [mine.start for mine in shards])
        written = dataset.write_shard(
            0, folder / "decided" / "part.parquet", table.to_batches(), survivors.DECISIONS, row_group_bytes=1 << 25
        )
        by_shard = in_raw_order(build.engine, Dataset(survivors.DECISIONS, (written,)), folder / "by_shard")
        per_shard = {
            shard: {"source_id": source} for source, mine in zip(sources, shards, strict=True) for shard in mine
        }
        task = Task(f"{_STAGES}.survivors:survivors", per_shard=per_shard)
        return build.engine.map_batches(ranked, task, Dest(folder, survivors.SURVIVORS), sides=(by_shard,))

    return Output(build.layout, ident, survivors.SURVIVORS, make, str(pairs[0].version))


def of_source(whole: Dataset, shards: range) -> Dataset:
    """One source's shards of a version's dataset, numbered from 0 as in the source's own datasets."""
    mine = (shard for shard in whole.shards if shard.id in shards)
    return Dataset(whole.schema, tuple(replace(shard, id=shard.id - shards.start) for shard in mine))
