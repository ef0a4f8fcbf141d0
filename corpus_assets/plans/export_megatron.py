"""Megatron's indexed dataset: `<bucket>.bin`, the documents' tokens end to end, and `<bucket>.idx`, where each begins.

Layout of the index, little-endian: the 9 bytes MMIDIDX and two zeros; version 1 (uint64); code of the tokens' type
(uint8: 8 uint16, 4 int32); number of sequences (uint64); number of document borders (uint64); a sequence's tokens
(int32 each); its first byte in the .bin (int64 each); the sequences at which documents begin, and their number (int64
each). A document of the corpus is one sequence and one document: Megatron packs them anew, at any length. Padding stays
behind. There is no uint32: ids are int32 where uint16 does not hold the vocabulary.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from formats.errors import ConfigError, CorruptDataError
from formats.snapshot.manifest import Snapshot, TokenShard
from formats.snapshot.token_shard import open_sequences, read_index

MAGIC = b"MMIDIDX\x00\x00"
CODES = {"<u2": (8, "<u2"), "<u4": (4, "<i4")}
"""The snapshot's type of tokens -> (code, type) in the .bin."""
_MAX_INT32 = (1 << 31) - 1
_TOKENS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Written:
    samples: int
    tokens: int


def write(snapshot: Snapshot, shards: Sequence[TokenShard], path: Path) -> Written:
    """Write `<path>.bin` and `<path>.idx` of one bucket's shards. CorruptDataError where a document is not whole."""
    code, dtype = CODES[snapshot.dtype.str]
    if snapshot.document["vocab_size"] > _MAX_INT32:
        raise ConfigError(f"{snapshot.snapshot_id}: Megatron's ids are at most {_MAX_INT32}; use another form")
    lengths = []
    with open(f"{path}.bin", "wb") as file:
        for shard in shards:
            length, pieces = _documents(snapshot, shard)
            lengths.append(length)
            tokens = open_sequences(snapshot, shard, verify=True).reshape(-1)
            for where in _gathered(*pieces):
                file.write(tokens[where].astype(dtype, copy=False).tobytes())
    sizes = np.concatenate([np.zeros(0, np.int64), *lengths])
    Path(f"{path}.idx").write_bytes(index_bytes(sizes, code, np.dtype(dtype).itemsize))
    return Written(sizes.size, int(sizes.sum()))


def index_bytes(sizes: np.ndarray, code: int, itemsize: int) -> bytes:
    """The index of documents of these lengths (int64, in tokens). Pointers are int64 from the first sum on: in int32
    they wrap at 2 GiB. Raises ConfigError for a document of 2^31 tokens or more, which the index cannot hold.
    """
    if sizes.size and int(sizes.max()) > _MAX_INT32:
        raise ConfigError(f"a document has {int(sizes.max())} tokens; Megatron's index holds at most {_MAX_INT32}")
    pointers = (np.cumsum(sizes, dtype=np.int64) - sizes) * itemsize
    head = MAGIC + struct.pack("<QBQQ", 1, code, sizes.size, sizes.size + 1)
    borders = np.arange(sizes.size + 1, dtype="<i8")
    return head + sizes.astype("<i4").tobytes() + pointers.astype("<i8").tobytes() + borders.tobytes()


def _documents(snapshot: Snapshot, shard: TokenShard) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """(tokens of each document, in the order in which they begin in the shard; (start, length) of their pieces)."""
    index = read_index(snapshot, shard)
    start, length, first = (index[name].to_numpy() for name in ("start", "length", "first"))
    doc = index["id"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)  # numbered as they come
    at = np.lexsort((first, doc))
    start, length, first, doc = start[at], length[at], first[at], doc[at]
    size = np.bincount(doc, length).astype(np.int64) if doc.size else np.zeros(0, np.int64)
    before = np.cumsum(length) - length
    if not np.array_equal(first, before - (np.cumsum(size) - size)[doc]) or int(size.sum()) != shard.tokens:
        path = snapshot.folder / shard.index_name
        raise CorruptDataError(path, "pieces", f"whole documents of {shard.tokens} tokens", "others", "report this")
    return size, (start, length)


def _gathered(start: np.ndarray, length: np.ndarray) -> Iterator[np.ndarray | slice]:
    """Which tokens of a shard to take, some at a time, so that pieces come in this order."""
    if not start.size:
        return
    apart = np.flatnonzero(start[1:] != (start + length)[:-1])
    if 16 * apart.size < start.size:  # documents end to end, as they were packed
        begins, ends = np.append(0, apart + 1), np.append(apart, start.size - 1)
        for b, e in zip(start[begins].tolist(), (start + length)[ends].tolist(), strict=True):
            yield from (slice(at, min(at + _TOKENS_AT_ONCE, e)) for at in range(b, e, _TOKENS_AT_ONCE))
        return
    border = np.cumsum(length) // _TOKENS_AT_ONCE
    for rows in np.split(np.arange(start.size), np.flatnonzero(np.diff(border)) + 1):
        own = length[rows]
        yield np.arange(own.sum()) + np.repeat(start[rows] - (np.cumsum(own) - own), own)
