"""Where a text repeats a protected item of an eval set, exactly. Spec: ngram_match.md.

Every protected sequence of words begins with `min_words` words, so one bit of a filter per place of the text decides
almost all of it; only then hashes are looked up, and only equal words are a hit. Cost: some 110 MB/s a core.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.hash_filter import add_to_filter, empty_filter, filter_shift, may_be_key
from corpus_assets.kernels.search import first_at_least
from corpus_assets.kernels.unicode_tables import tables
from corpus_assets.kernels.words import GOLDEN, mix64, word_hashes, word_spans
from formats.errors import ConfigError, CorruptDataError

FORMAT = "eval-index-1"
NGRAM, MIN_WORDS = 13, 8
_TODO = "delete the file and build the index again"
_U64 = np.uint64


@dataclass(frozen=True, eq=False)
class EvalIndex:
    """Protected sequences of words. Arrays are read-only; `entries` are (set, `<item>.<field>`), by number.

    Entry e has the words words[ends[e]:ends[e + 1]]. A sequence is `width` of them from words[at] on: all, or for a
    longer entry each run of `ngram`. Sequences are sorted by (key, at), equal ones stand once, for the lowest entry.
    """

    ngram: int
    min_words: int
    entries: tuple[tuple[str, str], ...]
    words: np.ndarray  # uint64
    ends: np.ndarray  # int64, one more than entries
    keys: np.ndarray  # uint64: hash of a sequence
    at: np.ndarray  # int64
    entry: np.ndarray  # int64
    bits: np.ndarray  # uint64: hash_filter of the hashes of sequences' first `min_words` words; derived

    @property
    def digest(self) -> str:
        """SHA-256 of what is stored, in hex: equal for equal content."""
        return hashlib.sha256(self._stored()).hexdigest()

    def to_bytes(self) -> bytes:
        """The index as one file; `from_bytes` reads it."""
        stored = self._stored()
        return hashlib.sha256(stored).digest() + stored

    def _stored(self) -> bytes:
        arrays = [getattr(self, name) for name in _ARRAYS]
        head = {
            "format": FORMAT,
            "ngram": self.ngram,
            "min_words": self.min_words,
            "entries": self.entries,
            "sizes": [array.size for array in arrays],
        }
        packed = json.dumps(head, ensure_ascii=False, sort_keys=True).encode()
        packed += b" " * (-len(packed) % 8)
        return b"".join([len(packed).to_bytes(8, "little"), packed, *(array.tobytes() for array in arrays)])

    @staticmethod
    def from_bytes(data: bytes, where: object = "eval index") -> "EvalIndex":
        """Raises CorruptDataError, naming `where`, for anything but the bytes of an index of this format."""
        stored = memoryview(data)[32:]
        if (found := hashlib.sha256(stored).digest()) != data[:32]:
            raise CorruptDataError(where, "sha256", data[:32].hex(), found.hex(), _TODO)
        size = int.from_bytes(stored[:8], "little")
        head = json.loads(bytes(stored[8 : 8 + size]))
        if head["format"] != FORMAT:
            raise CorruptDataError(where, "format", FORMAT, head["format"], _TODO)
        arrays, at = {}, 8 + size
        for (name, dtype), length in zip(_ARRAYS.items(), head["sizes"], strict=True):
            arrays[name] = np.frombuffer(stored, dtype, length, at)
            at += arrays[name].nbytes
        entries = tuple((set_name, item) for set_name, item in head["entries"])
        return _index(head["ngram"], head["min_words"], entries, arrays)


_ARRAYS = {"words": "<u8", "ends": "<i8", "keys": "<u8", "at": "<i8", "entry": "<i8"}


def _index(
    ngram: int, min_words: int, entries: tuple[tuple[str, str], ...], arrays: dict[str, np.ndarray]
) -> EvalIndex:
    for array in arrays.values():
        array.setflags(write=False)
    bits = empty_filter(len(arrays["keys"]))
    _fill_filter(arrays["words"], arrays["at"], min_words, bits, filter_shift(bits))
    bits.setflags(write=False)
    return EvalIndex(ngram, min_words, entries, bits=bits, **arrays)


@njit(inline="always")
def _fold(words, at, width):
    """The unmixed hash of words[at:at + width]; as in words.ngram_hashes, so that it can roll and grow."""
    x = _U64(0)
    for q in range(width):
        x = x * GOLDEN + words[at + q]
    return x


@njit(nogil=True, cache=True)
def _fill_filter(words, at, min_words, bits, shift):
    for s in range(at.size):
        add_to_filter(bits, shift, mix64(_fold(words, at[s], min_words)))


@njit(nogil=True, cache=True)
def _entry_words(data, offsets, kind, lower, words, ends):
    ends[0] = 0
    for e in range(ends.size - 1):
        ends[e + 1] = ends[e] + word_hashes(data, offsets[e], offsets[e + 1], kind, lower, words[ends[e] :])


@njit(nogil=True, cache=True)
def _sequences(words, ends, ngram, keys, at, entry):
    n = 0
    for e in range(ends.size - 1):
        width = min(ngram, ends[e + 1] - ends[e])
        for j in range(ends[e], ends[e + 1] - width + 1):
            keys[n], at[n], entry[n] = mix64(_fold(words, j, width)), j, e
            n += 1
    return n


@njit(inline="always")
def _same_words(left, i, right, j, width):
    for q in range(width):  # noqa: SIM110 (compiled)
        if left[i + q] != right[j + q]:
            return False
    return True


@njit(nogil=True, cache=True)
def _distinct(words, ends, ngram, keys, at, entry, stays):
    """Mark the first of equal sequences; different ones that share a key all stay."""
    run = 0
    for s in range(keys.size):
        if s > 0 and keys[s] != keys[s - 1]:
            run = s
        width = min(ngram, ends[entry[s] + 1] - ends[entry[s]])
        stays[s] = True
        for t in range(run, s):
            other = min(ngram, ends[entry[t] + 1] - ends[entry[t]])
            if stays[t] and other == width and _same_words(words, at[t], words, at[s], width):
                stays[s] = False
                break


def make_index(
    entries: Sequence[tuple[str, str]], text: pa.Array, *, ngram: int = NGRAM, min_words: int = MIN_WORDS
) -> EvalIndex:
    """The index of one normalized text an entry (large_string); ConfigError if one has fewer than `min_words` words."""
    if not 1 <= min_words <= ngram or len(entries) != len(text):
        raise ConfigError(
            f"min_words {min_words}, ngram {ngram}, {len(entries)} entries of {len(text)} texts: mend them"
        )
    offsets, data = string_buffers(text)
    words, ends = np.empty(int(offsets[-1] - offsets[0]), np.uint64), np.empty(len(text) + 1, np.int64)
    _entry_words(data, offsets, *tables(), words, ends)
    words = words[: ends[-1]].copy()
    lengths = np.diff(ends)
    if len(lengths) and lengths.min() < min_words:
        short = entries[int(lengths.argmin())]
        raise ConfigError(f"{short[0]}:{short[1]} has {lengths.min()} words, an entry needs {min_words}; leave it out")
    room = int(np.maximum(lengths - ngram + 1, 1).sum())
    keys, at, entry = np.empty(room, np.uint64), np.empty(room, np.int64), np.empty(room, np.int64)
    _sequences(words, ends, ngram, keys, at, entry)
    order = np.argsort(keys, kind="stable")
    keys, at, entry = keys[order], at[order], entry[order]
    stays = np.empty(room, np.bool_)
    _distinct(words, ends, ngram, keys, at, entry, stays)
    arrays = {"words": words, "ends": ends, "keys": keys[stays], "at": at[stays], "entry": entry[stays]}
    return _index(ngram, min_words, tuple((name, item) for name, item in entries), arrays)


@njit(nogil=True, cache=True)
def _lookup(key, text_words, j, width, ngram, index):
    """The lowest entry with the sequence text_words[j:j + width], or -1."""
    words, ends, keys, at, entry = index
    low = first_at_least(keys, key)
    while low < keys.size and keys[low] == key:
        e = entry[low]
        if min(ngram, ends[e + 1] - ends[e]) == width and _same_words(words, at[low], text_words, j, width):
            return e
        low += 1
    return -1


@njit(nogil=True, cache=True)
def _first_hit(words, n, ngram, min_words, index, bits, shift):
    """(entry, first word, number of words) of the first hit in words[:n]; at one place the lowest entry."""
    leading = _U64(1)
    for _ in range(min_words - 1):
        leading *= GOLDEN
    x = _fold(words, 0, min(min_words, n))
    for j in range(n - min_words + 1):
        if may_be_key(bits, shift, mix64(x)):
            best, best_width, y = -1, 0, x
            for width in range(min_words, min(ngram, n - j) + 1):
                if width > min_words:
                    y = y * GOLDEN + words[j + width - 1]
                e = _lookup(mix64(y), words, j, width, ngram, index)
                if e >= 0 and (best < 0 or e < best):
                    best, best_width = e, width
            if best >= 0:
                return best, j, best_width
        if j + min_words < n:
            x = (x - words[j] * leading) * GOLDEN + words[j + min_words]
    return -1, 0, 0


@njit(inline="always")
def _code_points(data, i, end):
    n = 0
    for j in range(i, end):
        n += (data[j] & 0xC0) != 0x80
    return n


@njit(nogil=True, cache=True)
def _match(data, offsets, kind, lower, ngram, min_words, index, bits, shift, entry, spans):
    words = np.empty(1 << 16, np.uint64)
    for d in range(entry.size):
        start, end = offsets[d], offsets[d + 1]
        if end - start > words.size:
            words = np.empty(end - start, np.uint64)
        n = word_hashes(data, start, end, kind, lower, words)
        entry[d], first, width = _first_hit(words, n, ngram, min_words, index, bits, shift)
        if entry[d] < 0:
            spans[d, 0], spans[d, 1] = -1, -1
            continue
        starts, ends = np.empty(n, np.int64), np.empty(n, np.int64)
        word_spans(data, start, end, kind, lower, words, starts, ends)
        spans[d, 0] = _code_points(data, start, starts[first])
        spans[d, 1] = spans[d, 0] + _code_points(data, starts[first], ends[first + width - 1])


def match(text: pa.Array, index: EvalIndex) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(entry or -1, span_start, span_end), int64 each, per row of a large_string column of normalized texts.

    The span is that of the first hit in the text, in code points, the end exclusive, -1 without a hit; of hits at the
    same word the lowest entry counts. Null rows are empty texts.
    """
    offsets, data = string_buffers(text)
    entry, spans = np.empty(len(text), np.int64), np.empty((len(text), 2), np.int64)
    arrays = (index.words, index.ends, index.keys, index.at, index.entry)
    _match(
        data,
        offsets,
        *tables(),
        index.ngram,
        index.min_words,
        arrays,
        index.bits,
        filter_shift(index.bits),
        entry,
        spans,
    )
    return entry, spans[:, 0].copy(), spans[:, 1].copy()
