"""A benchmark as a file: its items, the texts in them, and the n-grams by which they are looked for in a corpus."""

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.exact_text import normalize
from corpus_assets.kernels.ngram_places import ngram_places
from corpus_assets.kernels.option_markers import lists_without_markers
from corpus_assets.kernels.words import word_count
from corpus_assets.records import parquet_rows
from corpus_assets.stages import benchmark_lines, eval_items
from corpus_assets.stages.eval_items import EvalText
from formats.compressed import Budget, open_stream
from formats.errors import ConfigError, CorruptDataError
from formats.json_words import described

_FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_COMPRESSED = (".gz", ".zst", ".lz4", ".bz2")
_ID = "id"
"""The field by which benchmarks name their items."""
_MAX_NAMED = 20
"""Fields that are listed where one is asked for that is not there."""


@dataclass(frozen=True)
class ItemName:
    """How a person finds an item: the line of the file in which it begins (of Parquet its row), from 1, and its
    field `id`, if it has one. `lacks`: how many of the fields that were named it does not have.
    """

    line: int
    id: str | int | None
    lacks: int


@dataclass(frozen=True, eq=False)
class Benchmark:
    """`data` is the file without compression; `items` are by number: their line (jsonl) or row, from 0, as in
    eval sets. `column` has the texts normalized, `words` how many each has; `unmarked` those with a list of options
    without its markers, `unmarked_of` the numbers of these texts.
    """

    path: Path
    sha256: str
    format: str
    fields: tuple[str, ...]
    data: bytes
    items: Mapping[int, ItemName]
    texts: tuple[EvalText, ...]
    column: pa.Array
    words: np.ndarray
    unmarked: pa.Array
    unmarked_of: np.ndarray

    @property
    def num_items(self) -> int:
        return len(self.items)

    @property
    def num_without_field(self) -> int:
        """Items that have none of the fields that were named: nothing of them is looked for."""
        return sum(0 < len(self.fields) == item.lacks for item in self.items.values())

    @property
    def num_with_some_fields(self) -> int:
        """Items that have some of the fields that were named, and lack others."""
        return sum(0 < item.lacks < len(self.fields) for item in self.items.values())

    @property
    def item_of(self) -> np.ndarray:
        """int64: the item of each text."""
        return np.array([text.item for text in self.texts], np.int64)


@dataclass(frozen=True)
class Grams:
    """The n-grams of a benchmark by hash (int64, ascending): `text` is the number of the text, [start, end) counts code
    points of it, normalized.
    """

    hash: np.ndarray
    text: np.ndarray
    start: np.ndarray
    end: np.ndarray


def read(path: Path, fields: Sequence[str] = ()) -> Benchmark:
    """The benchmark in a file, compressed or not. Without `fields` every text of an item counts.

    Raises ConfigError for a file that cannot be opened, whose name says no format or which is not of its format (it
    says the line), and for a field that no item has.
    """
    form = format_of(path)
    try:
        stored = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); name the benchmark's file") from None
    data = _unpacked(path, stored)
    items, texts, present = {}, [], dict[str, None]()
    for item in _parquet_items(data, path) if form == "parquet" else benchmark_lines.items(data, form, str(path)):
        items[item.number] = _name(item, fields)
        present |= dict.fromkeys(item.row)
        for field in fields or item.row:
            for at, text in eval_items.strings_in(field, item.row.get(field)):
                texts.append(EvalText("benchmark", item.number, at, text))
    if items and (unknown := [field for field in fields if field not in present]):
        there = ", ".join(described(name) for name in [*present][:_MAX_NAMED]) or "none"
        raise ConfigError(f"{path}: no item has a field {described(unknown[0])}; its fields are {there}; name of these")
    column = normalize(pa.array([text.text for text in texts], pa.large_string()))
    lists, unmarked = lists_without_markers(column)
    return Benchmark(
        path=path,
        sha256=hashlib.sha256(stored).hexdigest(),
        format=form,
        fields=tuple(fields),
        data=data,
        items=items,
        texts=tuple(texts),
        column=column,
        words=word_count(column).to_numpy(),
        unmarked=unmarked,
        unmarked_of=lists,
    )


def _parquet_items(data: bytes, path: Path) -> Iterator[benchmark_lines.Item]:
    try:
        for number, _, row in parquet_rows.rows(data, str(path), also=(_ID,)):
            yield benchmark_lines.Item(number, number + 1, row)
    except CorruptDataError as error:
        raise ConfigError(f"{path}: {error.field} is {error.found}, expected {error.expected}; mend it") from None


def without(benchmark: Benchmark, is_out: Callable[[int], bool]) -> bytes:
    """The benchmark's file, not compressed, without the items that are out: every other byte stays, of a Parquet file
    every other row, with its schema.
    """
    if benchmark.format == "parquet":
        return parquet_rows.without(benchmark.data, str(benchmark.path), is_out)
    return benchmark_lines.without(benchmark.data, benchmark.format, is_out)


def _unpacked(path: Path, stored: bytes) -> bytes:
    try:
        with open_stream(io.BytesIO(stored), str(path), budget=Budget(max_bytes=eval_items.MAX_BYTES)) as file:
            return file.read()
    except CorruptDataError as error:
        what = f"its {error.field} is {error.found}, expected {error.expected}"
        raise ConfigError(f"{path}: {what}; get the whole file again, plain or with gzip or zstd") from None


def _name(item: benchmark_lines.Item, fields: Sequence[str]) -> ItemName:
    found = item.row.get(_ID)
    id = found if type(found) is int else next((text for _, text in eval_items.strings_in(_ID, found)), None)
    return ItemName(item.line, None if isinstance(found, list | dict) else id, sum(f not in item.row for f in fields))


def grams(benchmark: Benchmark, ngram: int, *, rate: int = 1, whole_from: int | None = None) -> Grams:
    """The n-grams that an index of this rate holds, of texts of `ngram` words or more; and with `whole_from` each
    shorter text from so many words on, as a whole. Of a text with a list of options also without its markers.
    """
    ways = (benchmark.column, np.arange(len(benchmark.column))), (benchmark.unmarked, benchmark.unmarked_of)
    found = []
    for column, text_of in ways:
        places = ngram_places(column, [ngram], rate=rate, whole_from=whole_from)
        found.append(np.stack([places.hash, text_of[places.row], places.start, places.start + places.length]))
    return Grams(*np.unique(np.concatenate(found, axis=1), axis=1))


def is_compressed(path: Path) -> bool:
    """Whether a file's name says so."""
    return path.suffix.lower() in _COMPRESSED


def format_of(path: Path) -> str:
    """The format that a file's name says. Raises ConfigError where it says none."""
    name = Path(path.stem) if is_compressed(path) else path
    if (suffix := name.suffix.lower()) not in _FORMATS:
        raise ConfigError(
            f"{path}: its name says no format; expected .jsonl (one item a line), .csv or .parquet, perhaps with "
            ".gz or .zst"
        )
    return _FORMATS[suffix]
