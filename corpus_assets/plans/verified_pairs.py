"""Which candidate pairs are edges: the exact Jaccard of their documents' shingles, in memory while these fit, by sorts
on the engine beyond. Both ways give the same bytes.

Beyond memory a pair travels to its documents, one sort for each: see `stages.verify_pairs`.
"""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from corpus_assets.kernels.shingles import HeldSets
from corpus_assets.plans import connected
from corpus_assets.plans.raw_order import in_raw_order
from corpus_assets.plans.work import buckets_for
from corpus_assets.stages import verify_pairs
from corpus_assets.stages.side_rows import column
from formats import dataset
from formats.dataset import Dataset
from formats.dedup_rules import NearRules
from resources.engines.contract import Dest, Engine, Task

_STAGE = "corpus_assets.stages.verify_pairs"
_PAIRS_PER_BUCKET = 500_000
_SHARE = 4
"""A fourth of the memory may be shingle sets, as they are stored: they are held once, and compared where they lie."""


def verified_pairs(
    engine: Engine, texts: Dataset, ranked: Dataset, candidates: Dataset, near: NearRules, folder: Path
) -> Dataset:
    """EDGES of the candidates whose exact Jaccard reaches the threshold, a shard a bucket of their second documents.

    `texts` are the documents and `ranked` their RANKS, cut alike; `folder` takes the result and what leads to it.
    """
    spread = {"num_buckets": buckets_for(candidates.rows, _PAIRS_PER_BUCKET)}
    choose = _participants if connected.fits(engine, candidates) else _participants_by_sorts
    sets = engine.map_batches(
        texts.select("k", "text"),
        Task(f"{_STAGE}:shingles_of_participants", {"shingle": near.shingle, "unit": near.shingle_unit, **spread}),
        Dest(folder / "sets", verify_pairs.MEETINGS),
        sides=(choose(engine, ranked, candidates, folder),),
    )
    fits = (
        connected.fits(engine, candidates) and _SHARE * sum(one.num_bytes for one in sets.shards) <= engine.memory_bytes
    )
    compare = _compared if fits else _compared_by_sorts
    return compare(engine, sets, candidates, near.jaccard_millionths, folder)


def _participants(_engine: Engine, ranked: Dataset, candidates: Dataset, folder: Path) -> Dataset:
    """PARTICIPANTS: where the documents of the pairs lie, a shard a shard of documents."""
    pairs = dataset.read_table(candidates, columns=("a", "b"))
    wanted = np.unique(np.concatenate((column(pairs, "a"), column(pairs, "b"))))
    dest = Dest(folder / "participants", verify_pairs.PARTICIPANTS)
    found = []
    for shard in ranked.shards:
        of_shard = dataset.read(Dataset(ranked.schema, (shard,)), columns=verify_pairs.PARTICIPANTS.names)
        among = [rows for batch in of_shard if (rows := verify_pairs.among(batch, wanted)).num_rows]
        if among:
            made = dataset.write_shard(
                shard.id, dest.path(shard.id), among, dest.schema, row_group_bytes=dest.row_group_bytes
            )
            found.append(made)
    return Dataset(dest.schema, tuple(found))


def _compared(_engine: Engine, sets: Dataset, candidates: Dataset, threshold: int, folder: Path) -> Dataset:
    sizes, ranks = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for batch in dataset.read(sets, columns=("rank", "shingles")):
        sizes.append(pc.binary_length(batch.column("shingles")).to_numpy())
        ranks.append(column(batch, "rank"))
    shingles = (batch.column("shingles") for batch in dataset.read(sets, columns=("shingles",)))
    rank, held = np.concatenate(ranks), HeldSets.of(np.concatenate(sizes), shingles)
    pairs = dataset.read_table(candidates, columns=("a", "b"))
    a, b = column(pairs, "a"), column(pairs, "b")
    dest = Dest(folder, verify_pairs.EDGES)
    num_buckets = buckets_for(candidates.rows, _PAIRS_PER_BUCKET)
    found = []
    for number in np.unique(rank % num_buckets).tolist():
        mine = b % num_buckets == number
        edges = verify_pairs.edges_among(rank, held, a[mine], b[mine], threshold).to_batches()
        found.append(
            dataset.write_shard(number, dest.path(number), edges, dest.schema, row_group_bytes=dest.row_group_bytes)
        )
    return Dataset(dest.schema, tuple(found))


def _participants_by_sorts(engine: Engine, ranked: Dataset, candidates: Dataset, folder: Path) -> Dataset:
    spread = {"num_buckets": buckets_for(candidates.rows, _PAIRS_PER_BUCKET)}
    marks = engine.map_batches(
        candidates, Task(f"{_STAGE}:places_of_pairs", spread), Dest(folder / "marks", verify_pairs.PLACES)
    )
    places = engine.map_batches(
        ranked, Task(f"{_STAGE}:places_of_documents", spread), Dest(folder / "places", verify_pairs.PLACES)
    )
    marked = engine.sort_reduce(
        dataset.concat([places, marks]),
        Task(f"{_STAGE}:participants"),
        Dest(folder / "marked", verify_pairs.PARTICIPANTS),
        bucket="bucket",
        keys=verify_pairs.KEYS,
    )
    return in_raw_order(engine, marked, folder / "participants")


def _compared_by_sorts(engine: Engine, sets: Dataset, candidates: Dataset, threshold: int, folder: Path) -> Dataset:
    spread = {"num_buckets": buckets_for(candidates.rows, _PAIRS_PER_BUCKET)}
    waiting = engine.map_batches(
        candidates, Task(f"{_STAGE}:waiting_pairs", spread), Dest(folder / "waiting", verify_pairs.MEETINGS)
    )
    half_way = engine.sort_reduce(
        dataset.concat([sets, waiting]),
        Task(f"{_STAGE}:take_first_set", spread),
        Dest(folder / "half_way", verify_pairs.MEETINGS),
        bucket="bucket",
        keys=verify_pairs.KEYS,
    )
    return engine.sort_reduce(
        dataset.concat([sets, half_way]),
        Task(f"{_STAGE}:compare", {"threshold_millionths": threshold}),
        Dest(folder, verify_pairs.EDGES),
        bucket="bucket",
        keys=verify_pairs.KEYS,
    )
