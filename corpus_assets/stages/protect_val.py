"""Val is protected: a train row with a verified edge to a val row is withheld (design section 4)."""

import numpy as np
import pyarrow as pa

CODE_VERSION = "1"

WITHHELD = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        pa.field("keeper_rank", pa.int64(), nullable=False),
        pa.field("keeper_id", pa.large_string(), nullable=False),
        pa.field("keeper_raw_part", pa.int32(), nullable=False),
        pa.field("keeper_jaccard", pa.int64(), nullable=False),
    ]
)
"""Train rows that go, with the val row each is near to (the first in keeper order) and their Jaccard in millionths."""


def train_near_val(
    a: np.ndarray, b: np.ndarray, jaccard: np.ndarray, published: np.ndarray, is_val: np.ndarray, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(train rank, val rank, jaccard) of the train rows to withhold, by ascending train rank, each once.

    `published` and `is_val` say of each of `nodes` (ascending ranks, all in a and b among them) what scrubbing gave.
    """
    left, right = np.searchsorted(nodes, a), np.searchsorted(nodes, b)
    both = published[left] & published[right]
    forward = both & ~is_val[left] & is_val[right]
    backward = both & is_val[left] & ~is_val[right]
    train = np.concatenate((a[forward], b[backward]))
    val = np.concatenate((b[forward], a[backward]))
    score = np.concatenate((jaccard[forward], jaccard[backward]))
    order = np.lexsort((val, train))
    train, val, score = train[order], val[order], score[order]
    first = np.ones(len(train), np.bool_)
    first[1:] = train[1:] != train[:-1]
    return train[first], val[first], score[first]
