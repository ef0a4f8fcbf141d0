"""The stages of one source in one version: documents, signals, verdicts, signatures. All keep the raw set's parts:
shard i holds the documents of raw part i, in the order of k.

Where a config has models, what is counted decides first (`counted_signals`, `counted_verdicts`: the same outputs as
without models); models are asked about what stays, and decide on it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus_assets.plans import pinned_models
from corpus_assets.plans import raw_set as raw_sets
from corpus_assets.plans.pinned import Build, Pair, once_a_build
from corpus_assets.plans.site_rules import site_matches
from corpus_assets.plans.word_rules import word_counts
from corpus_assets.plans.work import Output, buckets_for, identity
from corpus_assets.stages import (
    count_listed_words,
    exact_duplicates,
    filter_documents,
    judge_by_models,
    measure_by_models,
    measure_documents,
    mixed_languages,
    normalize_documents,
    sample_documents,
    sign_documents,
    site_verdicts,
    sorted_rows,
    survivors,
)
from formats.corpus_config import CorpusConfig
from formats.dataset import Dataset
from formats.stage_tables import (
    DOCUMENTS,
    LISTED_WORDS,
    SIGNALS,
    SIGNALS_BY_MODELS,
    SIGNALS_WITH_SAFETY,
    SIGNATURES,
    SITE_MATCHES,
    VERDICTS,
)
from resources.engines.contract import Dest, Task

_STAGES = "corpus_assets.stages"


@once_a_build
def documents(build: Build, pair: Pair) -> Output:
    """DOCUMENTS: the normalized text of every raw document."""
    raw = raw_sets.find_raw_set(build.layout, pair.row, pair.config.extract).as_dataset()
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
def counted_signals(build: Build, pair: Pair) -> Output:
    """SIGNALS: what is measured about each document without models, once."""
    source = documents(build, pair).open()
    settings = measure_settings(pair.config)
    of_mixed = f".{mixed_languages.CODE_VERSION}" if "mixed" in settings else ""
    ident = identity(
        "doc_signals",
        measure_documents.CODE_VERSION + of_mixed,
        settings=settings,
        inputs={"documents": source.digest},
        libraries=measure_documents.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        task = Task(f"{_STAGES}.measure_documents:measure_documents", settings)
        return build.engine.map_batches(source, task, Dest(folder, SIGNALS))

    return Output(build.layout, ident, SIGNALS, make, str(pair))


def measure_settings(config: CorpusConfig) -> dict[str, Any]:
    """How languages are told; what is asked for by few configs only where it is."""
    settings = {"second_voice": config.lang.second_voice}
    return settings | ({"mixed": config.lang.mixed} if config.lang.mixed != "greatest" else {})


def filter_settings(pair: Pair) -> dict[str, Any]:
    """The rules that decide the verdicts of one source: thresholds of its profile, order of filters, languages; where
    languages have thresholds of their own, these.
    """
    by_language = pair.config.language_thresholds(pair.row.profile)
    rules = {
        "profile": pair.row.profile,
        "thresholds": pair.config.thresholds(pair.row.profile),
        "filters": list(pair.config.filters),
        "lang_allow": list(pair.config.lang.allow),
    }
    return rules | {"by_language": by_language} if by_language else rules


def all_rules(pair: Pair) -> dict[str, Any]:
    """`filter_settings`, and the limits of models where the config has any."""
    if not pair.config.model_filters:
        return filter_settings(pair)
    by_models = {"model_filters": list(pair.config.model_filters), "limits": pair.config.model_limits(pair.row.profile)}
    return filter_settings(pair) | by_models


@once_a_build
def counted_verdicts(build: Build, pair: Pair) -> Output:
    """VERDICTS from signals and thresholds; touches no text. The first of equal texts of the source stays."""
    source = counted_signals(build, pair).open()
    settings = filter_settings(pair)
    listed, worded = listed_documents(build, pair), listed_words(build, pair)
    sites, more = ((listed.make(),), f".{site_verdicts.CODE_VERSION}") if listed else ((), "")
    words = (worded.make(),) if worded else ()
    if words:
        more += f".{count_listed_words.CODE_VERSION}"
    sample = documents_left_out(build, pair)
    out = (sample.make(),) if sample else ()
    if out:
        more += f".sample-{sample_documents.CODE_VERSION}"
    ident = identity(
        "filtered_docs",
        f"{filter_documents.CODE_VERSION}.{exact_duplicates.CODE_VERSION}.{sorted_rows.CODE_VERSION}{more}",
        settings=settings,
        inputs={"doc_signals": source.digest}
        | ({"site_matches": sites[0].digest} if sites else {})
        | ({"listed_words": words[0].digest} if words else {})
        | ({"left_out": out[0].digest} if out else {}),
        libraries=filter_documents.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        duplicates = _source_duplicates(build, source, sites, out, folder)
        fn = "site_verdicts:filter_sites_first" if sites else "filter_documents:filter_documents"
        sides = (duplicates, *sites)
        if words:
            fn = "count_listed_words:filter_words_last"
            sides = (duplicates, *(sites or (Dataset(SITE_MATCHES, ()),)), *words)
        if out:
            fn = "sample_documents:filter_sample"
            lists = (*(sites or (Dataset(SITE_MATCHES, ()),)), *(words or (Dataset(LISTED_WORDS, ()),)))
            sides = (duplicates, *lists, *out)
        return build.engine.map_batches(source, Task(f"{_STAGES}.{fn}", settings), Dest(folder, VERDICTS), sides=sides)

    return Output(build.layout, ident, VERDICTS, make, str(pair))


def measuring(build: Build, pair: Pair) -> Iterator[Output]:
    """All that `signals` stands on, and it, in their order; each has to be made before the next is asked for."""
    yield documents(build, pair)
    yield counted_signals(build, pair)
    if pair.config.model_filters:
        yield counted_verdicts(build, pair)
        yield signals(build, pair)


def signals_schema(config: CorpusConfig) -> pa.Schema:
    """The columns of `signals`."""
    if not config.model_filters:
        return SIGNALS
    return SIGNALS_WITH_SAFETY if config.safety else SIGNALS_BY_MODELS


@once_a_build
def signals(build: Build, pair: Pair) -> Output:
    """All that is measured about each document: SIGNALS, and more columns where the config has models."""
    if not pair.config.model_filters:
        return counted_signals(build, pair)
    texts, counted = documents(build, pair).open(), counted_signals(build, pair).open()
    gate = counted_verdicts(build, pair).open()
    models, schema = pinned_models.of_profile(pair.config, pair.row.profile), signals_schema(pair.config)
    ident = identity(
        "model_signals",
        measure_by_models.CODE_VERSION,
        settings=models.settings,
        inputs={
            "documents": texts.digest,
            "doc_signals": counted.digest,
            "filtered_docs": gate.digest,
            **models.digests,
        },
        libraries=(*measure_by_models.LIBRARIES, *models.libraries),
    )

    def make(folder: Path) -> Dataset:
        pinned_models.hold_to_digests(build.layout, pair.config)
        fn = "measure_with_safety" if pair.config.safety else "measure_by_models"
        task = Task(f"{_STAGES}.measure_by_models:{fn}", models.as_arguments(build.layout))
        sides = (counted, gate.select("k", "verdict"))
        return build.engine.map_batches(texts.select("k", "text"), task, Dest(folder, schema), sides=sides)

    return Output(build.layout, ident, schema, make, str(pair))


@once_a_build
def verdicts(build: Build, pair: Pair) -> Output:
    """VERDICTS by all rules: those of models over what the others keep. A new limit asks no model again."""
    if not pair.config.model_filters:
        return counted_verdicts(build, pair)
    gate, measured = counted_verdicts(build, pair).open(), signals(build, pair).open()
    settings = {"limits": pair.config.model_limits(pair.row.profile)}
    ident = identity(
        "model_verdicts",
        judge_by_models.CODE_VERSION,
        settings=settings,
        inputs={"filtered_docs": gate.digest, "model_signals": measured.digest},
        libraries=judge_by_models.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        task = Task(f"{_STAGES}.judge_by_models:judge_by_models", settings)
        by_models = [name for name in ("quality", "ppl", "safety") if name in measured.schema.names]
        sides = (measured.select("k", "lang", *by_models),)
        return build.engine.map_batches(gate, task, Dest(folder, VERDICTS), sides=sides)

    return Output(build.layout, ident, VERDICTS, make, str(pair))


@once_a_build
def listed_documents(build: Build, pair: Pair) -> Output | None:
    """SITE_MATCHES of one source; None where the version has no site lists."""
    return site_matches(build, pair, documents(build, pair).open()) if pair.config.sites.configured else None


@once_a_build
def listed_words(build: Build, pair: Pair) -> Output | None:
    """LISTED_WORDS of one source; None where the version has no word lists."""
    if not pair.config.words.lists:
        return None
    return word_counts(build, pair, documents(build, pair).open(), counted_signals(build, pair).open())


@once_a_build
def documents_left_out(build: Build, pair: Pair) -> Output | None:
    """LEFT_OUT of one source: what is not in the version's sample; None where the version takes all documents."""
    if not pair.config.is_sample:
        return None
    texts = documents(build, pair).open()
    settings = {"permille": pair.config.sample_permille, "seed": pair.config.sample_seed}
    ident = identity(
        "left_out",
        sample_documents.CODE_VERSION,
        settings=settings,
        inputs={"documents": texts.digest},
        libraries=sample_documents.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        task = Task(f"{_STAGES}.sample_documents:left_out", settings)
        return build.engine.map_batches(texts.select("k", "doc_id"), task, Dest(folder, sample_documents.LEFT_OUT))

    return Output(build.layout, ident, sample_documents.LEFT_OUT, make, str(pair))


def _source_duplicates(
    build: Build, source: Dataset, sites: tuple[Dataset, ...], out: tuple[Dataset, ...], folder: Path
) -> Dataset:
    """Documents of one source whose text came before, cut like the source's shards; those in `sites` and in `out` left
    out.
    """
    fn = "site_verdicts:digest_rows_elsewhere" if sites else "exact_duplicates:digest_rows"
    task = Task(
        f"{_STAGES}.{'sample_documents:digest_rows_of_sample' if out else fn}",
        {"num_buckets": buckets_for(source.rows)},
        {shard.id: {"part": shard.id} for shard in source.shards},
    )
    rows = build.engine.map_batches(
        source.select("k", "crawl_date", "exact_digest"),
        task,
        Dest(folder / "digests", exact_duplicates.DIGEST_ROWS),
        sides=(*sites, *out),
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
    settings = {"shingle": near.shingle, "unit": near.shingle_unit, "seed": near.seed}
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
