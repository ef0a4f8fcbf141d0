"""Where two texts differ, as the Jaccard sees it: a word is common when a shingle that holds it is in both texts.

Linear in the texts, whatever their length. The order of parts does not matter here, as it does not for the Jaccard.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.unicode_tables import tables
from corpus_assets.kernels.words import ngram_hashes, word_spans

CONTEXT_WORDS = 25
MAX_CHARS = 12_000


@dataclass(frozen=True)
class Piece:
    """A stretch of a text: `text` with whether it is the text's own, or `left_out` words that nobody needs to read."""

    text: str = ""
    own: bool = False
    left_out: int = 0


@dataclass(frozen=True)
class _Words:
    data: bytes
    starts: np.ndarray
    ends: np.ndarray
    shingles: np.ndarray


def differences(left: str, right: str, width: int) -> tuple[list[Piece], list[Piece]]:
    """Either text in pieces: its own words marked, long stretches of common ones left out but for their ends.

    `width` is that of a shingle in words.
    """
    one, other = _words(left, width), _words(right, width)
    return tuple(list(_pieces(mine, _own(mine, theirs, width))) for mine, theirs in ((one, other), (other, one)))  # type: ignore[return-value]


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


def _pieces(words: _Words, own: np.ndarray) -> Iterator[Piece]:
    """Runs of own and of common words; a run of common ones longer than two contexts keeps its ends."""
    shown = 0
    borders = [0, *(np.flatnonzero(own[1:] != own[:-1]) + 1).tolist(), len(own)] if len(own) else [0]
    for first, last in pairwise(borders):
        for start, end, left_out in _parts(first, last, bool(own[first]), first == 0, last == len(own)):
            if left_out:
                yield Piece(left_out=end - start)
                continue
            if shown > MAX_CHARS:
                yield Piece(left_out=len(own) - start)
                return
            text = words.data[_from(words, start) : _to(words, end)].decode()
            shown += len(text)
            yield Piece(text, bool(own[first]))


def _parts(first: int, last: int, own: bool, begins: bool, ends: bool) -> Iterator[tuple[int, int, bool]]:
    """(first word, word after the last, whether it is left out) of one run."""
    head, tail = (0 if begins else CONTEXT_WORDS), (0 if ends else CONTEXT_WORDS)
    if begins and ends:
        head = 2 * CONTEXT_WORDS  # nothing differs: show how it begins
    if own or last - first <= head + tail + CONTEXT_WORDS:
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
