"""Candidate pairs over all sources of a version: documents that share a band bucket, each pair once.

In memory while band keys and pairs fit, by sorts on the engine beyond; both ways give the same pairs and notes. Cost of
the sorts: two of them, over a row a band and document and over the pairs; in memory one sort a band, of the keys alone.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.bands import CandidatePairs
from corpus_assets.plans.work import buckets_for
from corpus_assets.stages import near_duplicates
from formats import dataset
from formats.dataset import Dataset
from formats.dedup_rules import NearRules
from resources.engines.contract import Dest, Engine, Task

_STAGE = "corpus_assets.stages.near_duplicates"
_SHARE = 4
"""A fourth of the memory may be keys and pairs."""
_BYTES_PER_KEY, _BYTES_PER_PAIR = 16, 64
"""What they take at the peak: a key's share of its sort, a pair in each form it passes through."""


def candidate_pairs(engine: Engine, parts: Dataset, ranked: Dataset, near: NearRules, folder: Path) -> Dataset:
    """PAIRS, of which `a` and `b` count. `parts` are the sources' band parts, cut like their RANKS. Its notes are those
    of the stage `candidate_pairs`.
    """
    found = _in_memory(engine, parts, ranked, near, folder)
    return by_sorts(engine, parts, ranked, near, folder) if found is None else found


def by_sorts(engine: Engine, parts: Dataset, ranked: Dataset, near: NearRules, folder: Path) -> Dataset:
    """The same, whatever memory there is."""
    banded = engine.map_batches(
        parts,
        Task(f"{_STAGE}:band_rows", {"bands": near.bands, "parts_per_band": buckets_for(ranked.rows)}),
        Dest(folder / "bands", near_duplicates.BAND_ROWS),
        sides=(ranked.select("k", "rank", "exact_keeper"),),
    )
    met = engine.sort_reduce(
        banded,
        Task(
            f"{_STAGE}:candidate_pairs",
            {
                "max_bucket": near.max_bucket,
                "hot_keepers": near.hot_keepers,
                "num_buckets": buckets_for(banded.rows),
            },
        ),
        Dest(folder / "met", near_duplicates.PAIRS),
        bucket="bucket",
        keys=("key", "rank"),
    )
    once = engine.sort_reduce(
        met,
        Task(f"{_STAGE}:once_each"),
        Dest(folder / "candidates", near_duplicates.PAIRS),
        bucket="bucket",
        keys=("a", "b", "band_bucket"),
    )
    return Dataset(once.schema, once.shards, met.notes)


def _in_memory(engine: Engine, parts: Dataset, ranked: Dataset, near: NearRules, folder: Path) -> Dataset | None:
    """None where keys or pairs have no room."""
    room = engine.memory_bytes // _SHARE - _BYTES_PER_KEY * near.bands * parts.rows
    if room < 0:
        return None
    rank, keys = _keys_in_order(parts, ranked, near.bands)
    pairs = CandidatePairs(near.max_bucket, near.hot_keepers)
    met = [np.zeros(0, np.int64)]
    for band in range(near.bands):
        order = np.argsort(keys[:, band], kind="stable")
        in_order = keys[order, band]
        room -= _BYTES_PER_PAIR * _num_pairs(in_order, near)
        if room < 0:
            return None
        for a, b in (pairs.feed(in_order, rank[order]), pairs.finish()):
            met.append(a * ranked.rows + b)
    once = np.unique(np.concatenate(met))
    a, b = np.divmod(once, max(1, ranked.rows))
    nowhere = pa.array(np.zeros(len(a), np.int32))  # all pairs are here, so where two met is no matter
    rows = pa.RecordBatch.from_arrays([nowhere, pa.array(a), pa.array(b), nowhere], schema=near_duplicates.PAIRS)
    dest = Dest(folder / "candidates", near_duplicates.PAIRS)
    shard = dataset.write_shard(0, dest.path(0), [rows], dest.schema, row_group_bytes=dest.row_group_bytes)
    notes = {"hot_buckets": pairs.hot_buckets, "pairs_skipped": pairs.pairs_skipped}
    return Dataset(dest.schema, (shard,), notes)


def _keys_in_order(parts: Dataset, ranked: Dataset, bands: int) -> tuple[np.ndarray, np.ndarray]:
    """(rank ascending, keys of each band) of every document that is no exact duplicate."""
    ranks, keys = [np.zeros(0, np.int64)], [np.zeros((0, bands), np.int64)]
    for part in parts.shards:
        side = ranked.shard(part.id)
        if side is None:
            continue
        beside = dataset.read_table(Dataset(ranked.schema, (side,)), columns=("k", "rank", "exact_keeper"))
        for batch in dataset.read_shard(part, columns=("k", "keys")):
            rank, its_keys = near_duplicates.ranked_keys(batch, beside)
            ranks.append(rank)
            keys.append(its_keys)
    rank = np.concatenate(ranks)
    order = np.argsort(rank, kind="stable")
    return rank[order], np.concatenate(keys)[order]


def _num_pairs(keys: np.ndarray, near: NearRules) -> int:
    """How many pairs buckets of these sorted keys give."""
    starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), np.bool_), keys[1:] != keys[:-1])))
    members = np.diff(np.concatenate((starts, [len(keys)])))
    compared = np.where(members > near.max_bucket, np.minimum(members, near.hot_keepers), members)
    return int((compared * (compared - 1) // 2 + (members - compared) * compared).sum())
