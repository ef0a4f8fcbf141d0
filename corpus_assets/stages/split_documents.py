"""Which split a document is in: a function of its scrubbed text's SHA-256 alone, for a whole column at once."""

import pyarrow as pa
import pyarrow.compute as pc

from formats.corpus_shard import permilles
from formats.errors import ConfigError

CODE_VERSION = "1"
LIBRARIES = ("pyarrow",)

_VAL, _TRAIN, _NULL = (pa.scalar(name, pa.large_string()) for name in ("val", "train", None))


def split_of_digests(sha256: pa.Array, val_permille: int) -> pa.Array:
    """`val` or `train` (large_string) of each digest (binary(32)), as formats.corpus_shard.split_of; null gives null.

    Raises ConfigError unless 0 <= val_permille <= 1000, TypeError for a column of another type.
    """
    if not 0 <= val_permille <= 1000:
        raise ConfigError(f"val_permille is {val_permille}, expected 0 to 1000")
    if sha256.type != pa.binary(32):
        raise TypeError(f"expected binary(32), found {sha256.type}")
    is_val = permilles(sha256.fill_null(bytes(32))) < val_permille
    return pc.if_else(sha256.is_valid(), pc.if_else(pa.array(is_val), _VAL, _TRAIN), _NULL)
