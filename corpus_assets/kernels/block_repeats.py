"""What a page says or builds more than once: runs of words that stand in several blocks, and elements on one path.
Spec: block_features.md.

Cost: an open table of the page's runs and one of its elements; at most some 40 MB, for a page of a million words.
"""

import numpy as np
from numba import njit

RUN = 5
"""Words of a run."""
MOST_WORDS = 1 << 20
"""Runs that end behind so many words of a page are not looked for, so that the table stays small."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_U64 = np.uint64


@njit(nogil=True, cache=True)
def slot_of(keys, key):
    """The place of a key in an open table, which it takes where it is new; keys are not 0."""
    mask = _U64(keys.size - 1)
    place = (key ^ (key >> _U64(23))) & mask
    while keys[place] != 0 and keys[place] != key:
        place = (place + _U64(1)) & mask
    keys[place] = key
    return place


@njit(nogil=True, cache=True)
def table_size(num_keys):
    """A power of two that is at most half full with so many keys."""
    size = 64
    while size < 2 * num_keys + 2:
        size *= 2
    return size


@njit(nogil=True, cache=True)
def repeats(words, words_of, said_again, said_before):
    """Fills, per block, how many of its runs stand in another block, and in one before it. `words` are hashes, block
    after block, `words_of` how many each has.
    """
    num_words = min(words.size, MOST_WORDS)
    size = table_size(num_words)
    keys, first, is_shared = np.zeros(size, np.uint64), np.zeros(size, np.int32), np.zeros(size, np.bool_)
    slots = np.zeros(num_words, np.int32)
    start: int = 0
    for b in range(words_of.size):
        for i in range(start, min(start + words_of[b], num_words) - RUN + 1):
            run = _U64(0)
            for k in range(RUN):
                run = (run ^ words[i + k]) * _MIX
                run ^= run >> _U64(29)
            slot = slot_of(keys, max(run, _U64(1)))
            slots[i] = slot
            # Blocks are numbered from 1 here, so that 0 is nobody's.
            if first[slot] == 0:
                first[slot] = b + 1
            elif first[slot] != b + 1:
                is_shared[slot] = True
        start += words_of[b]
    start = 0
    for b in range(words_of.size):
        for i in range(start, min(start + words_of[b], num_words) - RUN + 1):
            said_again[b] += is_shared[slots[i]]
            said_before[b] += first[slots[i]] < b + 1
        start += words_of[b]


@njit(nogil=True, cache=True)
def alike(paths, number, in_all):
    """Fills, per element but the page, how many before it are on its path, and how many are on it in all."""
    keys = np.zeros(table_size(paths.size), np.uint64)
    count = np.zeros(keys.size, np.int32)
    slots = np.zeros(paths.size, np.int32)
    for e in range(1, paths.size):
        slot = slot_of(keys, max(paths[e], _U64(1)))
        slots[e], number[e] = slot, count[slot]
        count[slot] += 1
    for e in range(1, paths.size):
        in_all[e] = count[slots[e]]
