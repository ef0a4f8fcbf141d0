"""Where the n-grams of a benchmark stand in a corpus: asked of its index, or looked for in its texts."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.fuse_filter import FuseFilter, contains
from corpus_assets.kernels.unicode_tables import case_version, unicode_version
from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.token_shards import corpus_rows
from corpus_assets.plans.work import Output, identity
from corpus_assets.stages import look_for_ngrams
from formats import dataset, durable
from formats.dataset import Dataset
from formats.errors import CorruptDataError
from formats.ngram_index import POSTINGS, NgramIndex, WordTables, part_of
from resources.engines.contract import Dest, Engine, Task

MAX_PLACES = 100
"""Places of one n-gram that are told, the first by document: some n-grams stand in a million documents."""
STAGE = "contamination"


@dataclass(frozen=True)
class Hits:
    """Places of n-grams, sorted by (hash, id, start). `places` is None where only `hashes`, those found, are known."""

    hashes: np.ndarray  # int64, ascending, each once
    places: pa.Table | None  # POSTINGS
    num_cut: int = 0
    """n-grams that stand in more places than are told."""


def of_index(index: NgramIndex, wanted: np.ndarray) -> Hits:
    """What the index says of these hashes (int64). Parts that hold none of them are not read.

    Raises CorruptDataError for a part that is not what the index says, and for an index of other word tables.
    """
    tables = WordTables(unicode_version(), case_version())
    if index.head.words != tables:
        todo = "ask with the release that made it"
        raise CorruptDataError(index.folder, "word tables", tables, index.head.words, todo)
    wanted = np.unique(np.asarray(wanted, np.int64))
    numbers = part_of(wanted, index.head.num_parts)
    asked = [(part, mine) for part in index.head.parts if (mine := wanted[numbers == part.number]).size]
    if index.head.form == "filter":
        found = [mine[contains(FuseFilter(**index.filter(part)), mine)] for part, mine in asked]
        return Hits(np.concatenate([np.empty(0, np.int64), *found]), None)
    tell = _Told()
    for part, mine in asked:
        for batch in index.postings(part):
            tell.add(batch.filter(pa.array(_among(batch.column("hash").to_numpy(), mine))))
    return tell.hits()


def of_texts(engine: Engine, version: PublishedVersion, widths: list[int], wanted: np.ndarray) -> Hits:
    """Where n-grams of these widths with one of these hashes stand in the published texts. What was looked for once is
    kept in the work folder. Cost: one reading of the corpus.
    """
    output = _looked_for(engine, version, widths, np.unique(np.asarray(wanted, np.int64)))
    tell = _Told()
    for batch in dataset.read(output.make()):
        tell.add(batch)
    return tell.hits()


def _looked_for(engine: Engine, version: PublishedVersion, widths: list[int], wanted: np.ndarray) -> Output:
    layout, source = version.layout, corpus_rows(version).select("id", "text")
    data = wanted.astype("<i8").tobytes()
    sha256 = hashlib.sha256(data).hexdigest()
    ident = identity(
        STAGE,
        look_for_ngrams.CODE_VERSION,
        settings={"widths": widths},
        inputs={"corpus": source.digest, "hashes": sha256},
        libraries=look_for_ngrams.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        path = folder / "hashes" / "wanted"
        durable.write_file(path, data)
        args = {"widths": widths, "path": str(path), "sha256": sha256}
        task = Task("corpus_assets.stages.look_for_ngrams:ngrams_looked_for", args)
        return engine.map_batches(source, task, Dest(folder, POSTINGS))

    return Output(layout, ident, POSTINGS, make, str(version.key))


def _among(hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """bool per hash; `wanted` ascends and is not empty."""
    at = np.minimum(np.searchsorted(wanted, hashes), wanted.size - 1)
    return wanted[at] == hashes


class _Told:
    """Places as they come, in any order of hashes; no more are kept of one n-gram than are told."""

    def __init__(self) -> None:
        self._kept = POSTINGS.empty_table()
        self._new: list[pa.RecordBatch] = []
        self._rows = 0
        self._cut: set[int] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        self._new.append(batch)
        self._rows += batch.num_rows
        if self._rows > max(1 << 20, self._kept.num_rows):
            self._cut_down()

    def hits(self) -> Hits:
        self._cut_down()
        return Hits(np.unique(self._kept["hash"].to_numpy()), self._kept, len(self._cut))

    def _cut_down(self) -> None:
        rows = pa.concat_tables([self._kept, pa.Table.from_batches(self._new, POSTINGS)])
        rows = rows.sort_by([("hash", "ascending"), ("id", "ascending"), ("start", "ascending")]).combine_chunks()
        hashes = rows["hash"].to_numpy()
        place = np.arange(len(hashes)) - np.searchsorted(hashes, hashes)
        self._cut.update(np.unique(hashes[place >= MAX_PLACES]).tolist())
        self._kept, self._new, self._rows = rows.filter(pa.array(place < MAX_PLACES)), [], 0
