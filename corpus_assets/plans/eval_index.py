"""The index of protected items that a version is decontaminated against, made once for the same eval sets."""

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpus_assets.kernels.ngram_match import EvalIndex
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.pinned import Build, Version, once_a_build
from corpus_assets.plans.pinned_file import pinned_bytes
from corpus_assets.plans.work import identity, may_make
from corpus_assets.records import parquet_rows
from corpus_assets.stages import decontaminate, eval_items
from corpus_assets.stages.eval_items import EvalCounts, EvalText, Row
from formats import canonical, durable
from formats.benchmark_rules import EvalSet
from formats.compressed import Budget, open_stream
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError, CorruptDataError, NotMadeError
from formats.layout import Layout
from formats.naming import VersionKey


@dataclass(frozen=True)
class StoredIndex:
    """Where the index lies; `digest` names what it protects."""

    path: Path
    digest: str


def eval_set_path(layout: Layout, eval_set: EvalSet) -> Path:
    """Where the eval set lies: its path as written, or relative to the artifacts root."""
    return layout.root / eval_set.path


def index_path(layout: Layout, version: Version) -> Path:
    """Where the index of the version's eval sets lies once it is made."""
    rules = version.config.decontaminate
    ident = identity(
        "eval_index",
        f"{eval_items.CODE_VERSION}.{decontaminate.CODE_VERSION}",
        settings={
            "ngram": rules.ngram,
            "min_item_words": rules.min_item_words,
            "exempt": list(rules.exempt),
            "fields": {one.name: [one.format, *one.fields] for one in rules.eval_sets},
        },
        inputs={one.name: one.sha256 for one in rules.eval_sets},
        libraries=eval_items.LIBRARIES,
    )
    return layout.work("eval_index", f"{ident.digest}.index")


@once_a_build
def eval_index(build: Build, version: Version) -> StoredIndex:
    """The stored index of the version's eval sets, and its counts; made when they are not there yet. Within
    `nothing_is_made`: raises NotMadeError then.
    """
    path = index_path(build.layout, version)
    if not (path.exists() and counts_path(path).exists()):
        if not may_make():
            raise NotMadeError(f"{path}: the index of eval sets of {version} is not made; materialize scrubbed_docs")
        index, counts = build_index(build.layout, version.config)
        durable.write_file(counts_path(path), _counts_to_bytes([asdict(one) for one in counts]))
        durable.write_file(path, index.to_bytes())
    return StoredIndex(path, EvalIndex.from_bytes(path.read_bytes(), path).digest)


def build_index(layout: Layout, config: CorpusConfig) -> tuple[EvalIndex, tuple[EvalCounts, ...]]:
    """The index of the eval sets as they lie on disk, each with the digest of the config; counts by set.

    Raises ConfigError for a set that would protect nothing, unless a person exempted what is in it.
    """
    rules, written = config.decontaminate, layout.config(VersionKey(config.dataset, config.version))
    texts: list[EvalText] = []
    num_rows = Counter[str]()
    for eval_set in rules.eval_sets:
        path = eval_set_path(layout, eval_set)
        data = pinned_bytes(path, eval_set.sha256, f"eval set {eval_set.name}", written)
        try:
            rows = _counted(_rows(eval_set, data, str(path)), num_rows, eval_set.name)
            texts.extend(eval_items.texts_of(eval_set, rows, str(path)))
        except CorruptDataError as error:  # of the file that was entered: its hash is right
            todo = f"correct fields or format of eval set {eval_set.name}, or enter another file, in {written}"
            raise type(error)(error.path, error.field, error.expected, error.found, todo) from None
    index, counts = eval_items.build_index(texts, rules)
    for eval_set, one in zip(rules.eval_sets, counts, strict=True):
        if not (one.whole or one.cut or one.exempt):
            why = _why_nothing(eval_set, one, num_rows[eval_set.name], rules.min_item_words)
            raise ConfigError(
                f"{eval_set_path(layout, eval_set)}: eval set {eval_set.name} protects nothing: {why}; correct its "
                f"fields or its file, or leave the set out, in {written}"
            )
    return index, counts


def _why_nothing(eval_set: EvalSet, counts: EvalCounts, num_rows: int, min_words: int) -> str:
    fields = f"{'field' if len(eval_set.fields) == 1 else 'fields'} {', '.join(eval_set.fields)}"
    if not num_rows:
        return "the file has no item"
    if not counts.texts:
        return f"none of its {plural(num_rows, 'item')} has a text in {fields}"
    short = f"fewer than {min_words} words (decontaminate.min_item_words)"
    return f"{plural(num_rows, 'item')}, {plural(counts.texts, 'text')} in {fields}, each of {short}"


def _counted(rows: Iterable[Row], tally: Counter[str], name: str) -> Iterator[Row]:
    for row in rows:
        tally[name] += 1
        yield row


def _rows(eval_set: EvalSet, data: bytes, name: str) -> Iterator[Row]:
    if eval_set.format != "parquet":
        return eval_items.read_rows(eval_set.format, io.BytesIO(data), name)
    with open_stream(io.BytesIO(data), name, budget=Budget(max_bytes=eval_items.MAX_BYTES)) as file:
        return parquet_rows.rows(file.read(), name, eval_set.fields)


def eval_counts(index: StoredIndex) -> list[dict[str, Any]]:
    """What became of each eval set's texts: exempt, too short to protect, matched whole, cut into n-grams. They are
    published, so they are held to their digest. Raises CorruptDataError.
    """
    path = counts_path(index.path)
    todo = "delete the file and build the version again"
    stored = durable.json_of(path, todo)
    try:
        counts, said = stored["counts"], stored["sha256"]
    except (KeyError, TypeError) as error:
        raise CorruptDataError(path, "content", "counts and their sha256", repr(error), todo) from None
    if (found := canonical.digest(counts)) != said:
        raise CorruptDataError(path, "sha256 of counts", said, found, todo)
    return counts


def _counts_to_bytes(counts: list[dict[str, Any]]) -> bytes:
    return canonical.to_bytes({"counts": counts, "sha256": canonical.digest(counts)})


def counts_path(path: Path) -> Path:
    """Where the counts of the index at `path` lie."""
    return path.with_suffix(".counts.json")
