"""What a fastText classifier says about lines of text, as the library does, over Arrow buffers. Spec: fasttext.md.

A line's vector is the mean of the vectors of its words, of their character n-grams (Bojanowski et al. 2017) and of runs
of words. What is made of it depends on the loss: fasttext_tree.py, fasttext_flat.py. Sums run in float32 in the order
of the library, so probabilities agree with it to some 1e-6. Releases the GIL. Cost: some 10 us for a line of 400
characters.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.fasttext_file import HIERARCHICAL_SOFTMAX, SOFTMAX, Dictionary, FastTextFile, read_fasttext
from corpus_assets.kernels.fasttext_flat import best_of_rows, probability_of_row
from corpus_assets.kernels.fasttext_tree import best_of_tree, huffman, probability_of_leaf

END, LABEL_PREFIX = b"</s>", b"__label__"
_END, _PREFIX = np.frombuffer(END, np.uint8), np.frombuffer(LABEL_PREFIX, np.uint8)
_U32, _U64, _F32 = np.uint32, np.uint64, np.float32
FNV_OFFSET, FNV_PRIME = _U32(2166136261), _U32(16777619)
RUN_FACTOR = _U64(116049371)


@dataclass(frozen=True)
class FastText:
    """A loaded classifier. `labels` are its label names without the prefix, in the order of the label numbers."""

    file: FastTextFile

    @classmethod
    def load(cls, path: Path, sha256: str) -> "FastText":
        """Raises CorruptDataError where the file is not the pinned one or not a classifier of this kind."""
        return cls(read_fasttext(path, sha256))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(name.removeprefix(LABEL_PREFIX).decode() for name in self.file.dictionary.labels)

    def line_vectors(self, lines: pa.Array) -> np.ndarray:
        """float32 (rows, dim) of a large_string column; each row is one line, read up to its first line feed."""
        offsets, data = string_buffers(lines)
        out = np.zeros((len(lines), self.file.vectors.shape[1]), np.float32)
        _line_vectors(data, offsets, *self._words, *self._ngrams, self.file.word_ngrams, self.file.vectors, out)
        return out

    def best(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(label number int64, its probability float32) of the likeliest label of each line."""
        if self.file.loss != HIERARCHICAL_SOFTMAX:
            return best_of_rows(vectors, self.file.nodes, self.file.loss == SOFTMAX)
        labels, probabilities = np.empty(len(vectors), np.int64), np.empty(len(vectors), np.float32)
        best_of_tree(vectors, self.file.nodes, *self._tree[:2], labels, probabilities)
        return labels, probabilities

    def probability(self, vectors: np.ndarray, label: int) -> np.ndarray:
        """float32 of each line: how likely that label is."""
        if self.file.loss != HIERARCHICAL_SOFTMAX:
            return probability_of_row(vectors, self.file.nodes, self.file.loss == SOFTMAX, label)
        out = np.empty(len(vectors), np.float32)
        probability_of_leaf(vectors, self.file.nodes, *self._tree[1:], label, out)
        return out

    @cached_property
    def _words(self) -> tuple[np.ndarray, ...]:
        return _word_table(self.file.dictionary)

    @cached_property
    def _ngrams(self) -> tuple[int, int, np.ndarray, np.ndarray]:
        """Lengths, and the table of rows behind a bit for each bucket: pruned models keep one in fifty, and the bits
        stay in the processor's cache where the table does not.
        """
        dictionary = self.file.dictionary
        present = np.packbits(dictionary.rows >= 0, bitorder="little")
        return dictionary.min_n, dictionary.max_n, present, dictionary.rows

    @cached_property
    def _tree(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return huffman(self.file.dictionary.label_counts)


def _word_table(dictionary: Dictionary) -> tuple[np.ndarray, ...]:
    """(slots int32 of a power of two, open addressing; offsets int64; bytes uint8) of the words."""
    offsets = np.zeros(len(dictionary.words) + 1, np.int64)
    np.cumsum([len(word) for word in dictionary.words], out=offsets[1:])
    data = np.frombuffer(b"".join(dictionary.words), np.uint8)
    slots = np.full(1 << (4 * len(dictionary.words) + 1).bit_length(), -1, np.int32)
    _fill(slots, offsets, data)
    return slots, offsets, data


@njit(inline="always")
def _step(h, byte):
    """FNV-1a of one byte; the library widens it as a signed one."""
    wide = _U32(byte) | _U32(0xFFFFFF00) if byte >= 0x80 else _U32(byte)
    return _U32((h ^ wide) * FNV_PRIME)


@njit(inline="always")
def _hash(data, at, end):
    h = FNV_OFFSET
    for i in range(at, end):
        h = _step(h, data[i])
    return h


@njit(inline="always")
def _same(left, i, right, j, size):
    same = True
    for q in range(size):
        same &= left[i + q] == right[j + q]
    return same


@njit(nogil=True, cache=True)
def _fill(slots, offsets, data):
    for word in range(offsets.size - 1):
        slot = np.int64(_hash(data, offsets[word], offsets[word + 1])) & (slots.size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = word


@njit(nogil=True, cache=True)
def _find(data, at, end, slots, word_offsets, word_bytes):
    """The number of the word data[at:end], -1 for one that is not known."""
    slot = np.int64(_hash(data, at, end)) & (slots.size - 1)
    while slots[slot] >= 0:
        start, stop = word_offsets[slots[slot]], word_offsets[slots[slot] + 1]
        if stop - start == end - at and _same(data, at, word_bytes, start, end - at):
            return slots[slot]
        slot = (slot + 1) & (slots.size - 1)
    return -1


@njit(inline="always")
def _is_space(byte):
    return byte == 0x20 or 0x09 <= byte <= 0x0D or byte == 0


@njit(inline="always")
def _add(vectors, row, out, d):
    for q in range(out.shape[1]):
        out[d, q] += vectors[row, q]


@njit(inline="always")
def _remainder(value, divisor, inverse):
    """value % divisor of 32-bit numbers, without the slow instruction: the product is off by one at most."""
    rest = value - np.int64(value * inverse) * divisor
    if rest < 0:
        return rest + divisor
    return rest - divisor if rest >= divisor else rest


@njit(nogil=True, cache=True)
def _find_ngrams(word, size, min_n, max_n, present, num_buckets, found, n_found):
    """Append to `found` the buckets of the n-grams (in characters) of word[:size] that have a vector; returns how many
    are there now.
    """
    inverse = 1.0 / max(num_buckets, 1)  # where there are none, nothing is hashed
    for i in range(size):
        if word[i] & 0xC0 == 0x80:
            continue
        h, j, n = FNV_OFFSET, i, 0
        while j < size and n < max_n:
            h, j, n = _step(h, word[j]), j + 1, n + 1
            while j < size and word[j] & 0xC0 == 0x80:
                h, j = _step(h, word[j]), j + 1
            if n >= min_n and not (n == 1 and (i == 0 or j == size)):
                bucket = _remainder(np.int64(h), num_buckets, inverse)
                found[n_found] = bucket
                n_found += present[bucket >> 3] >> (bucket & 7) & 1  # no branch: which have one is hard to foretell
    return n_found


@njit(inline="always")
def _find_runs(hashes, tokens, longest, present, num_buckets, found, n_found):
    """Append to `found` the buckets of the runs of 2 to `longest` tokens that have a vector. Hashes are widened as
    signed ones, as the library keeps them.
    """
    for i in range(tokens):
        h = _U64(np.int64(np.int32(hashes[i])))
        for j in range(i + 1, min(i + longest, tokens)):
            h = h * RUN_FACTOR + _U64(np.int64(np.int32(hashes[j])))
            bucket = np.int64(h % _U64(num_buckets))
            found[n_found] = bucket
            n_found += present[bucket >> 3] >> (bucket & 7) & 1
    return n_found


@njit(nogil=True, cache=True)
def _line_vectors(
    data, offsets, slots, word_offsets, word_bytes, min_n, max_n, present, rows, word_ngrams, vectors, out
):
    """Where the vectors of a line lie is found first: then the adding does not wait for one after the other. `found`
    has for each word -1 - its number, for each n-gram its bucket; `hashes` those of the tokens, for runs of words.
    """
    first = word_offsets.size - 1
    known = (slots, word_offsets, word_bytes)
    word = np.empty(1 << 12, np.uint8)
    per_byte = 2 * (max_n - min_n + 2) + word_ngrams  # enough for words of one byte, each with < and > around it
    found = np.empty(per_byte * word.size, np.int64)
    hashes = np.empty(word.size + 1, np.uint32)
    for d in range(offsets.size - 1):
        at, end, added, tokens = offsets[d], offsets[d + 1], 0, 0
        if end - at + 2 > word.size:
            word = np.empty(end - at + 2, np.uint8)
            found = np.empty(per_byte * word.size, np.int64)
            hashes = np.empty(word.size + 1, np.uint32)
        while at < end and data[at] != 0x0A:
            if _is_space(data[at]):
                at += 1
                continue
            start = at
            while at < end and not _is_space(data[at]):
                at += 1
            size = at - start
            if size == _END.size and _same(data, start, _END, 0, size):
                break
            if size >= _PREFIX.size and _same(data, start, _PREFIX, 0, _PREFIX.size):
                continue
            hashes[tokens] = _hash(data, start, at)
            tokens += 1
            number = _find(data, start, at, *known)
            if number >= 0:
                found[added] = -1 - number
                added += 1
            word[0], word[size + 1] = 0x3C, 0x3E
            for q in range(size):
                word[q + 1] = data[start + q]
            added = _find_ngrams(word, size + 2, min_n, max_n, present, rows.size, found, added)
        number = _find(_END, 0, _END.size, *known)
        if number >= 0:
            found[added] = -1 - number
            added += 1
        if word_ngrams > 1:
            hashes[tokens] = _hash(_END, 0, _END.size)
            added = _find_runs(hashes, tokens + 1, word_ngrams, present, rows.size, found, added)
        for i in range(added):
            _add(vectors, first + rows[found[i]] if found[i] >= 0 else -1 - found[i], out, d)
        if added:
            scale = _F32(1.0 / added)
            for q in range(out.shape[1]):
                out[d, q] *= scale
