"""Texts as a language model reads them: sentences of words, lower-cased, each digit a 0. Spec: sentence_words.md.

Words are those of words.md. A sentence ends at a full stop, exclamation or question mark that no word character
follows, at their ideographic forms, and at an empty line, so that wrapping lines again changes nothing.
"""

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import large_strings, string_buffers
from corpus_assets.kernels.exact_text import _encode
from corpus_assets.kernels.unicode_tables import LETTER, NUMBER, SINGLE, SPACE, tables
from corpus_assets.kernels.words import decode

_U32 = np.uint32
_NEWLINE, _ZERO = np.uint32(0x0A), np.uint32(ord("0"))


@njit(inline="always")
def _may_end(c):
    return c == 0x2E or c == 0x21 or c == 0x3F


@njit(inline="always")
def _always_ends(c):
    """。！？｡, the danda, the Arabic question mark and the Urdu full stop."""
    return c == 0x3002 or c == 0xFF01 or c == 0xFF1F or c == 0xFF61 or c == 0x0964 or c == 0x061F or c == 0x06D4


@njit(nogil=True, cache=True)
def _sentences(data, offsets, kind, lower, ends, words, out):
    """Words with one space between them, sentences with one line feed; words[d] counts the words of row d, ends[d + 1]
    is where its text ends in `out`.
    """
    n = 0
    ends[0] = 0
    for d in range(words.size):
        i, end, start, count = offsets[d], offsets[d + 1], n, 0
        inside, ended, unsure, lines = False, False, False, 0
        while i < end:
            c, i = decode(data, i)
            k = kind[c]
            if LETTER <= k <= SINGLE:
                ended = ended and not unsure  # a full stop within a word or a number ends nothing
                unsure = False
                if n > start and (not inside or k == SINGLE):
                    out[n] = 0x0A if ended else 0x20
                    n += 1
                count += not inside or k == SINGLE
                n = _encode(_ZERO if k == NUMBER else lower[c], out, n)
                inside, ended, lines = k != SINGLE, False, 0
                continue
            inside = False
            if _may_end(c):
                ended, unsure = True, not ended  # one that another sign follows at once is sure
            else:
                unsure = False
                lines = lines + 1 if c == _NEWLINE else lines if k == SPACE else 0
                ended = ended or lines > 1 or _always_ends(c)
        ends[d + 1], words[d] = n, count


def sentence_words(text: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """(large_string, int64) of a large_string column: the sentences of each row with a line feed between two, and how
    many words they have. A row without words is empty; a null row is one.
    """
    offsets, data = string_buffers(text)
    # A letter's lower case is at most half as long again, and a word of one byte is followed by another or by a sign;
    # an ideograph of three bytes gets a space: twice the bytes hold it all.
    out = np.empty(2 * int(offsets[-1] - offsets[0]), np.uint8)
    ends, words = np.empty(len(offsets), np.int64), np.empty(len(text), np.int64)
    _sentences(data, offsets, *tables(), ends, words, out)
    return large_strings(ends, out[: ends[-1]]), words
