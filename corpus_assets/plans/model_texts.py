"""The texts that models are trained on: a sample of documents of some sources, the same in every run.

They are the train rows that a version published, or what raw_fetch holds of its sources, normalized and measured as
every build does it (the same stage outputs). Val rows stay unseen by every model: of raw documents those leave whose
text is one of val as it stands. Of the sample, in the order of a hash of (seed, id), every HELD_OUT-th row is kept
apart to judge the model by. Equal texts come once; only a published version is free of near duplicates, so that of raw
documents some may lie on both sides.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.arrow import fixed_rows
from corpus_assets.kernels.exact_text import text_digests
from corpus_assets.plans.pinned import Build, Pair
from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.source_stages import counted_signals, documents
from corpus_assets.stages.split_documents import split_of_digests
from formats import corpus_shard, dataset
from formats.dataset import Dataset
from formats.errors import ConfigError

HELD_OUT = 5
_COLUMNS = ("id", "source_id", "lang", "split", "n_chars")
_MEASURED = ("exact_digest", "n_chars", "lang")


@dataclass(frozen=True)
class Candidates:
    """Documents to draw from: ids, languages, rows in their collection (ascending) and code points."""

    ids: pa.Array
    langs: pa.Array
    rows: np.ndarray
    chars: np.ndarray

    def of_lang(self, lang: str | None) -> "Candidates":
        if lang is None:
            return self
        mine = np.flatnonzero(pc.equal(self.langs, lang).to_numpy(zero_copy_only=False))
        at = pa.array(mine)
        return Candidates(self.ids.take(at), self.langs.take(at), self.rows[mine], self.chars[mine])


class Collection(Protocol):
    """Where documents are drawn from. `inputs` and `val_permille` (None: the split is stored) decide which they are."""

    @property
    def name(self) -> str: ...

    @property
    def sources(self) -> Sequence[str]: ...

    @property
    def inputs(self) -> Mapping[str, str]:
        """Digests of what it reads."""

    @property
    def val_permille(self) -> int | None: ...

    def candidates(self, sources: Sequence[str]) -> Candidates: ...

    def texts(self, rows: np.ndarray) -> pa.Array:
        """large_string of these rows, which ascend."""


@dataclass(frozen=True)
class ModelTexts:
    """Two large_string columns, and the languages of the second. `available` counts the documents that the sample was
    drawn from.
    """

    train: pa.Array
    held_out: pa.Array
    held_out_langs: pa.Array
    available: int


def draw(
    collection: Collection, sources: Sequence[str], *, lang: str | None = None, max_chars: int, seed: int
) -> ModelTexts:
    """Documents of these sources (and this language), as many as have `max_chars` code points together, at least one.

    Raises ConfigError for a source that the collection does not have, and where no row is left; CorruptDataError.
    """
    if unknown := sorted(set(sources) - set(collection.sources)):
        has = ", ".join(sorted(collection.sources))
        raise ConfigError(f"{collection.name} has no source {', '.join(unknown)}; it has {has}")
    found = collection.candidates(sources).of_lang(lang)
    if not len(found.ids):
        of_lang = f" in language {lang}" if lang else ""
        raise ConfigError(f"{collection.name} has no train documents{of_lang} of {', '.join(sorted(sources))}")
    order = np.lexsort((found.rows, _hashes(found.ids, seed)))
    chosen = order[: max(1, int(np.searchsorted(np.cumsum(found.chars[order]), max_chars, side="right")))]
    of_rows = np.sort(found.rows[chosen])
    texts = collection.texts(of_rows).take(pa.array(np.searchsorted(of_rows, found.rows[chosen])))
    held = np.arange(len(chosen)) % HELD_OUT == HELD_OUT - 1
    langs = found.langs.take(pa.array(chosen[held]))
    return ModelTexts(texts.filter(pa.array(~held)), texts.filter(pa.array(held)), langs, len(found.ids))


@dataclass(frozen=True)
class PublishedTexts:
    """The train rows of a published version."""

    version: PublishedVersion
    val_permille: None = None

    @property
    def name(self) -> str:
        return str(self.version.key)

    @property
    def sources(self) -> Sequence[str]:
        return sorted(self.version.rows)

    @property
    def inputs(self) -> Mapping[str, str]:
        return {f"manifest {self.version.key}": self.version.digest}

    def candidates(self, sources: Sequence[str]) -> Candidates:
        ids, langs = [pa.array([], pa.string())], [pa.array([], pa.string())]
        rows, chars = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        first = 0
        for entry in self.version.manifest["shards"]:
            for batch in corpus_shard.read_shard(self.version.folder, entry, columns=_COLUMNS):
                mine = pc.and_(pc.equal(batch.column("split"), "train"), _among(batch.column("source_id"), sources))
                at = np.flatnonzero(mine.to_numpy(zero_copy_only=False))
                some = batch.take(pa.array(at))
                ids.append(some.column("id"))
                langs.append(some.column("lang"))
                rows.append(first + at)
                chars.append(some.column("n_chars").to_numpy().astype(np.int64))
                first += batch.num_rows
        return Candidates(pa.concat_arrays(ids), pa.concat_arrays(langs), np.concatenate(rows), np.concatenate(chars))

    def texts(self, rows: np.ndarray) -> pa.Array:
        parts = []
        for entry in self.version.manifest["shards"]:
            shard = corpus_shard.read_shard(self.version.folder, entry, columns=("text",))
            parts.append((entry["rows"], shard))
        return _taken(parts, rows)


@dataclass(frozen=True)
class RawTexts:
    """Documents of sources of a version as raw_fetch holds them, normalized, before any rule; of each source its
    DOCUMENTS and its SIGNALS. Costs some 150 bytes a document.
    """

    name: str
    val_permille: int
    made: Mapping[str, tuple[Dataset, Dataset]]

    @property
    def sources(self) -> Sequence[str]:
        return sorted(self.made)

    @property
    def inputs(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for source, (texts, signals) in self.made.items():
            found |= {f"documents {source}": texts.digest, f"doc_signals {source}": signals.digest}
        return found

    def candidates(self, sources: Sequence[str]) -> Candidates:
        """Rows are counted over all sources, in the order of their names."""
        columns = [self._columns(source) for source in sorted(sources)]
        table = pa.concat_tables(columns)
        firsts = self._first_rows()
        rows = np.concatenate(
            [firsts[source] + np.arange(part.num_rows) for source, part in zip(sorted(sources), columns, strict=True)]
        )
        stays = pc.and_(pc.greater(table["n_chars"], 0), pc.equal(table["split"], "train"))
        at = np.flatnonzero(stays.to_numpy())
        digests = fixed_rows(table["exact_digest"].combine_chunks().take(pa.array(at)), np.uint64)
        _, once = np.unique(digests, axis=0, return_index=True)
        at = at[np.sort(once)]
        some = table.take(pa.array(at))
        ids, langs = (some[name].combine_chunks().cast(pa.string()) for name in ("id", "lang"))
        return Candidates(ids, langs, rows[at], some["n_chars"].to_numpy())

    def texts(self, rows: np.ndarray) -> pa.Array:
        parts = []
        for source in self.sources:
            shards = self.made[source][0].shards
            parts += [(shard.rows, dataset.read_shard(shard, columns=("text",))) for shard in shards]
        return _taken(parts, rows)

    def _first_rows(self) -> dict[str, int]:
        first, found = 0, {}
        for source in self.sources:
            found[source] = first
            first += self.made[source][0].rows
        return found

    def _columns(self, source: str) -> pa.Table:
        """Rows of the signals, which are in the order of the documents, with id and split."""
        texts, signals = self.made[source]
        measured = dataset.read_table(signals, columns=_MEASURED)
        named = dataset.read_table(texts, columns=("k", "text_digest"))
        id_of = pc.binary_join_element_wise(source, named["k"].cast(pa.string()), ":")
        digests = named["text_digest"].combine_chunks()
        split = split_of_digests(digests, self.val_permille)
        return measured.append_column("id", id_of).append_column("split", split)


def raw_texts(build: Build, pairs: Sequence[Pair]) -> RawTexts:
    """What raw_fetch holds of these pairs of one version, normalized and measured: the outputs that every build with
    these rows uses, made where they are not there.
    """
    made = {}
    for pair in pairs:
        texts = documents(build, pair).make()
        made[pair.key.source] = texts, counted_signals(build, pair).make()
    return RawTexts(str(pairs[0].key.version), pairs[0].config.val_permille, made)


def _among(column: pa.Array, sources: Sequence[str]) -> pa.Array:
    return pc.is_in(column, pa.array(sources, column.type))


def _hashes(ids: pa.Array, seed: int) -> np.ndarray:
    """uint64 of each id: the first bytes of the SHA-256 of `<seed>:<id>`, as a big-endian number."""
    named = pc.binary_join_element_wise(str(seed), ids, ":").cast(pa.large_string())
    return fixed_rows(text_digests(named), np.uint64)[:, 0].byteswap()


def _taken(parts: Iterable[tuple[int, Iterator[pa.RecordBatch]]], rows: np.ndarray) -> pa.Array:
    """The texts of these rows, which ascend, of shards given with their sizes; a shard without any is not read."""
    found = [pa.array([], pa.large_string())]
    first = 0
    for size, batches in parts:
        start, first = first, first + size
        if np.searchsorted(rows, start) == np.searchsorted(rows, first):
            continue
        for batch in batches:
            at = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + batch.num_rows)] - start
            found.append(batch.column("text").take(pa.array(at)).cast(pa.large_string()))
            start += batch.num_rows
    return pa.concat_arrays(found)
