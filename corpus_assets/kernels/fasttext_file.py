"""Reader of a fastText supervised model file (`.bin`, `.ftz`), version 12. Layout: fasttext.md.

Read are supervised models of every loss the library has; vectors of words without labels (skipgram, cbow) are refused.
"""

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from formats.errors import CorruptDataError

MAGIC, VERSION = 793712314, 12
SUPERVISED = 3
HIERARCHICAL_SOFTMAX, NEGATIVE_SAMPLING, SOFTMAX, ONE_VS_ALL = 1, 2, 3, 4
LOSSES = {"hs": HIERARCHICAL_SOFTMAX, "ns": NEGATIVE_SAMPLING, "softmax": SOFTMAX, "ova": ONE_VS_ALL}
"""The library's names and numbers of them."""
MAX_WORD_NGRAMS = MAX_NGRAM = 100
"""Of words, and of characters: room for all of a line is taken before it is read."""
CENTROIDS = 256
WORD, LABEL = 0, 1
MAX_BUCKETS = 1 << 25
"""The library's default is 2 million; each takes 4 bytes here, whether or not the file has a row for it."""
MAX_MATRIX_BYTES = 1 << 32
"""Of a quantized matrix with its codes replaced, some of which stand for many numbers each."""
MAX_NUMBER = 1e6
"""Beyond every number of a trained model; sums of larger ones end in no number at all."""
MAX_COUNT = 10**15
"""The library's own mark for a node without a count yet: labels stay below it."""


@dataclass(frozen=True)
class Dictionary:
    """`words` and `labels` in file order with the labels' counts; `rows` int32 of `buckets` says which matrix row a
    hashed character n-gram has, -1 for one that was pruned away.
    """

    words: tuple[bytes, ...]
    labels: tuple[bytes, ...]
    label_counts: tuple[int, ...]
    min_n: int
    max_n: int
    rows: np.ndarray


@dataclass(frozen=True)
class FastTextFile:
    """`vectors` float32 (rows, dim): words first, then n-grams; `nodes` float32 (labels, dim): of the softmax tree
    where the `loss` is hierarchical, else one a label. `word_ngrams` is the length up to which runs of words have a
    bucket.
    """

    loss: int
    word_ngrams: int
    dictionary: Dictionary
    vectors: np.ndarray
    nodes: np.ndarray


