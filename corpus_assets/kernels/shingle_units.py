"""What a shingle is a run of: words, or characters. Spec: minhash.md."""

import numpy as np
from numba import njit

from corpus_assets.kernels.unicode_tables import LETTER, NUMBER, SINGLE
from corpus_assets.kernels.words import FNV_OFFSET, FNV_PRIME, decode, word_hashes
from formats.errors import ConfigError

UNITS = ("word", "char")
_GAP = 0x20
_U64 = np.uint64


def by_char(unit: str) -> bool:
    """Whether the unit is a character; raises ConfigError for one that is not in UNITS."""
    if unit not in UNITS:
        raise ConfigError(f"shingle_unit is {unit!r}, expected {' or '.join(UNITS)}; mend the dedup settings")
    return unit == "char"


@njit(nogil=True, cache=True)
def char_hashes(data, i, end, kind, lower, out):
    """64-bit hashes of the characters of the words of data[i:end], lower-cased, into `out` (room for end - i); returns
    their number. Whatever stands between two words is one space, so re-wrapping lines changes nothing.
    """
    n, gap = 0, False
    while i < end:
        c, i = decode(data, i)
        k = kind[c]
        if LETTER <= k <= NUMBER or k == SINGLE:
            if gap and n > 0:
                out[n] = (FNV_OFFSET ^ _U64(_GAP)) * FNV_PRIME
                n += 1
            out[n] = (FNV_OFFSET ^ _U64(lower[c])) * FNV_PRIME
            n, gap = n + 1, False
        else:
            gap = True
    return n


@njit(nogil=True, cache=True)
def unit_hashes(data, i, end, kind, lower, characters, out):
    """`char_hashes` or `word_hashes`."""
    if characters:
        return char_hashes(data, i, end, kind, lower, out)
    return word_hashes(data, i, end, kind, lower, out)
