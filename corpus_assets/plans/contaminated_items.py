"""Which items of a benchmark are hit, by which spans of theirs and of documents."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.benchmark import Benchmark, Grams
from corpus_assets.plans.ngram_hits import Hits

MAX_DOCUMENTS = 20
"""Documents of an item that are listed, the first by id; all that are told of are counted."""


@dataclass(frozen=True)
class ItemSpan:
    """[start, end) in code points of the field's text, normalized: n-grams that overlap are one span."""

    field: str
    start: int
    end: int


@dataclass(frozen=True)
class HitDocument:
    """`spans` are [start, end) in code points of the published text, as far as n-grams tell: it may go further."""

    id: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class HitItem:
    """`item` is its number as in eval sets, `line` where it begins in the file, from 1, `id` its field of that name.
    `num_documents` and `documents` are None where only a filter was asked.
    """

    item: int
    line: int
    id: str | int | None
    spans: tuple[ItemSpan, ...]
    num_documents: int | None
    documents: tuple[HitDocument, ...] | None


def items_hit(benchmark: Benchmark, grams: Grams, hits: Hits) -> tuple[HitItem, ...]:
    """The items that share an n-gram with the corpus, in their order."""
    found = np.flatnonzero(np.isin(grams.hash, hits.hashes, assume_unique=False))
    text, start, end = (column[found] for column in (grams.text, grams.start, grams.end))
    (text,), start, end = _merged((text,), start, end)
    spans: dict[int, list[ItemSpan]] = {}
    for t, a, b in zip(text.tolist(), start.tolist(), end.tolist(), strict=True):
        spans.setdefault(benchmark.texts[t].item, []).append(ItemSpan(benchmark.texts[t].field, a, b))
    told = None if hits.places is None else _documents(benchmark, grams, hits.places)
    found_items = []
    for item, of_item in sorted(spans.items()):
        name = benchmark.items[item]
        documents = (None, None) if told is None else (told[1][item], tuple(told[0][item]))
        found_items.append(HitItem(item, name.line, name.id, tuple(of_item), *documents))
    return tuple(found_items)


def _documents(
    benchmark: Benchmark, grams: Grams, places: pa.Table
) -> tuple[dict[int, list[HitDocument]], dict[int, int]]:
    """Item -> its documents, the first ones; item -> how many it has."""
    hashes = places["hash"].to_numpy()
    names = pc.unique(places["id"]).sort()
    document = pc.index_in(places["id"], names).to_numpy()
    low, high = (np.searchsorted(hashes, grams.hash, side) for side in ("left", "right"))
    times = high - low
    at = np.repeat(low - np.cumsum(times) + times, times) + np.arange(times.sum())
    item = np.repeat(benchmark.item_of[grams.text], times)
    begin = places["start"].to_numpy()[at]
    end = begin + places["length"].to_numpy()[at]
    (item, of), begin, end = _merged((item, document[at].astype(np.int64)), begin, end)
    borders = np.flatnonzero((np.diff(item) != 0) | (np.diff(of) != 0)) + 1
    bounds = [*([0] if len(item) else []), *borders.tolist(), len(item)]
    found: dict[int, list[HitDocument]] = {}
    counts: dict[int, int] = {}
    for i, j in pairwise(bounds):
        number = int(item[i])
        counts[number] = counts.get(number, 0) + 1
        if counts[number] <= MAX_DOCUMENTS:
            spans = tuple(zip(begin[i:j].tolist(), end[i:j].tolist(), strict=True))
            found.setdefault(number, []).append(HitDocument(names[int(of[i])].as_py(), spans))
    return found, counts


def _merged(
    of: tuple[np.ndarray, ...], start: np.ndarray, end: np.ndarray
) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """The spans of each thing `of` names (one array or several), sorted by it; those that overlap are joined."""
    order = np.lexsort((end, start, *reversed(of)))
    of, start, end = tuple(one[order] for one in of), start[order], end[order]
    if not len(start):
        return of, start, end
    is_other = np.zeros(len(start) - 1, np.bool_)
    for one in of:
        is_other |= one[1:] != one[:-1]
    apart = np.concatenate(([0], np.cumsum(is_other))) * (int(end.max()) + 1)
    so_far = np.maximum.accumulate(end + apart) - apart  # the last end of each thing's spans up to here
    first = np.concatenate(([0], np.flatnonzero(is_other | (start[1:] > so_far[:-1])) + 1))
    return tuple(one[first] for one in of), start[first], np.maximum.reduceat(end, first)