class _Cursor:
    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data, self.at = path, data, 0

    def take(self, layout: str) -> tuple[int, ...]:
        """The little-endian values of a struct layout."""
        return struct.unpack("<" + layout, self.raw(struct.calcsize("<" + layout)))

    def raw(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise self.error("bytes left", size, len(self.data) - self.at)
        self.at += size
        return self.data[self.at - size : self.at]

    def array(self, dtype: str, size: int) -> np.ndarray:
        return np.frombuffer(self.raw(size * np.dtype(dtype).itemsize), dtype)

    def name(self) -> bytes:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise self.error("end of a word", "a zero byte", "none")
        found = self.data[self.at : end]
        self.at = end + 1
        return found

    def error(self, field: str, expected: object, found: object) -> CorruptDataError:
        todo = "restore the file, or train a model of this kind"
        return CorruptDataError(f"{self.path} at byte {self.at}", field, expected, found, todo)


def read_fasttext(path: Path, sha256: str) -> FastTextFile:
    """Read and check a model file. Raises CorruptDataError where it is missing, other bytes than `sha256`, cut, longer
    than its parts, or of another kind of model.
    """
    data = path.read_bytes() if path.is_file() else None
    found = "missing" if data is None else hashlib.sha256(data).hexdigest()
    if data is None or found != sha256:
        raise CorruptDataError(path, "sha256", sha256, found, "restore the file that was pinned")
    cursor = _Cursor(path, data)
    if (kind := cursor.take("ii")) != (MAGIC, VERSION):
        raise cursor.error("magic and version", (MAGIC, VERSION), kind)
    dim, _, _, _, _, word_ngrams, loss, model, buckets, min_n, max_n, _ = cursor.take("12i")
    cursor.take("d")
    if model != SUPERVISED:
        raise cursor.error("kind of model", f"{SUPERVISED}, a supervised one, which has labels", model)
    if loss not in LOSSES.values():
        known = ", ".join(f"{number} ({name})" for name, number in LOSSES.items())
        raise cursor.error("loss", known, loss)
    if not 1 <= word_ngrams <= MAX_WORD_NGRAMS:
        raise cursor.error("length of word n-grams", f"1 to {MAX_WORD_NGRAMS}", word_ngrams)
    if dim < 1 or not 0 <= min_n <= max_n <= MAX_NGRAM:
        lengths = f"1 or more, rising lengths of up to {MAX_NGRAM}"
        raise cursor.error("dimension and lengths of n-grams", lengths, f"{dim}, {min_n}, {max_n}")
    fewest = 1 if max_n or word_ngrams > 1 else 0  # the library writes none where nothing is hashed
    if not fewest <= buckets <= MAX_BUCKETS:
        raise cursor.error("buckets of n-grams", f"{fewest} to {MAX_BUCKETS}", buckets)
    dictionary = _dictionary(cursor, buckets, min_n, max_n)
    vectors = _matrix(cursor, dim)
    nodes = _matrix(cursor, dim)
    if cursor.at != len(data):
        raise cursor.error("end of file", cursor.at, len(data))
    expected = len(dictionary.words) + int(dictionary.rows.max(initial=-1)) + 1
    if len(vectors) < expected or len(nodes) != len(dictionary.labels):
        rows = f"{len(vectors)} and {len(nodes)}"
        raise cursor.error("matrix rows", f"{expected} and {len(dictionary.labels)}", rows)
    return FastTextFile(loss, word_ngrams, dictionary, vectors, nodes)


def _dictionary(cursor: _Cursor, buckets: int, min_n: int, max_n: int) -> Dictionary:
    size, num_words, num_labels, _, num_kept = cursor.take("iiiqq")
    if num_words < 1 or num_labels < 1 or size != num_words + num_labels:
        raise cursor.error("words and labels", f"{size} in all, of both", f"{num_words} and {num_labels}")
    names, counts, kinds = [], [], []
    for _ in range(size):
        names.append(cursor.name())
        count, kind = cursor.take("qb")
        counts.append(count)
        kinds.append(kind)
    if kinds != [WORD] * num_words + [LABEL] * num_labels:
        raise cursor.error("dictionary", f"{num_words} words, then {num_labels} labels", "another order")
    if num_kept < 0:  # nothing was pruned
        rows = np.arange(buckets, dtype=np.int32)
    else:
        kept = cursor.array("<i4", 2 * num_kept).reshape(-1, 2)
        if kept.size and not (kept.min() >= 0 and kept[:, 0].max() < buckets):
            raise cursor.error("pruned n-gram", f"0 to {buckets}", (kept.min(), kept[:, 0].max()))
        rows = np.full(buckets, -1, np.int32)
        rows[kept[:, 0]] = kept[:, 1]
    words, labels, label_counts = tuple(names[:num_words]), tuple(names[num_words:]), tuple(counts[num_words:])
    # The tree of the softmax is built of them: it has no end, or no bounded depth, where they do not fall to 1.
    if label_counts[-1] < 1 or label_counts[0] >= MAX_COUNT or list(label_counts) != sorted(label_counts, reverse=True):
        raise cursor.error("counts of labels", f"falling from below {MAX_COUNT} to 1 or more", "others")
    for label in labels:
        _check_utf8(cursor, label)
    return Dictionary(words, labels, label_counts, min_n, max_n, rows)


def _check_utf8(cursor: _Cursor, label: bytes) -> None:
    try:
        label.decode()
    except UnicodeDecodeError:
        raise cursor.error("label", "UTF-8", repr(label[:100])) from None


def _matrix(cursor: _Cursor, dim: int) -> np.ndarray:
    """A dense matrix, or a product-quantized one (Joulin et al. 2016, FastText.zip) with its codes replaced."""
    found = _numbers(cursor, dim)
    if found.size and not -MAX_NUMBER <= found.min() <= found.max() <= MAX_NUMBER:
        raise cursor.error("numbers of a matrix", f"within {MAX_NUMBER:g}", f"{found.min()} to {found.max()}")
    return found


def _numbers(cursor: _Cursor, dim: int) -> np.ndarray:
    if not cursor.take("?")[0]:
        rows, columns = cursor.take("qq")
        if columns != dim or rows < 0:
            raise cursor.error("rows and columns", f"0 or more, {dim}", f"{rows}, {columns}")
        return cursor.array("<f4", rows * columns).reshape(rows, columns)
    has_norms, rows, columns, num_codes = cursor.take("?qqi")
    if columns != dim or rows < 0 or 4 * rows * columns > MAX_MATRIX_BYTES:
        raise cursor.error("rows and columns", f"{dim} columns, {MAX_MATRIX_BYTES} bytes", f"{rows}, {columns}")
    codes = cursor.array("u1", num_codes)
    parts, centroids = _quantizer(cursor, dim)
    if num_codes != rows * parts:
        raise cursor.error("codes", rows * parts, num_codes)
    norms = np.ones(rows, np.float32)
    if has_norms:
        norm_codes = cursor.array("u1", rows)
        norms = _quantizer(cursor, 1)[1][0, norm_codes, 0]
    chosen = centroids[np.arange(parts), codes.reshape(rows, parts)]
    return norms[:, None] * chosen.reshape(rows, -1)[:, :dim]


def _quantizer(cursor: _Cursor, dim: int) -> tuple[int, np.ndarray]:
    """(parts, centroids float32 (parts, 256, width)) of a product quantizer."""
    found, parts, width, last = cursor.take("4i")
    if found != dim or parts < 1 or last != width or parts * width != dim:
        raise cursor.error("parts of a vector", f"{dim} in equal ones", f"{found}: {parts} of {width}, the last {last}")
    return parts, cursor.array("<f4", dim * CENTROIDS).reshape(parts, CENTROIDS, width)
