"""The stages of one source in one version: documents, signals, verdicts, signatures. All keep the raw set's parts:
shard i holds the documents of raw part i, in the order of k.
"""

from pathlib import Path
from typing import Any

from corpus_assets.plans import raw_set as raw_sets
from corpus_assets.plans.pinned import Build, Pair, once_a_build
from corpus_assets.plans.work import Output, buckets_for, identity
from corpus_assets.stages import (
    exact_duplicates,
    filter_documents,
    measure_documents,
    normalize_documents,
    sign_documents,
    sorted_rows,
    survivors,
)
from formats.dataset import Dataset
from formats.stage_tables import DOCUMENTS, SIGNALS, SIGNATURES, VERDICTS
from resources.engines.contract import Dest, Task

_STAGES = "corpus_assets.stages"


@once_a_build
def documents(build: Build, pair: Pair) -> Output:
    """DOCUMENTS: the normalized text of every raw document."""
    raw = raw_sets.find_raw_set(build.layout, pair.row).as_dataset()
    ident = identity(
        "documents",
        normalize_documents.CODE_VERSION,
        settings={"source_id": pair.row.source_id},
        inputs={"raw_set": raw.digest},
        libraries=normalize_documents.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        per_shard, first_k = {}, 0
        for part in raw.shards:
            per_shard[part.id] = {"raw_part": part.id, "first_k": first_k}
            first_k += part.rows
        task = Task(f"{_STAGES}.normalize_documents:normalize_documents", {"source_id": pair.row.source_id}, per_shard)
        return build.engine.map_batches(raw, task, Dest(folder, DOCUMENTS))

    return Output(build.layout, ident, DOCUMENTS, make, str(pair))


@once_a_build
def signals(build: Build, pair: Pair) -> Output:
    """SIGNALS: what is measured about each document, once."""
    source = documents(build, pair).open()
    settings = {"second_voice": pair.config.lang.second_voice}
    ident = identity(
        "doc_signals",
        measure_documents.CODE_VERSION,
        settings=settings,
        inputs={"documents": source.digest},
        libraries=measure_documents.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        task = Task(f"{_STAGES}.measure_documents:measure_documents", settings)
        return build.engine.map_batches(source, task, Dest(folder, SIGNALS))

    return Output(build.layout, ident, SIGNALS, make, str(pair))


def filter_settings(pair: Pair) -> dict[str, Any]:
    """The rules that decide the verdicts of one source: thresholds of its profile, order of filters, languages."""
    return {
        "profile": pair.row.profile,
        "thresholds": pair.config.thresholds(pair.row.profile),
        "filters": list(pair.config.filters),
        "lang_allow": list(pair.config.lang.allow),
    }


@once_a_build
def verdicts(build: Build, pair: Pair) -> Output:
    """VERDICTS from signals and thresholds; touches no text. The first of equal texts of the source stays."""
    source = signals(build, pair).open()
    settings = filter_settings(pair)
    ident = identity(
        "filtered_docs",
        f"{filter_documents.CODE_VERSION}.{exact_duplicates.CODE_VERSION}.{sorted_rows.CODE_VERSION}",
        settings=settings,
        inputs={"doc_signals": source.digest},
        libraries=filter_documents.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        duplicates = _source_duplicates(build, source, folder)
        task = Task(f"{_STAGES}.filter_documents:filter_documents", settings)
        return build.engine.map_batches(source, task, Dest(folder, VERDICTS), sides=(duplicates,))

    return Output(build.layout, ident, VERDICTS, make, str(pair))


def _source_duplicates(build: Build, source: Dataset, folder: Path) -> Dataset:
    """Documents of one source whose text came before, cut like the source's shards."""
    task = Task(
        f"{_STAGES}.exact_duplicates:digest_rows",
        {"num_buckets": buckets_for(source.rows)},
        {shard.id: {"part": shard.id} for shard in source.shards},
    )
    rows = build.engine.map_batches(
        source.select("k", "crawl_date", "exact_digest"),
        task,
        Dest(folder / "digests", exact_duplicates.DIGEST_ROWS),
    )
    found = build.engine.sort_reduce(
        rows,
        Task(f"{_STAGES}.exact_duplicates:source_duplicates"),
        Dest(folder / "found", exact_duplicates.SOURCE_DUPLICATES),
        bucket="bucket",
        keys=("exact_digest", "crawl_date", "k"),
    )
    return build.engine.sort_reduce(
        found,
        Task(f"{_STAGES}.sorted_rows:as_they_come"),
        Dest(folder / "by_part", exact_duplicates.SOURCE_DUPLICATES),
        bucket="part",
        keys=("k",),
    )


@once_a_build
def signatures(build: Build, pair: Pair) -> Output:
    """SIGNATURES of the documents still in."""
    source, verdict = documents(build, pair).open(), verdicts(build, pair).open()
    near = pair.config.dedup.near
    settings = {"shingle": near.shingle, "seed": near.seed}
    ident = identity(
        "minhash_signatures",
        f"{sign_documents.CODE_VERSION}.{survivors.CODE_VERSION}",
        settings=settings,
        inputs={"documents": source.digest, "filtered_docs": verdict.digest},
        libraries=sign_documents.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        task = Task(f"{_STAGES}.sign_documents:sign_kept", settings)
        kept = verdict.select("k", "verdict")
        return build.engine.map_batches(source.select("k", "text"), task, Dest(folder, SIGNATURES), sides=(kept,))

    return Output(build.layout, ident, SIGNATURES, make, str(pair))
