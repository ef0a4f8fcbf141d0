"""What dedup over all sources did, for people and for checks: what each source lost, which keepers are unlike their
cluster in length, how large clusters are.

Memory: some 30 bytes for each document that has a duplicate.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.exact_text import text_digests
from corpus_assets.plans import pictures
from corpus_assets.plans.clusters import dedup_clusters, of_source
from corpus_assets.plans.datasheet_figures import CLUSTER_SIZES
from corpus_assets.plans.funnel import verdict_counts
from corpus_assets.plans.keepers import shards_of
from corpus_assets.plans.pictures import Picture
from corpus_assets.plans.pinned import Build, Pair
from corpus_assets.plans.source_stages import signals
from corpus_assets.stages.place_rows import make_ids
from corpus_assets.stages.side_rows import column, rows_of
from formats import dataset
from formats.reasons import Reason

MILLION = 1_000_000


@dataclass(frozen=True)
class Survival:
    """One source: documents that came to dedup over all sources, and those it dropped there."""

    source: str
    entered: int
    exact: int
    near: int

    @property
    def loss_ratio(self) -> float:
        return (self.exact + self.near) / self.entered if self.entered else 0.0

    def as_json(self) -> dict[str, int | float]:
        return {"entered": self.entered, "exact_dropped": self.exact, "near_dropped": self.near} | {
            "kept": self.entered - self.exact - self.near,
            "loss_ratio": round(self.loss_ratio, 6),
        }


def survival(build: Build, pairs: list[Pair]) -> list[Survival]:
    """What each source lost, in the order of the sources."""
    whole, found = dedup_clusters(build, pairs).open(), []
    for pair, mine in zip(pairs, shards_of(build, pairs), strict=True):
        counts = verdict_counts(of_source(whole, mine))
        exact, near = counts[Reason.EXACT_DUPLICATE.value], counts[Reason.NEAR_DUPLICATE.value]
        found.append(Survival(pair.row.source_id, sum(counts.values()), exact, near))
    return found


def unlike_their_cluster(cluster: np.ndarray, length: np.ndarray, ratio: float) -> np.ndarray:
    """Which members differ in length from the median of their cluster by more than `ratio` of it.

    The median of an even number of members is the mean of the middle two; whole numbers decide.
    """
    order = np.lexsort((length, cluster))
    in_order, lengths = cluster[order], length[order].astype(np.int64)
    starts = np.flatnonzero(np.concatenate((np.ones(min(len(cluster), 1), np.bool_), in_order[1:] != in_order[:-1])))
    sizes = np.diff(np.concatenate((starts, [len(cluster)])))
    twice_median = lengths[starts + (sizes - 1) // 2] + lengths[starts + sizes // 2]
    spread = np.repeat(twice_median, sizes)
    far = np.abs(2 * lengths - spread) * MILLION > round(ratio * MILLION) * spread
    found = np.empty(len(cluster), np.bool_)
    found[order] = far
    return found


@dataclass(frozen=True)
class KeeperLengths:
    """Keepers that something was dropped onto; `unlike` are the ids of the first few that differ too much in length."""

    keepers: int
    num_unlike: int
    unlike: tuple[str, ...]


def keeper_lengths(build: Build, pairs: list[Pair], named: int = 3) -> KeeperLengths:
    """Hold each keeper's characters against the median of its cluster, at the config's `max_keeper_length_ratio`.

    A member that stays, and replaces nothing, is nobody's worse copy.
    """
    root, length, kept, shard, k = _members(build, pairs)
    far = unlike_their_cluster(root, length, pairs[0].config.dedup.near.max_keeper_length_ratio) & kept
    rows = np.flatnonzero(far)[:named]
    first = [mine.start for mine in shards_of(build, pairs)]
    source = np.searchsorted(first, shard[rows], side="right") - 1
    ids = (f"{pairs[s].row.source_id}:{one}" for s, one in zip(source, k[rows], strict=True))
    return KeeperLengths(int(kept.sum()), int(far.sum()), tuple(ids))


def _members(build: Build, pairs: list[Pair]) -> tuple[np.ndarray, ...]:
    """(root, characters, whether something was dropped onto it, shard, k) of each document that shares its cluster,
    source after source.
    """
    decided = dedup_clusters(build, pairs).open()
    shared = np.unique(np.concatenate([np.zeros(0, np.int64), *_roots_of_others(decided)]))
    measured = dataset.concat([signals(build, pair).open() for pair in pairs]).select("k", "n_chars")
    found: list[tuple[np.ndarray, ...]] = [
        (*(np.zeros(0, np.int64) for _ in range(2)), np.zeros(0, np.bool_), *(np.zeros(0, np.int64) for _ in range(2)))
    ]
    keepers = np.unique(np.concatenate([np.zeros(0, np.int64), *_keepers(decided)]))
    names = {
        shard: pair.row.source_id for pair, mine in zip(pairs, shards_of(build, pairs), strict=True) for shard in mine
    }
    for part in decided.shards if len(shared) else ():
        rows = dataset.read_table(dataset.Dataset(decided.schema, (part,)), columns=("k", "root"))
        rows = rows.filter(pa.array(np.isin(column(rows, "root"), shared)))
        lengths = measured.shard(part.id)
        if rows.num_rows == 0 or lengths is None:
            continue
        side = dataset.read_table(dataset.Dataset(measured.schema, (lengths,)), columns=("k", "n_chars"))
        chars = column(side, "n_chars")[rows_of(rows, side)]
        kept = np.isin(key_of(make_ids(names[part.id], rows.column("k").combine_chunks())), keepers)
        found.append((column(rows, "root"), chars, kept, np.full(len(kept), part.id), column(rows, "k")))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _keepers(decided: dataset.Dataset) -> Iterable[np.ndarray]:
    """Keys of what documents were dropped onto."""
    for batch in dataset.read(decided, columns=("keeper_id",)):
        yield np.unique(key_of(batch.column("keeper_id").drop_null()))


def key_of(ids: pa.Array) -> np.ndarray:
    """64 bits of the SHA-256 of each id, which are held in a tenth of the room."""
    digests = text_digests(ids.cast(pa.large_string()))
    return np.frombuffer(b"".join(digests.to_pylist()), np.int64).reshape(-1, 4)[:, 0]


def cluster_sizes(build: Build, pairs: list[Pair]) -> np.ndarray:
    """The number of documents of each cluster of two or more, by the rank of its root."""
    decided = dedup_clusters(build, pairs).open()
    shared = np.unique(np.concatenate([np.zeros(0, np.int64), *_roots_of_others(decided)]))
    sizes = np.zeros(len(shared), np.int64)
    for batch in dataset.read(decided, columns=("root",)) if len(shared) else ():
        root = column(batch, "root")
        at = np.minimum(np.searchsorted(shared, root), len(shared) - 1)
        sizes += np.bincount(at[shared[at] == root], minlength=len(shared))
    return sizes


def _roots_of_others(decided: dataset.Dataset) -> Iterable[np.ndarray]:
    """Roots of documents that are not their cluster's first."""
    for batch in dataset.read(decided, columns=("rank", "root")):
        rank, root = column(batch, "rank"), column(batch, "root")
        yield np.unique(root[rank != root])


def sizes_picture(sizes: np.ndarray) -> Picture:
    """Clusters by size."""
    edges = [*CLUSTER_SIZES, np.iinfo(np.int64).max]
    counts = np.histogram(sizes, edges)[0].tolist() if len(sizes) else [0] * len(CLUSTER_SIZES)
    rows = []
    for least, beyond, n in zip(CLUSTER_SIZES, edges[1:], counts, strict=True):
        if n:
            last = beyond == edges[-1]
            words = (
                f"{least:,}"
                if beyond == least + 1
                else f"{least:,} and more"
                if last
                else f"{least:,} to {beyond - 1:,}"
            )
            rows.append((words, n))
    return pictures.bars_in_order("clusters by number of documents", rows)


def survival_picture(found: Iterable[Survival]) -> Picture:
    """Documents that each source lost to others, the most first."""
    lost = sorted(((one.source, one.exact + one.near) for one in found), key=lambda row: (-row[1], row[0]))
    return pictures.bars_in_order("documents dropped as duplicates, by source", lost[:15])
