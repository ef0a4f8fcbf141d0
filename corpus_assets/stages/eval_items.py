"""Eval sets -> the index of what they protect. Each text of a protected field stands alone, never joined to another."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.exact_text import normalize
from corpus_assets.kernels.ngram_match import EvalIndex, make_index
from corpus_assets.kernels.option_markers import lists_without_markers
from corpus_assets.kernels.words import word_count
from formats.benchmark_rules import DecontaminationRules, EvalSet
from formats.compressed import Budget, open_stream
from formats.errors import ConfigError, CorruptDataError

CODE_VERSION = "2"
LIBRARIES = ("pyarrow", "unicodedata2")

MAX_BYTES = 1 << 32
Row = tuple[int, str, dict[str, Any]]
"""The item, by its position in the file from 0; where that is, for people, who count from 1; its fields."""
_TODO = "mend the file, or correct path, format and sha256 of the eval set"


@dataclass(frozen=True)
class EvalText:
    """One protected text: `item` is its row's position in the file, from 0; `field` says where in the row it is."""

    eval_set: str
    item: int
    field: str
    text: str


@dataclass(frozen=True)
class EvalCounts:
    """What became of a set's texts: texts = exempt + too_short + whole + cut. `whole` texts match as a whole only,
    `cut` ones by every n-gram; `too_short` ones protect nothing.
    """

    eval_set: str
    items: int
    texts: int
    exempt: int
    too_short: int
    whole: int
    cut: int


def read_rows(format: str, stream: BinaryIO, name: str) -> Iterator[Row]:
    """The rows of a file of JSON lines or CSV, compressed or not. `name` goes into errors. Raises CorruptDataError for
    a file that cannot be read to its end.
    """
    with open_stream(stream, name, budget=Budget(max_bytes=MAX_BYTES)) as file:
        yield from _json_rows(file.read(), name) if format == "jsonl" else _csv_rows(file.read(), name)


def texts_of(eval_set: EvalSet, rows: Iterable[Row], name: str) -> Iterator[EvalText]:
    """The texts of the set's fields in rows of its file; without fields every one of a row is read.

    A field may hold lists and objects: each string in it is a text (`choices.0`), other values are none. Raises
    CorruptDataError for a row without one of the fields.
    """
    for item, where, row in rows:
        for field in eval_set.fields or row:
            if field not in row:
                raise CorruptDataError(name, f"{where}, fields", field, ", ".join(row) or "none", _TODO)
            for at, text in strings_in(field, row[field]):
                yield EvalText(eval_set.name, item, at, text)


def _json_rows(data: bytes, name: str) -> Iterator[Row]:
    """Each line that is not blank."""
    for number, line in enumerate(data.split(b"\n")):
        where = f"line {number + 1} (counted from 1)"
        try:
            text = line.decode("utf-8-sig" if number == 0 else "utf-8")
            row = json.loads(text) if text.strip() else None
        except UnicodeDecodeError as error:
            raise CorruptDataError(name, where, "UTF-8", f"none from its byte {error.start + 1} on", _TODO) from None
        except json.JSONDecodeError as error:
            found = f"no JSON ({error.msg} at its character {error.pos + 1})"
            raise CorruptDataError(name, where, "a JSON object", found, _TODO) from None
        except (ValueError, RecursionError) as error:
            raise CorruptDataError(name, where, "a JSON object", str(error)[:100], _TODO) from error
        if row is not None:
            if not isinstance(row, dict):
                raise CorruptDataError(name, where, "a JSON object", type(row).__name__, _TODO)
            yield number, where, row


def _csv_rows(data: bytes, name: str) -> Iterator[Row]:
    """The rows below the header; quoted cells may hold line ends."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        where = f"line {line} (counted from 1)"
        byte = error.start - data.rfind(b"\n", 0, error.start)
        raise CorruptDataError(name, where, "UTF-8", f"none from its byte {byte} on", _TODO) from None
    limit = csv.field_size_limit(max(len(text), 1 << 17))
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        raise CorruptDataError(name, "rows", "comma-separated values", error, _TODO) from error
    finally:
        csv.field_size_limit(limit)
    header = rows[0] if rows else []
    if repeated := sorted(column for column, times in Counter(header).items() if times > 1):
        raise CorruptDataError(name, "header", "each column once", f"{', '.join(repeated)} more than once", _TODO)
    for number, row in enumerate(rows[1:]):
        where = f"row {number + 1} below the header (counted from 1)"
        if len(row) != len(header):
            raise CorruptDataError(name, f"{where}, cells", len(header), len(row), _TODO)
        yield number, where, dict(zip(header, row, strict=True))


def strings_in(at: str, value: object) -> Iterator[tuple[str, str]]:
    """(where in the row, text) of every string in a value, in order. JSON may nest deeper than Python calls."""
    todo = [(at, value)]
    while todo:
        at, value = todo.pop()
        if isinstance(value, str):
            yield _characters(at), _characters(value)
        elif isinstance(value, list | tuple | dict):
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            todo += [(f"{at}.{name}", part) for name, part in reversed([*parts])]


def _characters(text: str) -> str:
    """A JSON escape may hold half a surrogate pair, which is no character: U+FFFD, as everywhere."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def build_index(texts: Iterable[EvalText], rules: DecontaminationRules) -> tuple[EvalIndex, tuple[EvalCounts, ...]]:
    """(index, counts by set in the order of the rules). Exempt items are left out of the index, and counted. What has
    a list of options is in it twice: as it is, and without the letters and numbers of the options.

    Raises ConfigError where an exemption names an item that its set does not have.
    """
    every = list(texts)
    left_out = frozenset(rules.exempt)
    unknown = left_out - {f"{text.eval_set}:{text.item}" for text in every}
    if unknown:
        raise ConfigError(
            f"exempt names {', '.join(sorted(unknown))}: no such item with text; mend decontaminate.exempt"
        )
    exempt = [f"{text.eval_set}:{text.item}" in left_out for text in every]
    column = normalize(pa.array([text.text for text in every], pa.large_string()))
    words = word_count(column).to_pylist()
    fates = [
        "exempt" if out else "too_short" if n < rules.min_item_words else "whole" if n < rules.ngram else "cut"
        for out, n in zip(exempt, words, strict=True)
    ]
    inside = [i for i, fate in enumerate(fates) if fate in ("whole", "cut")]
    as_they_are = column.take(pa.array(inside, pa.int64()))
    lists, unmarked = lists_without_markers(as_they_are)
    long = np.flatnonzero(word_count(unmarked).to_numpy() >= rules.min_item_words)
    inside += [inside[i] for i in lists[long].tolist()]
    entries = [(every[i].eval_set, f"{every[i].item}.{every[i].field}") for i in inside]
    protected = pa.concat_arrays([as_they_are, unmarked.take(pa.array(long))])
    index = make_index(entries, protected, ngram=rules.ngram, min_words=rules.min_item_words)
    return index, tuple(_counts(eval_set.name, every, fates) for eval_set in rules.eval_sets)


def _counts(name: str, texts: list[EvalText], fates: list[str]) -> EvalCounts:
    mine = [(text.item, fate) for text, fate in zip(texts, fates, strict=True) if text.eval_set == name]
    by_fate = Counter(fate for _, fate in mine)
    return EvalCounts(
        eval_set=name,
        items=len({item for item, _ in mine}),
        texts=len(mine),
        exempt=by_fate["exempt"],
        too_short=by_fate["too_short"],
        whole=by_fate["whole"],
        cut=by_fate["cut"],
    )
