"""The evidence of a version: gathered from its stages, written beside the shards, sealed."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_assets.plans import published_version, word_rules
from corpus_assets.plans import raw_set as raw_sets
from corpus_assets.plans.clusters import dedup_clusters
from corpus_assets.plans.domain_caps import capped_documents
from corpus_assets.plans.eval_index import eval_counts, eval_index
from corpus_assets.plans.evidence_tables import cluster_rows, file_rows, lineage_rows
from corpus_assets.plans.extraction_errors import extraction_rows
from corpus_assets.plans.funnel import Funnel, count
from corpus_assets.plans.keepers import ranks, shards_of
from corpus_assets.plans.mixed_texts import mixed_rows, mixed_texts
from corpus_assets.plans.near_edges import edges
from corpus_assets.plans.near_items import near_items, near_rows
from corpus_assets.plans.pinned import Build, Pair, Version, once_a_build
from corpus_assets.plans.placement import over_caps, placed_rows, scrubbed_version, withheld
from corpus_assets.plans.site_rules import listed_sites
from corpus_assets.plans.source_stages import (
    all_rules,
    documents,
    listed_documents,
    listed_words,
    measuring,
    signals,
    signals_schema,
    verdicts,
)
from corpus_assets.plans.work import Output, identity
from corpus_assets.stages import document_evidence, domain_caps
from corpus_assets.validation import corpus_config as config_files
from formats import canonical, dataset, durable, evidence_schemas, ledger, parquet_file
from formats import evidence as evidence_files
from formats.dataset import Dataset
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.parquet_file import Shard
from formats.raw_set import RawSet
from resources.engines.contract import Dest, Task


@dataclass(frozen=True)
class Evidence:
    """What will be published as evidence; `made_of` names every input, so equal ones need no second publication."""

    outcomes: Dataset
    funnel: Funnel
    raw: list[RawSet]
    made_of: dict[str, Any]


@once_a_build
def outcomes(build: Build, pairs: list[Pair]) -> Output:
    """One evidence row a raw document of the version, cut like its documents."""
    schema = evidence_schemas.documents_with(signals_schema(pairs[0].config).names)
    texts = dataset.concat([documents(build, pair).open() for pair in pairs])
    sides = {
        "doc_signals": dataset.concat([signals(build, pair).open() for pair in pairs]),
        "filtered_docs": dataset.concat([verdicts(build, pair).open() for pair in pairs]),
        "dedup_clusters": dedup_clusters(build, pairs).open(),
        "scrubbed_docs": scrubbed_version(build, pairs),
        "withheld": withheld(build, pairs).open(),
        "placed_rows": placed_rows(build, pairs).open(),
    }
    cap, more = over_caps(build, pairs), ""
    if cap:
        sides["domain_caps"], more = cap.open(), f".{domain_caps.CODE_VERSION}"
    ident = identity(
        "outcomes",
        f"{document_evidence.CODE_VERSION}{more}",
        settings={"shard_rows": pairs[0].config.shard_rows, "sources": [pair.row.source_id for pair in pairs]},
        inputs={"documents": texts.digest, **{name: side.digest for name, side in sides.items()}},
        libraries=("pyarrow", "numpy"),
    )

    def make(folder: Path) -> Dataset:
        per_shard = {}
        for pair, mine in zip(pairs, shards_of(build, pairs), strict=True):
            sizes = [shard.rows for shard in texts.shards if shard.id in mine]
            first_ks = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(int).tolist() if sizes else []
            for shard in mine:
                per_shard[shard] = {"source_id": pair.row.source_id, "first_ks": first_ks}
        fn = "domain_caps:evidence_within_caps" if cap else "document_evidence:document_evidence"
        task = Task(
            f"corpus_assets.stages.{fn}",
            {"shard_rows": pairs[0].config.shard_rows},
            per_shard,
        )
        without_text = texts.select(*(name for name in texts.schema.names if name != "text"))
        scrubs = sides["scrubbed_docs"]
        sides["scrubbed_docs"] = scrubs.select(*(name for name in scrubs.schema.names if name != "text"))
        writer = "formats.dataset:write_lasting_shard"  # they stay as part of the evidence
        dest = Dest(folder, schema, writer=writer, name=evidence_files.PART_PATTERN)
        return build.engine.map_batches(without_text, task, dest, sides=tuple(sides.values()))

    return Output(build.layout, ident, schema, make, str(pairs[0].version))


def gather(build: Build, pairs: list[Pair]) -> Evidence:
    """Everything the evidence will hold, from stored stage outputs."""
    withheld(build, pairs).make()
    placed_rows(build, pairs).make()
    told = outcomes(build, pairs)
    rows = told.make()
    raw = [raw_sets.find_raw_set(build.layout, pair.row, pair.config.extract) for pair in pairs]
    made_of = {
        "config_sha256": pairs[0].config.config_sha256,
        "ledger_rows": {pair.row.source_id: pair.row.digest for pair in pairs},
        "raw_sets": {one.source_id: one.digest for one in raw},
        "outcomes": told.identity.as_json(),
        "stages": _stage_identities(build, pairs),
    }
    return Evidence(rows, count(raw, rows), raw, made_of)


def _stage_identities(build: Build, pairs: list[Pair]) -> dict[str, Any]:
    """The identity of every stage that the version's bytes come from."""
    by_source = {
        pair.row.source_id: {
            output.identity.stage: output.identity.as_json()
            for output in (*measuring(build, pair), verdicts(build, pair), *_optional(build, pairs, pair))
        }
        for pair in pairs
    }
    whole = [ranks(build, pairs), edges(build, pairs), dedup_clusters(build, pairs), placed_rows(build, pairs)]
    whole += [cap] if (cap := over_caps(build, pairs)) else []
    return {"sources": by_source, "version": {output.identity.stage: output.identity.as_json() for output in whole}}


