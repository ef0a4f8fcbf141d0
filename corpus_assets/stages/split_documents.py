"""Which split a document is in: a function of its scrubbed text's SHA-256 alone, for a whole column at once."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

CODE_VERSION = "1"
LIBRARIES = ("pyarrow",)

_VAL, _TRAIN, _NULL = (pa.scalar(name, pa.large_string()) for name in ("val", "train", None))


def split_of_digests(sha256: pa.Array, val_permille: int) -> pa.Array:
    """`val` or `train` (large_string) of each digest (binary(32)); null gives null.

    val: the first 8 bytes as a big-endian unsigned integer, mod 1000, are below val_permille. The scalar truth is
    formats.corpus_shard.split_of. Raises ValueError unless 0 <= val_permille <= 1000.
    """
    if not 0 <= val_permille <= 1000:
        raise ValueError(f"val_permille is {val_permille}, expected 0 to 1000")
    if sha256.type != pa.binary(32):
        raise TypeError(f"expected binary(32), found {sha256.type}")
    digests = sha256.fill_null(bytes(32))
    rows = np.frombuffer(digests.buffers()[1] or b"", np.uint8)[32 * digests.offset :][: 32 * len(digests)]
    heads = np.ascontiguousarray(rows.reshape(-1, 32)[:, :8]).view(">u8").ravel()
    split = pc.if_else(pa.array(heads % 1000 < val_permille), _VAL, _TRAIN)
    return pc.if_else(sha256.is_valid(), split, _NULL)
