"""Documents as token ids, each ended by the end-of-document token, with the shard and place that its hash gives it."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.arrow import fixed_binaries, large_binaries
from corpus_assets.stages import fast_tokenizer
from corpus_assets.stages.loaded_tokenizer import load_tokenizer

CODE_VERSION = "2"


def libraries(fast: bool) -> tuple[str, ...]:
    """The distributions whose versions decide the ids."""
    return ("tokenizers", *(fast_tokenizer.LIBRARIES if fast else ()))


ORDER_BYTES = 8

CORPUS_ROWS = pa.schema(
    [pa.field(name, pa.large_string()) for name in ("id", "text", "source_id", "license_spdx", "lang", "split")]
)
"""What is read of a corpus shard."""
TOKENIZED = pa.schema([
    pa.field("token_shard", pa.int64(), nullable=False),
    pa.field("order", pa.binary(ORDER_BYTES), nullable=False),
    pa.field("id", pa.large_string(), nullable=False),
    pa.field("lang", pa.large_string(), nullable=False),
    pa.field("license_spdx", pa.large_string(), nullable=False),
    pa.field("tokens", pa.large_binary(), nullable=False),
])  # fmt: skip
"""`tokens`: little-endian ids of the snapshot's dtype. Sorted by (token_shard, order, id)."""


def tokenize_documents(
    batch: pa.RecordBatch,
    *,
    shards: dict[str, tuple[int, int]],
    seed: int,
    tokenizer: dict[str, Any],
) -> pa.RecordBatch:
    """CORPUS_ROWS -> TOKENIZED rows in the same order.

    `shards`: `<split>/<source>` -> (number of the bucket's first token shard, how many it has). A document's hash says
    which of them it goes to, and where in it: neighbours of the corpus part.
    """
    loaded = load_tokenizer(**tokenizer)
    names, texts = _strings(batch["id"]), _strings(batch["text"])
    hashes = document_hashes(names, seed)
    tokens, lengths = loaded.encode(texts, names)
    if loaded.fast:
        loaded.check_again(names, texts, tokens, lengths, hashes)
    offsets = np.concatenate([[0], np.cumsum(lengths)]) * tokens.itemsize
    columns = [
        pa.array(_token_shards(batch, hashes[:, 0], shards)),
        fixed_binaries(hashes[:, :1].astype(">u8")),
        batch["id"],
        batch["lang"],
        batch["license_spdx"],
        large_binaries(offsets, tokens),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=TOKENIZED)


def document_hashes(names: list[str], seed: int) -> np.ndarray:
    """H(id, seed), uint64 (document, 4): the first number is a document's place in its bucket's order, which its eight
    bytes sort by; the last one chooses what is encoded again.
    """
    digests = b"".join([hashlib.sha256(f"{seed}:{name}".encode()).digest() for name in names])
    return np.frombuffer(digests, ">u8").reshape(-1, 4).astype(np.uint64)


def _token_shards(batch: pa.RecordBatch, order: np.ndarray, shards: dict[str, tuple[int, int]]) -> np.ndarray:
    """int64 [document]: its token shard, one of its bucket's. They are equal ranges of the hash, so that shards follow
    each other in the order of the whole bucket.
    """
    slash = pa.scalar("/", pa.large_string())
    groups = pc.binary_join_element_wise(batch["split"], batch["source_id"], slash).dictionary_encode()
    ranges = np.array([shards[group] for group in groups.dictionary.to_pylist()], np.uint64).reshape(-1, 2)
    first, size = ranges[groups.indices.to_numpy()].T
    half = np.uint64(32)  # order * size >> 64 has 96 bits on the way, so it is taken by halves
    low = (order & np.uint64(0xFFFF_FFFF)) * size >> half
    return (first + ((order >> half) * size + low >> half)).astype(np.int64)


def _strings(column: pa.Array) -> list[str]:
    """As `to_pylist`, in a third of its time."""
    strings: list[str] = column.to_numpy(zero_copy_only=False).tolist()
    return strings
