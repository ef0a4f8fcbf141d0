"""The word lists of a version: pinned files, held to their format once, and how many listed words each document has."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.listed_words import MAX_WORDS
from corpus_assets.kernels.words import word_count
from corpus_assets.plans.pinned import Build, Pair, Version
from corpus_assets.plans.pinned_file import pinned_bytes
from corpus_assets.plans.site_rules import list_path
from corpus_assets.plans.work import Output, identity
from corpus_assets.stages import count_listed_words
from corpus_assets.stages.place_rows import make_ids
from formats import dataset, evidence_schemas, parquet_file
from formats.dataset import Dataset
from formats.layout import Layout
from formats.list_lines import Problems, plain_lines
from formats.list_rules import WordList
from formats.stage_tables import LISTED_WORDS, WORD_ENTRIES
from resources.engines.contract import Dest, Task

_MILLION = 1_000_000


def read_entries(layout: Layout, version: Version, one: WordList) -> pa.Table:
    """WORD_ENTRIES of a list. Raises ConfigError for a missing file, and for lines that are wrong, each by its number;
    CorruptDataError for a file that is not the one of the config.
    """
    path = list_path(layout, one)
    data = pinned_bytes(path, one.sha256, f"list {one.name}", layout.config(version.key))
    lines = plain_lines(data, path)
    numbers, entries = pa.array([n for n, _ in lines], pa.int64()), pa.array([t for _, t in lines], pa.large_string())
    problems = Problems(path)
    for (number, text), words in zip(lines, word_count(entries).to_pylist(), strict=True):
        if not 1 <= words <= MAX_WORDS:
            found = f"has {words} words" if words else "has no word"
            problems.add(number, f"{text[:60]!r} {found}, expected 1 to {MAX_WORDS}")
    problems.hold()
    return pa.table([numbers, entries], schema=WORD_ENTRIES)


def word_entries(build: Build, version: Version, one: WordList) -> Output:
    """WORD_ENTRIES of one list, one shard."""
    ident = identity(
        "word_entries",
        count_listed_words.CODE_VERSION,
        settings={},
        inputs={"list": one.sha256},
        libraries=count_listed_words.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        rows = read_entries(build.layout, version, one).to_batches()
        shard = dataset.write_shard(0, folder / "part.parquet", rows, WORD_ENTRIES, row_group_bytes=1 << 25)
        return Dataset(WORD_ENTRIES, (shard,))

    return Output(build.layout, ident, WORD_ENTRIES, make, str(version))


def word_counts(build: Build, pair: Pair, texts: Dataset, signals: Dataset) -> Output:
    """LISTED_WORDS of one source, cut like its documents `texts`; `signals` say the languages."""
    lists = pair.config.words.lists
    stored = [word_entries(build, pair.version, one).make() for one in lists]
    settings = [
        {"name": one.name, "lang": one.lang, "max_millionths": one.max_millionths, "min_words": one.min_words}
        for one in lists
    ]
    ident = identity(
        "listed_words",
        count_listed_words.CODE_VERSION,
        settings={"lists": settings},
        inputs={
            "documents": texts.digest,
            "doc_signals": signals.digest,
            **{f"list/{one.name}": entries.digest for one, entries in zip(lists, stored, strict=True)},
        },
        libraries=count_listed_words.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        paths = [str(parquet_file.verified(entries.shards[0])) for entries in stored]
        told = [{**rules, "path": path} for rules, path in zip(settings, paths, strict=True)]
        task = Task("corpus_assets.stages.count_listed_words:count_listed_words", {"lists": told})
        sides = (signals.select("k", "lang"),)
        return build.engine.map_batches(texts.select("k", "text"), task, Dest(folder, LISTED_WORDS), sides=sides)

    return Output(build.layout, ident, LISTED_WORDS, make, str(pair))


def listed_words(found: list[tuple[Pair, Dataset]]) -> Iterator[pa.RecordBatch]:
    """The evidence's rows of the LISTED_WORDS of all sources: sources by name, then by k and list."""
    for pair, words in found:
        for batch in dataset.read(words):
            listed, counted = batch.column("listed_words"), batch.column("n_words")
            columns = [
                make_ids(pair.row.source_id, batch.column("k")),
                *(batch.column(name) for name in ("list", "listed_words", "n_words")),
                pc.divide(pc.multiply(listed, _MILLION), counted),
                batch.column("too_many"),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=evidence_schemas.LISTED_WORDS)
