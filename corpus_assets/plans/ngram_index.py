"""The n-gram index of a published version: made of its shards, kept in its evidence, pinned by its snapshots.

Two engine steps: the sampled n-grams of every shard, then a sort by hash into parts. Cost: one reading of the texts,
and a sort of one row an n-gram that is kept.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.unicode_tables import case_version, unicode_version
from corpus_assets.plans.pinned import Build
from corpus_assets.plans.published_version import PublishedVersion, open_published
from corpus_assets.plans.token_shards import corpus_rows
from corpus_assets.plans.work import Output, buckets_for, identity
from corpus_assets.stages import index_ngrams
from formats import durable, evidence, ngram_index, parquet_file
from formats.corpus_config import CorpusConfig
from formats.dataset import Dataset
from formats.errors import ConfigError
from formats.naming import VersionKey
from formats.ngram_index import FOLDER, NAME_ON_DISK, Head, NgramIndex, Part, WordTables
from formats.parquet_file import Shard
from formats.reasons import Reason
from resources.engines.contract import Dest, Task

HEAD = f"{FOLDER}/{NAME_ON_DISK}"
NOT_KEPT = "none"
"""The form of a version that keeps no index, and the data version of what is not there."""
_STAGE = "corpus_assets.stages.index_ngrams"
STEPS: dict[str, tuple[str, pa.Schema, tuple[str, ...]]] = {
    "postings": ("sampled_ngrams", index_ngrams.INDEXED, ("hash", "id", "start")),
    "filter": ("sampled_hashes", index_ngrams.HASHED, ("hash",)),
}
"""Form -> what a shard gives, its columns, and the order of the parts."""


def indexed_parts(build: Build, version: PublishedVersion, config: CorpusConfig) -> Output:
    """The parts of the index, in the form that the config asks for."""
    form, rate = config.ngram_index.form, config.ngram_index.rate
    source = corpus_rows(version).select("id", "text")
    settings = {
        "ngram": config.decontaminate.ngram,
        "rate": rate,
        "num_parts": buckets_for(_words_kept(version) // rate),
    }
    ident = identity(
        FOLDER,
        index_ngrams.CODE_VERSION,
        settings={**settings, "form": form},
        inputs={"corpus": source.digest},
        libraries=index_ngrams.LIBRARIES,
    )

    first, columns, keys = STEPS[form]

    def make(folder: Path) -> Dataset:
        ngrams = build.engine.map_batches(source, Task(f"{_STAGE}:{first}", settings), Dest(folder / "steps", columns))
        dest = Dest(
            folder,
            ngram_index.SCHEMAS[form],
            writer="formats.ngram_index:write_part",
            name=ngram_index.PART_PATTERN,
        )
        return build.engine.sort_reduce(ngrams, Task(f"{_STAGE}:as_{form}"), dest, bucket="part", keys=keys)

    return Output(build.layout, ident, ngram_index.SCHEMAS[form], make, str(version.key))


def write_ngram_index(build: Build, key: VersionKey) -> NgramIndex | None:
    """Make the index of a published version and seal it with the evidence; None where its config asks for none. What is
    there already with the same bytes is left alone.

    Raises ConfigError for a version that is not published, CorruptDataError for files that changed since.
    """
    layout = build.layout
    version = open_published(layout, key)
    config = version.config()
    if config.ngram_index.form == NOT_KEPT:
        return None
    output = indexed_parts(build, version, config)
    parts = output.make()
    data = ngram_index.to_bytes(_head(version, config, parts, output.identity.settings["num_parts"]))
    with durable.one_at_a_time(layout.work("locks", str(key))):
        version = open_published(layout, key)
        folder = version.evidence / FOLDER
        durable.restore_folder(folder)
        entries = {f"{FOLDER}/{Path(part.path).name}": part for part in parts.shards}
        written: dict[str, bytes | Shard] = {HEAD: data, **entries}
        wanted = {name: evidence.entry_of(one) for name, one in written.items()}
        sealed = {name: dict(entry) for name, entry in version.sealed.items()}
        others = {name: entry for name, entry in sealed.items() if not name.startswith(f"{FOLDER}/")}
        if sealed != {**others, **wanted} or not _lies_there(version.evidence, wanted):
            _fill(folder, parts.shards, data)
            evidence.seal(version.evidence, {**others, **wanted})
    return ngram_index.read(folder, wanted[HEAD]["sha256"])


def pinned(version: PublishedVersion) -> dict[str, str]:
    """What the stage versions of a snapshot say of the version's index: nothing where its config asks for none, so that
    such a snapshot is what it was. Raises ConfigError where an index is asked for and was not made yet.
    """
    if version.config().ngram_index.form == NOT_KEPT:
        return {}
    if HEAD not in version.sealed:
        raise ConfigError(
            f"ngram_index of {version.key} is not materialized, and its config asks for one; run `corpus build "
            f"{version.key}`, which makes it"
        )
    return {FOLDER: str(version.sealed[HEAD]["sha256"])}


def _words_kept(version: PublishedVersion) -> int:
    """Words of the published documents, as they were measured: only decides into how many parts the index is cut."""
    words = 0
    for batch in evidence.read(version.evidence, "documents", columns=["verdict", "n_words"]):
        kept = batch.filter(pc.equal(batch.column("verdict"), Reason.KEPT.value))
        words += pc.sum(kept.column("n_words")).as_py() or 0
    return words


def _head(version: PublishedVersion, config: CorpusConfig, parts: Dataset, num_parts: int) -> Head:
    is_filter = config.ngram_index.form == "filter"
    return Head(
        format=ngram_index.FORMAT,
        version=ngram_index.VERSION,
        dataset=version.key.dataset,
        corpus_version=version.key.version,
        corpus_manifest_sha256=version.digest,
        form=config.ngram_index.form,
        ngram=config.decontaminate.ngram,
        min_item_words=config.decontaminate.min_item_words,
        rate=config.ngram_index.rate,
        words=WordTables(unicode_version(), case_version()),
        documents=version.manifest["n_docs"],
        ngrams=parts.notes.get("ngrams", 0) if is_filter else parts.rows,
        distinct=parts.notes.get("distinct", 0),
        num_parts=num_parts,
        parts=tuple(Part(shard.id, shard.rows, shard.num_bytes, shard.sha256) for shard in parts.shards),
    )


def _lies_there(folder: Path, wanted: Mapping[str, Mapping[str, Any]]) -> bool:
    return all(
        (path := folder / name).is_file()
        and path.stat().st_size == entry["bytes"]
        and durable.sha256_of(path) == entry["sha256"]
        for name, entry in wanted.items()
    )


def _fill(folder: Path, parts: tuple[Shard, ...], head: bytes) -> None:
    """Put the folder there whole; the seal over it comes after."""
    temporary = folder.with_name(f"{folder.name}.tmp")
    temporary.mkdir()
    for part in parts:
        durable.link_or_copy(parquet_file.verified(part), temporary / Path(part.path).name)
    durable.write_file(temporary / NAME_ON_DISK, head)
    durable.swap_folder(temporary, folder)
