"""Verified near-duplicate pairs over all sources of a version: bands, candidates, exact Jaccard."""

from pathlib import Path

from corpus_assets.plans.candidates import candidate_pairs
from corpus_assets.plans.keepers import ranks
from corpus_assets.plans.pinned import Build, Pair, once_a_build
from corpus_assets.plans.source_stages import documents, signatures
from corpus_assets.plans.verified_pairs import verified_pairs
from corpus_assets.plans.work import Output, identity
from corpus_assets.stages import near_duplicates, sorted_rows, verify_pairs
from formats import dataset
from formats.dataset import Dataset
from resources.engines.contract import Dest, Task

_STAGES = "corpus_assets.stages"


@once_a_build
def band_parts(build: Build, pair: Pair) -> Output:
    """BAND_PARTS of one source: of its signatures and the banding alone, so any version with both takes it over."""
    near = pair.config.dedup.near
    signed = signatures(build, pair).open()
    settings = {"bands": near.bands, "rows": near.rows}
    ident = identity(
        "band_parts",
        near_duplicates.CODE_VERSION,
        settings=settings,
        inputs={"minhash_signatures": signed.digest},
        libraries=("pyarrow", "numpy"),
    )
    schema = near_duplicates.band_parts_schema(near.bands)

    def make(folder: Path) -> Dataset:
        task = Task(f"{_STAGES}.near_duplicates:band_parts", settings)
        return build.engine.map_batches(signed, task, Dest(folder, schema))

    return Output(build.layout, ident, schema, make, str(pair))


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
            "unit": near.shingle_unit,
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
        banded = dataset.concat([band_parts(build, pair).make() for pair in pairs])
        candidates = candidate_pairs(build.engine, banded, ranked, near, folder)
        found = verified_pairs(build.engine, texts, ranked, candidates, near, folder)
        return Dataset(found.schema, found.shards, {**candidates.notes, "candidate_pairs": candidates.rows})

    return Output(build.layout, ident, verify_pairs.EDGES, make, str(pairs[0].version))
