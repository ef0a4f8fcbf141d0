"""How much of a protected item a text holds: the share of the item's short n-grams that occur in it, anywhere.

The hard rule (ngram_match.py) asks for one long run of words and needs a single one; edits every few words hide an
item from it. Here each different n-gram of an item counts once, in any order and place, so that changed words lower the
share and do not hide it. Cost: linear in the text; a hit costs as much as items have that n-gram.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.hash_filter import filter_of, filter_shift, may_be_key
from corpus_assets.kernels.ngram_match import EvalIndex
from corpus_assets.kernels.search import first_at_least
from corpus_assets.kernels.unicode_tables import tables
from corpus_assets.kernels.words import ngram_hashes, word_hashes, word_spans

WIDTH = 5
"""Words of an n-gram: five rarely meet by chance, and one changed word takes five of an item's away."""
_U64 = np.uint64


@dataclass(frozen=True, eq=False)
class ShareIndex:
    """Different n-grams of all entries. n-gram keys[i] is in the entries entry[starts[i]:starts[i + 1]]; entry e has
    sizes[e] of them.
    """

    width: int
    keys: np.ndarray  # uint64, rising
    starts: np.ndarray  # int64
    entry: np.ndarray  # int64
    sizes: np.ndarray  # int64
    bits: np.ndarray  # uint64: a filter over the keys


def share_index(index: EvalIndex, width: int = WIDTH) -> ShareIndex:
    """The short n-grams of the entries of `index`, numbered as there. An entry whose name an earlier one has is
    the same text without the markers of its options: it has the same words again, and none here.
    """
    num = len(index.ends) - 1
    room = int(np.maximum(np.diff(index.ends) - width + 1, 1).sum()) if num else 0
    hashes, of = np.empty(room, np.uint64), np.empty(room, np.int64)
    n = _entry_ngrams(index.words, index.ends, width, hashes, of)
    order = np.lexsort((of[:n], hashes[:n]))
    key, entry = hashes[:n][order], of[:n][order]
    is_new = np.ones(n, np.bool_)
    is_new[1:] = (key[1:] != key[:-1]) | (entry[1:] != entry[:-1])
    first: dict[tuple[str, str], int] = {}
    is_new &= np.array([first.setdefault(name, e) == e for e, name in enumerate(index.entries)], np.bool_)[entry]
    key, entry = key[is_new], entry[is_new]
    keys, starts = np.unique(key, return_index=True)
    sizes = np.bincount(entry, minlength=num).astype(np.int64)
    return ShareIndex(width, keys, np.append(starts, len(entry)).astype(np.int64), entry, sizes, filter_of(keys))


@njit(nogil=True, cache=True)
def _entry_ngrams(words, ends, width, hashes, of):
    n = 0
    for e in range(ends.size - 1):
        m = ngram_hashes(words[ends[e] :], ends[e + 1] - ends[e], width, hashes[n:])
        for j in range(m):
            of[n + j] = e
        n += m
    return n


@njit(nogil=True, cache=True)
def _shares(data, offsets, kind, lower, width, keys, starts, entry, sizes, bits, shift, out):
    words, hashes = np.empty(1 << 16, np.uint64), np.empty(1 << 16, np.uint64)
    seen, counts = np.full(keys.size, -1, np.int64), np.zeros(sizes.size, np.int64)
    touched = np.empty(sizes.size, np.int64)
    for d in range(out.shape[0]):
        start, end = offsets[d], offsets[d + 1]
        if end - start > words.size:
            words, hashes = np.empty(end - start, np.uint64), np.empty(end - start, np.uint64)
        m = ngram_hashes(words, word_hashes(data, start, end, kind, lower, words), width, hashes)
        num_touched = 0
        for j in range(m):
            key = hashes[j]
            if not may_be_key(bits, shift, key):
                continue
            i = first_at_least(keys, key)
            if i == keys.size or keys[i] != key or seen[i] == d:
                continue
            seen[i] = d
            for at in range(starts[i], starts[i + 1]):
                e = entry[at]
                if counts[e] == 0:
                    touched[num_touched] = e
                    num_touched += 1
                counts[e] += 1
        best = -1
        for t in range(num_touched):
            e = touched[t]
            if best >= 0:
                more = counts[e] * sizes[best] - counts[best] * sizes[e]
                if more < 0 or (more == 0 and e > best):
                    continue
            best = e
        out[d, 0] = best
        out[d, 1], out[d, 2] = (counts[best], sizes[best]) if best >= 0 else (0, 0)
        for t in range(num_touched):
            counts[touched[t]] = 0


def shares(text: pa.Array, index: ShareIndex) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(entry or -1, its n-grams in the text, all its n-grams), int64 each, per row of a large_string column of
    normalized texts: the entry of which the text holds the largest share, of equal ones the first. Null rows are empty
    texts.
    """
    offsets, data = string_buffers(text)
    out = np.empty((len(text), 3), np.int64)
    arrays = (index.keys, index.starts, index.entry, index.sizes, index.bits)
    _shares(data, offsets, *tables(), index.width, *arrays, filter_shift(index.bits), out)
    return out[:, 0].copy(), out[:, 1].copy(), out[:, 2].copy()


@njit(inline="always")
def _code_points(data, start, end):
    n = 0
    for i in range(start, end):
        n += (data[i] & 0xC0) != 0x80
    return n


@njit(nogil=True, cache=True)
def _spans(data, offsets, of, kind, lower, width, keys, starts, entry, out):
    for d in range(out.shape[0]):
        start, end = offsets[d], offsets[d + 1]
        room = max(end - start, 1)
        words, hashes = np.empty(room, np.uint64), np.empty(room, np.uint64)
        begins, ends = np.empty(room, np.int64), np.empty(room, np.int64)
        n = word_spans(data, start, end, kind, lower, words, begins, ends)
        first, last = -1, -1
        for j in range(ngram_hashes(words, n, width, hashes)):
            i = first_at_least(keys, hashes[j])
            if i == keys.size or keys[i] != hashes[j]:
                continue
            at = starts[i] + first_at_least(entry[starts[i] : starts[i + 1]], of[d])
            if at < starts[i + 1] and entry[at] == of[d]:
                first = j if first < 0 else first
                last = j
        if first < 0:
            out[d, 0], out[d, 1] = -1, -1
            continue
        out[d, 0] = _code_points(data, start, begins[first])
        out[d, 1] = out[d, 0] + _code_points(data, begins[first], ends[min(last + width, n) - 1])


def spans(text: pa.Array, entry: np.ndarray, index: ShareIndex) -> tuple[np.ndarray, np.ndarray]:
    """(start, end) in code points, int64, per row: from the first n-gram of the row's `entry` to the end of the last
    one; -1 where the text has none of it.
    """
    offsets, data = string_buffers(text)
    out = np.empty((len(text), 2), np.int64)
    _spans(data, offsets, entry, *tables(), index.width, index.keys, index.starts, index.entry, out)
    return out[:, 0].copy(), out[:, 1].copy()
