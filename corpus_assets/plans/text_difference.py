"""Where two texts differ, as the Jaccard sees it: a word is common when a shingle that holds it is in both texts.

The order of parts does not matter for that, as it does not for the Jaccard; but the two texts come in rows that keep
them in step: shingles that either text has once tie them together, as many as keep their order. Cost: a sort of the
shingles.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.unicode_tables import tables
from corpus_assets.kernels.words import ngram_hashes, word_spans

CONTEXT_WORDS = 25
MAX_OWN_WORDS = 200
"""Of a longer run of own words the ends are shown."""
MAX_CHARS = 12_000
"""Of either text; the rows after that are left out."""


@dataclass(frozen=True)
class Piece:
    """A stretch of a text: `text`, or `left_out` words that nobody needs to read, with whether it is the text's own."""

    text: str = ""
    own: bool = False
    left_out: int = 0


@dataclass(frozen=True)
class Row:
    """What stands beside each other in the two texts; one side is empty where the other one has an addition."""

    left: list[Piece]
    right: list[Piece]


Span = tuple[int, int]
"""(first word, word after the last)."""


@dataclass(frozen=True)
class _Words:
    data: bytes
    starts: np.ndarray
    ends: np.ndarray
    shingles: np.ndarray


def differences(left: str, right: str, width: int) -> list[Row]:
    """Both texts in rows of pieces: their own words marked, long stretches left out but for their ends.

    `width` is that of a shingle in words.
    """
    one, other = _words(left, width), _words(right, width)
    own_of_one, own_of_other = _own(one, other, width), _own(other, one, width)
    spans = _in_step(one, other, width)
    rows, shown = list[Row](), 0
    for number, (mine, theirs) in enumerate(spans):
        if shown > MAX_CHARS:
            rest = (len(words.starts) - first for words, (first, _) in ((one, mine), (other, theirs)))
            rows.append(Row(*([Piece(left_out=n)] if n else [] for n in rest)))
            break
        ends = number == 0, number == len(spans) - 1
        row = Row(list(_pieces(one, own_of_one, mine, *ends)), list(_pieces(other, own_of_other, theirs, *ends)))
        shown += max(sum(len(piece.text) for piece in side) for side in (row.left, row.right))
        rows.append(row)
    return rows


def _words(text: str, width: int) -> _Words:
    offsets, data = string_buffers(pa.array([text], pa.large_string()))
    room = max(1, int(offsets[1]))
    hashes, starts, ends = np.empty(room, np.uint64), np.empty(room, np.int64), np.empty(room, np.int64)
    n = word_spans(data, offsets[0], offsets[1], *tables(), hashes, starts, ends)
    grams = np.empty(max(1, n), np.uint64)
    m = ngram_hashes(hashes, n, width, grams)
    return _Words(text.encode(), starts[:n], ends[:n], grams[:m])


def _own(mine: _Words, theirs: _Words, width: int) -> np.ndarray:
    """Which words lie in no shingle that the other text has, too."""
    common = np.isin(mine.shingles, theirs.shingles)
    own = np.ones(len(mine.starts), np.bool_)
    for at in range(min(width, len(own))):
        own[at : at + len(common)][common[: len(own) - at]] = False
    return own


def _in_step(one: _Words, other: _Words, width: int) -> list[tuple[Span, Span]]:
    """Spans of either text that belong beside each other: all words of both, in order. What is tied together at one
    distance is one row, and so is what lies between two such.
    """
    mine, theirs = _tied(one.shingles, other.shingles)
    rows, at = list[tuple[Span, Span]](), (0, 0)
    ends = len(one.starts), len(other.starts)
    borders = [0, *(np.flatnonzero(np.diff(mine - theirs)) + 1).tolist(), len(mine)] if len(mine) else [0]
    for first, last in pairwise(borders):
        a, b = int(mine[first]), int(theirs[first])
        late = max(at[0] - a, at[1] - b, 0)  # two rows may share the words of their last and first shingles
        a, b = a + late, b + late
        length = min(int(mine[last - 1]) + width, ends[0]) - a
        if length <= 0:
            continue
        rows += [((at[0], a), (at[1], b)), ((a, a + length), (b, b + length))]
        at = a + length, b + length
    rows.append(((at[0], ends[0]), (at[1], ends[1])))
    return [row for row in rows if any(first < last for first, last in row)]


def _tied(mine: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of shingles that either text has once: the most that ascend in both."""
    both = np.intersect1d(_once(mine), _once(theirs), assume_unique=True)
    places = []
    for shingles in (mine, theirs):
        order = np.argsort(shingles, kind="stable")
        places.append(order[np.searchsorted(shingles, both, sorter=order)])
    in_order = np.argsort(places[0])
    a, b = (place[in_order] for place in places)
    kept = _longest_ascent(b.tolist())
    return a[kept], b[kept]


def _once(values: np.ndarray) -> np.ndarray:
    found, counts = np.unique(values, return_counts=True)
    return found[counts == 1]


def _longest_ascent(values: list[int]) -> list[int]:
    """Indexes of a longest ascending subsequence of distinct numbers."""
    tops, top_at, before = list[int](), list[int](), [-1] * len(values)
    for at, value in enumerate(values):
        pile = bisect_left(tops, value)
        before[at] = top_at[pile - 1] if pile else -1
        tops[pile : pile + 1], top_at[pile : pile + 1] = [value], [at]
    found, at = list[int](), top_at[-1] if top_at else -1
    while at >= 0:
        found.append(at)
        at = before[at]
    return found[::-1]


def _pieces(words: _Words, own: np.ndarray, span: Span, begins: bool, ends: bool) -> Iterator[Piece]:
    """Runs of own and of common words within a span; long ones keep their ends. `begins` and `ends`: nothing of either
    text comes before or after it, so that there is no difference to show the context of.
    """
    start, stop = span
    mine = own[start:stop]
    borders = [start, *(np.flatnonzero(mine[1:] != mine[:-1]) + 1 + start).tolist(), stop] if len(mine) else [start]
    for first, last in pairwise(borders):
        is_own = bool(own[first])
        for a, b, left_out in _parts(first, last, is_own, begins and first == start, ends and last == stop):
            if left_out:
                yield Piece(own=is_own, left_out=b - a)
            else:
                yield Piece(words.data[_from(words, a) : _to(words, b)].decode(), is_own)


def _parts(first: int, last: int, own: bool, begins: bool, ends: bool) -> Iterator[tuple[int, int, bool]]:
    """(first word, word after the last, whether it is left out) of one run."""
    head, tail = (0 if begins else CONTEXT_WORDS), (0 if ends else CONTEXT_WORDS)
    if begins and ends:
        head = 2 * CONTEXT_WORDS  # nothing differs: show how it begins
    most = head + tail + CONTEXT_WORDS
    if own:
        head, tail, most = MAX_OWN_WORDS // 2, MAX_OWN_WORDS // 2, MAX_OWN_WORDS
    if last - first <= most:
        yield first, last, False
        return
    if head:
        yield first, first + head, False
    yield first + head, last - tail, True
    if tail:
        yield last - tail, last, False


def _from(words: _Words, word: int) -> int:
    return 0 if word == 0 else int(words.starts[word])


def _to(words: _Words, word: int) -> int:
    """Up to the next word, so that what stands between two words is shown after the first."""
    return len(words.data) if word == len(words.starts) else int(words.starts[word])
