"""How many letters a text has, as its reader counts them: what tells a text too short to have a language."""

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.unicode_tables import LETTER, MARK, SINGLE, tables
from corpus_assets.kernels.words import decode

DENSE_LETTER = 3
"""What an ideograph, kana or Hangul syllable counts: it carries about what three letters of an alphabet do."""
_CJK, _HANGUL, _HANGUL_END = 0x2E80, 0xAC00, 0xD7A3


@njit(nogil=True, cache=True)
def _count(data, offsets, kind, out):
    for d in range(out.size):
        i, n, letter = offsets[d], 0, False
        while i < offsets[d + 1]:
            c, i = decode(data, i)
            k = kind[c]
            letter = k in (LETTER, SINGLE) or (letter and k == MARK)
            if letter:
                dense = (k == SINGLE and c >= _CJK) or _HANGUL <= c <= _HANGUL_END
                n += DENSE_LETTER if dense else 1
        out[d] = n


def letter_count(text: pa.Array) -> np.ndarray:
    """int64 per row of a large_string column; a null row has none.

    A mark after a letter counts (a vowel sign is a letter to its reader), one on a sign (an emoji's) does not; digits
    never count.
    """
    offsets, data = string_buffers(text)
    out = np.empty(len(text), np.int64)
    _count(data, offsets, tables()[0], out)
    return out