def _optional(build: Build, pairs: list[Pair], pair: Pair) -> list[Output]:
    """The stages of a source that only some configs ask for."""
    beside = (listed_documents, listed_words, mixed_texts)
    some = (*(stage(build, pair) for stage in beside), near_items(build, pairs, pair))
    return [output for output in some if output]


def is_of(layout: Layout, key: VersionKey, evidence: Evidence) -> bool:
    """Whether evidence of the same inputs is published, each file with the bytes that were sealed."""
    folder = layout.evidence(key)
    try:
        sealed = evidence_files.read_seal(folder)
        for name, entry in sealed.items():
            evidence_files.verified(folder, name, entry)
        return evidence_files.STAGE_VERSIONS in sealed and (
            durable.json_of(folder / evidence_files.STAGE_VERSIONS) == evidence.made_of
        )
    except CorruptDataError:  # what is missing or damaged is written again, whole
        return False


def write(build: Build, pairs: list[Pair], evidence: Evidence, shards: Dataset) -> None:
    """Write and seal the evidence folder whole, in place of an older one; `shards` are those to be published, with the
    bytes of their text by source as notes. Raises ConfigError when the config changed since the version was loaded.
    """
    out = build.layout.evidence(pairs[0].version.key)
    temporary = out.with_name(out.name + ".tmp")
    try:
        _fill(temporary, build, pairs, evidence, shards)
        durable.swap_folder(temporary, out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _fill(temporary: Path, build: Build, pairs: list[Pair], evidence: Evidence, shards: Dataset) -> None:
    parts = _write_documents(temporary / "documents", evidence)
    written: dict[str, Shard | bytes] = {f"documents/{Path(part.path).name}": part for part in parts}
    for name, rows in _tables(build, pairs, evidence):
        table = evidence_files.write(temporary, name, rows)
        written[Path(table.path).name] = table
    files = {
        evidence_files.STAGE_VERSIONS: evidence_files.json_bytes(evidence.made_of),
        evidence_files.COUNTS: evidence_files.json_bytes(_counts(build, pairs, evidence, shards)),
        evidence_files.LEDGER_ROWS: b"".join(canonical.to_bytes(ledger.to_json(pair.row)) + b"\n" for pair in pairs),
        published_version.CONFIG_COPY: build.layout.config(pairs[0].version.key).read_bytes(),
    }
    for name, data in files.items():
        durable.write_file(temporary / name, data)
        written[name] = data
    _hold_config(build.layout, pairs[0].version, temporary / published_version.CONFIG_COPY)
    evidence_files.seal(temporary, {name: evidence_files.entry_of(content) for name, content in written.items()})


def _tables(build: Build, pairs: list[Pair], evidence: Evidence) -> Iterator[tuple[str, Iterable[pa.RecordBatch]]]:
    """(name, rows) of every table but `documents`; one that few versions have stands only where it has something."""
    config = pairs[0].config
    yield "files", [file_rows(evidence.raw, evidence.outcomes)]
    yield "clusters", [cluster_rows(build, pairs)]
    yield "lineage", [lineage_rows(pairs, evidence.outcomes)]
    if cap := over_caps(build, pairs):
        yield "capped_documents", capped_documents(build, pairs, cap.open())
    if config.words.lists:
        yield "listed_words", word_rules.listed_words(_opened(build, pairs, listed_words))
    if config.sites.configured:
        yield "listed_sites", listed_sites(build, _opened(build, pairs, listed_documents))
    if mixed := [(pair, stage.make()) for pair in pairs if (stage := mixed_texts(build, pair))]:
        yield "mixed_languages", mixed_rows(mixed)
    if near := near_rows(build, pairs):
        yield "near_items", near
    if any(raw.judged for raw in evidence.raw):
        yield "extraction", extraction_rows(evidence.raw)


def _opened(
    build: Build, pairs: list[Pair], stage_of: Callable[[Build, Pair], Output | None]
) -> list[tuple[Pair, Dataset]]:
    return [(pair, stage.open()) for pair in pairs if (stage := stage_of(build, pair))]


def _counts(build: Build, pairs: list[Pair], evidence: Evidence, shards: Dataset) -> dict[str, Any]:
    notes = edges(build, pairs).open().notes
    sets = eval_counts(eval_index(build, pairs[0].version))
    rules = {pair.row.source_id: all_rules(pair) for pair in pairs}
    return {
        **evidence.funnel.as_json(),
        "near_duplicates": notes,
        "eval_sets": sets,
        "rules": rules,
        "not_configured": [] if pairs[0].config.ppl else ["ppl"],
        "shard_bytes": shards.num_bytes,
        evidence_files.TEXT_BYTES: {pair.row.source_id: shards.notes.get(pair.row.source_id, 0) for pair in pairs},
    }


def _write_documents(folder: Path, evidence: Evidence) -> list[Shard]:
    """The parts of the table `documents`: the stage's files under a second name."""
    folder.mkdir(parents=True)
    parts = list(evidence.outcomes.shards)
    for part in parts:
        durable.link_or_copy(parquet_file.verified(part), folder / Path(part.path).name)
    if not parts:  # without one raw document the table is there, too
        empty, groups = folder / evidence_files.PART_PATTERN.format(id=0), dataset.DEFAULT_ROW_GROUP_BYTES
        parts = [dataset.write_lasting_shard(0, empty, [], evidence.outcomes.schema, row_group_bytes=groups)]
    durable.fsync_folder(folder)
    return parts


def _hold_config(layout: Layout, version: Version, copy: Path) -> None:
    """Raises ConfigError when the config, of which this is a copy, changed while its version was built."""
    path, then = layout.config(version.key), version.config.config_sha256
    try:
        now = config_files.load(copy, version.key).config_sha256
    except ConfigError as error:
        now = f"none that is valid ({str(error).removeprefix(f'{copy}: ')})"
    if now != then:
        raise ConfigError(
            f"{path}: changed while {version} was built: config_sha256 was {then}, now it is {now}; nothing was "
            "published: put the file back, or run again to build what it says now"
        )
