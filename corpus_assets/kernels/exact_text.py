"""Normalization, and the digests by which texts are equal. Spec: words.md.

NFC is that of the `unicodedata2` library; a kernel over the frozen tables finds the few rows that need it. SHA-256 is
that of hashlib. Cost: exact digests some 300 MB/s a core, text digests the speed of SHA-256.
"""

import hashlib
from itertools import compress, pairwise
from operator import ne

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import unicodedata2
from numba import njit

from corpus_assets.kernels.arrow import fixed_binaries, large_binaries, string_buffers
from corpus_assets.kernels.unicode_tables import NFC_UNSURE, SPACE, nfc_table, tables
from corpus_assets.kernels.words import decode

_U32 = np.uint32
DIGEST_BYTES = 32
EMPTY_DIGEST = hashlib.sha256(b"").digest()
"""The exact digest of a text of nothing but white space; such a document never enters dedup."""


@njit(nogil=True, cache=True)
def _may_change(data, offsets, table, out):
    for d in range(out.size):
        i, end, last, unsure, ascii_or = offsets[d], offsets[d + 1], 0, False, 0
        for j in range(i, end):  # many bytes at a time: most rows end here
            ascii_or |= data[j]
        while ascii_or >= 0x80 and i < end and not unsure:
            if data[i] < 0x80:
                i, last = i + 1, 0
                continue
            c, i = decode(data, i)
            kind = table[c]
            unsure = kind == NFC_UNSURE or (kind != 0 and kind < last)
            last = kind
        out[d] = unsure


def nfc(text: pa.Array) -> pa.Array:
    """The large_string column in form NFC; the same object where no row needs it. Null rows become empty texts."""
    if text.null_count:
        text = text.fill_null("")
    unsure = np.empty(len(text), np.bool_)
    offsets, data = string_buffers(text)
    _may_change(data, offsets, nfc_table(), unsure)
    if not unsure.any():
        return text
    rows = text.filter(pa.array(unsure)).to_pylist()
    composed = [unicodedata2.normalize("NFC", row) for row in rows]
    return _replaced(text, np.flatnonzero(unsure), rows, composed)


def _replaced(text: pa.Array, where: np.ndarray, old: list[str], new: list[str]) -> pa.Array:
    """The column with the rows `where` changed from `old` to `new`; the same object where none differs."""
    differs = np.fromiter(map(ne, old, new), np.bool_, len(old))
    if not differs.any():
        return text
    mask = np.zeros(len(text), np.bool_)
    mask[where[differs]] = True
    return pc.replace_with_mask(text, pa.array(mask), pa.array(list(compress(new, differs)), pa.large_string()))


def normalize(text: pa.Array) -> pa.Array:
    """NFC, and CR LF or CR to LF (design section 4, Normalization). Null rows become empty texts."""
    text = nfc(text)
    offsets, data = string_buffers(text)
    returns = np.flatnonzero(data[offsets[0] : offsets[-1]] == ord("\r")) + offsets[0]
    if not len(returns):
        return text
    where = np.unique(np.searchsorted(offsets, returns, side="right") - 1)
    rows = text.take(pa.array(where)).to_pylist()
    return _replaced(text, where, rows, [row.replace("\r\n", "\n").replace("\r", "\n") for row in rows])


def text_digests(text: pa.Array) -> pa.Array:
    """SHA-256 of the UTF-8 bytes of each row, as fixed_size_binary(32); a null row is an empty text."""
    return _digests(*string_buffers(text))


def _digests(offsets: np.ndarray, data: np.ndarray) -> pa.Array:
    view = data.data
    digests = [hashlib.sha256(view[i:j]).digest() for i, j in pairwise(offsets.tolist())]
    return fixed_binaries(np.frombuffer(b"".join(digests), np.uint8).reshape(len(digests), DIGEST_BYTES))


@njit(inline="always")
def _encode(c, out, n):
    """Append the code point `c` as UTF-8 at out[n:]; returns the index after it."""
    if c < 0x80:
        out[n] = c
        return n + 1
    if c < 0x800:
        out[n], out[n + 1] = 0xC0 | (c >> _U32(6)), 0x80 | (c & _U32(0x3F))
        return n + 2
    if c < 0x10000:
        out[n], out[n + 1] = 0xE0 | (c >> _U32(12)), 0x80 | ((c >> _U32(6)) & _U32(0x3F))
        out[n + 2] = 0x80 | (c & _U32(0x3F))
        return n + 3
    out[n], out[n + 1] = 0xF0 | (c >> _U32(18)), 0x80 | ((c >> _U32(12)) & _U32(0x3F))
    out[n + 2], out[n + 3] = 0x80 | ((c >> _U32(6)) & _U32(0x3F)), 0x80 | (c & _U32(0x3F))
    return n + 4


@njit(nogil=True, cache=True)
def _fold(data, offsets, kind, lower, ends, out):
    n = 0
    ends[0] = 0
    for d in range(ends.size - 1):
        i, end, start, gap = offsets[d], offsets[d + 1], n, False
        while i < end:
            c, i = decode(data, i)
            if kind[c] == SPACE:
                gap = n > start
                continue
            if gap:
                out[n] = 0x20
                n, gap = n + 1, False
            n = _encode(lower[c], out, n)
        ends[d + 1] = n


def folded(text: pa.Array) -> pa.Array:
    """What exact duplicates have in common, as large_binary: NFC, lower case, each run of white space as one space.

    White space at either end goes; the lower case is that of the frozen tables.
    """
    offsets, data = string_buffers(nfc(text))
    # A lower case is at most half as long again as its letter: two bytes to three.
    out = np.empty(int(offsets[-1] - offsets[0]) * 3 // 2, np.uint8)
    ends = np.empty(len(offsets), np.int64)
    _fold(data, offsets, *tables(), ends, out)
    return large_binaries(ends, out[: ends[-1]])


def exact_digests(text: pa.Array) -> pa.Array:
    """SHA-256 of each row's `folded` bytes, as fixed_size_binary(32): equal for exact duplicates."""
    return _digests(*string_buffers(folded(text)))
