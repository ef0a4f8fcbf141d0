"""Documents within packed sequences, from the tokens of a batch: for attention masks and position resets.

Every document ends with the end-of-document token. Where that is a special token of the tokenizer file, no text gives
its id, so that these are the borders of `token_shard.boundaries` without a look at the index. Padding, at the end of a
sequence, counts as documents, too: one a token where it has the id of the end, else one.
"""

import numpy as np


def numbers(tokens: np.ndarray, eos_id: int) -> np.ndarray:
    """int32 (n, seq_len): which document of its sequence, from 0, each of the tokens (n, seq_len) belongs to. A token
    attends to those with its own number.
    """
    return np.cumsum(_begins(tokens, eos_id), axis=1, dtype=np.int32) - np.int32(1)


def positions(tokens: np.ndarray, eos_id: int) -> np.ndarray:
    """int32 (n, seq_len): the place of each token in its document, counted from the first one in this sequence."""
    place = np.arange(tokens.shape[1], dtype=np.int32)
    begun = np.where(_begins(tokens, eos_id), place, np.int32(0))
    return place - np.maximum.accumulate(begun, axis=1)


def cumulative_lengths(tokens: np.ndarray, eos_id: int) -> np.ndarray:
    """int32 (documents + 1,): where the documents begin in the sequences laid end to end, and where the last one ends:
    `cu_seqlens` of attention over lengths that vary.
    """
    return np.append(np.flatnonzero(_begins(tokens, eos_id)), tokens.size).astype(np.int32)


def _begins(tokens: np.ndarray, eos_id: int) -> np.ndarray:
    """bool (n, seq_len): a document begins, or goes on from another sequence."""
    found = np.ones(tokens.shape, np.bool_)
    found[:, 1:] = tokens[:, :-1] == eos_id
    return found
