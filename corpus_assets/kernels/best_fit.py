"""Best-fit decreasing bin packing of document pieces into sequences (Ding et al. 2024, "Fewer Truncations Improve
Language Modeling"). Cost: O(pieces) and a scan of at most seq_len / 64 words a piece.
"""

import numpy as np
from numba import njit

_EMPTY = -1
_WORD = 64


@njit(nogil=True, cache=True)
def _place(by_length, lengths, seq_len, bins, offsets):
    """Put every piece into the fullest bin that has room, the youngest of equal ones; returns the number of bins."""
    youngest = np.full(seq_len + 1, _EMPTY, np.int64)  # by the room that is left
    older = np.empty(by_length.size, np.int64)
    some = np.zeros(seq_len // _WORD + 1, np.uint64)  # a bit for each room that some bin has
    num_bins = 0
    for at in range(by_length.size):
        piece = by_length[at]
        room = _least_room(some, lengths[piece])
        if room < 0:
            bin_, room = num_bins, seq_len
            num_bins += 1
        else:
            bin_ = youngest[room]
            youngest[room] = older[bin_]
            if youngest[room] == _EMPTY:
                some[room // _WORD] &= ~(np.uint64(1) << np.uint64(room % _WORD))
        bins[piece], offsets[piece] = bin_, seq_len - room
        room -= lengths[piece]
        if room > 0:
            older[bin_], youngest[room] = youngest[room], bin_
            some[room // _WORD] |= np.uint64(1) << np.uint64(room % _WORD)
    return num_bins


@njit(inline="always")
def _least_room(some, length):
    """The least room of any bin that holds `length`; -1 where none does."""
    word, bit = length // _WORD, length % _WORD
    bits = some[word] >> np.uint64(bit) << np.uint64(bit)
    while bits == 0:
        word += 1
        if word >= some.size:
            return -1
        bits = some[word]
    room = word * _WORD
    while bits & np.uint64(1) == 0:
        bits >>= np.uint64(1)
        room += 1
    return room


def best_fit(lengths: np.ndarray, seq_len: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(bin int64, offset in it int64) of each piece, and the number of bins. Lengths are from 1 to `seq_len`.

    Longest first, equal ones in their order. Raises ValueError for a length that fits no bin.
    """
    lengths = np.ascontiguousarray(lengths, np.int64)
    if lengths.size and not 1 <= lengths.min() <= lengths.max() <= seq_len:
        raise ValueError(f"lengths are {lengths.min()} to {lengths.max()}, expected 1 to {seq_len}; cut pieces first")
    bins, offsets = np.empty_like(lengths), np.empty_like(lengths)
    num_bins = _place(np.argsort(-lengths, kind="stable"), lengths, seq_len, bins, offsets)
    return bins, offsets, num_bins
