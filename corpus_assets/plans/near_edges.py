"""Verified near-duplicate pairs over all sources of a version: bands, candidates, exact Jaccard."""

from pathlib import Path

from corpus_assets.plans.keepers import ranks
from corpus_assets.plans.pinned import Build, Pair, once_a_build
from corpus_assets.plans.source_stages import documents, signatures
from corpus_assets.plans.work import Output, buckets_for, identity
from corpus_assets.stages import near_duplicates, sorted_rows, verify_pairs
from formats import dataset
from formats.corpus_config import NearRules
from formats.dataset import Dataset
from resources.engines.contract import Dest, Engine, Task

_STAGES = "corpus_assets.stages"


@once_a_build
def edges(build: Build, pairs: list[Pair]) -> Output:
    """EDGES between documents that are no exact duplicates. Its notes count the pairs that hot buckets skipped."""
    near = pairs[0].config.dedup.near
    signed = dataset.concat([signatures(build, pair).open() for pair in pairs])
    texts = dataset.concat([documents(build, pair).open() for pair in pairs])
    ranked = ranks(build, pairs).open()
    ident = identity(
        "near_edges",
        f"{near_duplicates.CODE_VERSION}.{verify_pairs.CODE_VERSION}.{sorted_rows.CODE_VERSION}",
        settings={
            "shingle": near.shingle,
            "bands": near.bands,
            "rows": near.rows,
            "max_bucket": near.max_bucket,
            "hot_keepers": near.hot_keepers,
            "jaccard_millionths": near.jaccard_millionths,
        },
        inputs={"minhash_signatures": signed.digest, "documents": texts.digest, "keeper_ranks": ranked.digest},
        libraries=("pyarrow", "numpy"),
    )

    def make(folder: Path) -> Dataset:
        candidates = _candidates(build.engine, signed, ranked, near, folder)
        return _verified(build.engine, texts, ranked, candidates, near, folder)

    return Output(build.layout, ident, verify_pairs.EDGES, make, str(pairs[0].version))


def _candidates(engine: Engine, signed: Dataset, ranked: Dataset, near: NearRules, folder: Path) -> Dataset:
    """Each pair of documents that share a band bucket, once."""
    stage = f"{_STAGES}.near_duplicates"
    banded = engine.map_batches(
        signed,
        Task(
            f"{stage}:band_rows",
            {"bands": near.bands, "rows": near.rows, "parts_per_band": buckets_for(ranked.rows)},
        ),
        Dest(folder / "bands", near_duplicates.BAND_ROWS),
        sides=(ranked.select("k", "rank", "exact_keeper"),),
    )
    met = engine.sort_reduce(
        banded,
        Task(
            f"{stage}:candidate_pairs",
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
        Task(f"{stage}:once_each"),
        Dest(folder / "candidates", near_duplicates.PAIRS),
        bucket="bucket",
        keys=("a", "b", "band_bucket"),
    )
    return Dataset(once.schema, once.shards, met.notes)


def _verified(
    engine: Engine, texts: Dataset, ranked: Dataset, candidates: Dataset, near: NearRules, folder: Path
) -> Dataset:
    """The candidates whose exact Jaccard reaches the threshold."""
    stage = f"{_STAGES}.verify_pairs"
    spread = {"num_buckets": buckets_for(candidates.rows, 500_000)}
    marks = engine.map_batches(
        candidates, Task(f"{stage}:places_of_pairs", spread), Dest(folder / "marks", verify_pairs.PLACES)
    )
    places = engine.map_batches(
        ranked, Task(f"{stage}:places_of_documents", spread), Dest(folder / "places", verify_pairs.PLACES)
    )
    marked = engine.sort_reduce(
        dataset.concat([places, marks]),
        Task(f"{stage}:participants"),
        Dest(folder / "marked", verify_pairs.PARTICIPANTS),
        bucket="bucket",
        keys=verify_pairs.KEYS,
    )
    participants = engine.sort_reduce(
        marked,
        Task(f"{_STAGES}.sorted_rows:as_they_come"),
        Dest(folder / "participants", verify_pairs.PARTICIPANTS),
        bucket="shard",
        keys=("k",),
    )
    sets = engine.map_batches(
        texts.select("k", "text"),
        Task(f"{stage}:shingles_of_participants", {"shingle": near.shingle, **spread}),
        Dest(folder / "sets", verify_pairs.MEETINGS),
        sides=(participants,),
    )
    waiting = engine.map_batches(
        candidates, Task(f"{stage}:waiting_pairs", spread), Dest(folder / "waiting", verify_pairs.MEETINGS)
    )
    half_way = engine.sort_reduce(
        dataset.concat([sets, waiting]),
        Task(f"{stage}:take_first_set", spread),
        Dest(folder / "half_way", verify_pairs.MEETINGS),
        bucket="bucket",
        keys=verify_pairs.KEYS,
    )
    found = engine.sort_reduce(
        dataset.concat([sets, half_way]),
        Task(f"{stage}:compare", {"threshold_millionths": near.jaccard_millionths}),
        Dest(folder, verify_pairs.EDGES),
        bucket="bucket",
        keys=verify_pairs.KEYS,
    )
    return Dataset(found.schema, found.shards, {**candidates.notes, "candidate_pairs": candidates.rows})
