"""Pack the documents of a shard into sequences of one length. No token is lost: each is in exactly one sequence.

`concat` joins documents end to end and cuts the line every seq_len tokens; `best_fit` cuts only documents longer than a
sequence and pads what stays free.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.arrow import large_binaries, string_buffers
from corpus_assets.kernels.best_fit import best_fit

CODE_VERSION = "2"
LIBRARIES = ("pyarrow",)
BATCH_BYTES = 8 * 1024 * 1024

PIECE = pa.struct([
    pa.field("start", pa.int64(), nullable=False),
    pa.field("length", pa.int64(), nullable=False),
    pa.field("first", pa.int64(), nullable=False),
    pa.field("id", pa.large_string(), nullable=False),
])  # fmt: skip
PACKED = pa.schema([
    pa.field("sequence", pa.large_binary(), nullable=False),
    pa.field("pieces", pa.large_list(PIECE), nullable=False),
])  # fmt: skip
"""A row a sequence: its ids, and the pieces of documents that begin in it (token_shard.INDEX)."""

Packing = Literal["concat", "best_fit"]


@dataclass(frozen=True)
class Packed:
    """Where the documents' tokens go. int64 arrays, a piece each, rising by `start`: `doc` its document, `first` its
    first token in the document, `start` its first token in the shard, `length` its tokens.
    """

    num_sequences: int
    seq_len: int
    doc: np.ndarray
    first: np.ndarray
    start: np.ndarray
    length: np.ndarray

    @property
    def padding(self) -> int:
        """Tokens of the sequences that belong to no document."""
        return self.num_sequences * self.seq_len - int(self.length.sum())

    def fill(self, tokens: np.ndarray, offsets: np.ndarray, pad: int) -> np.ndarray:
        """The sequences (num_sequences, seq_len) of documents whose tokens are tokens[offsets[d]:offsets[d + 1]]."""
        flat = np.full(self.num_sequences * self.seq_len, pad, tokens.dtype)
        begin = offsets[self.doc] + self.first
        ends, stops = begin + self.length, self.start + self.length
        # Pieces that follow each other on both sides are copied as one: with `concat` all of them.
        joined = (begin[1:] == ends[:-1]) & (self.start[1:] == stops[:-1])
        firsts, lasts = np.flatnonzero(np.append(True, ~joined)), np.flatnonzero(np.append(~joined, True))
        runs = (self.start[firsts], stops[lasts], begin[firsts], ends[lasts]) if self.doc.size else ()
        for to, to_end, of, of_end in zip(*(one.tolist() for one in runs), strict=True):
            flat[to:to_end] = tokens[of:of_end]
        return flat.reshape(self.num_sequences, self.seq_len)


def pack(lengths: np.ndarray, seq_len: int, packing: Packing) -> Packed:
    """Pack documents of these lengths (int64, at least 1), in their order. Raises ValueError for an unknown packing.

    Cut documents give several pieces in `best_fit`; in `concat` a document is one piece that may cross sequences.
    """
    lengths = np.asarray(lengths, np.int64)
    if packing == "concat":
        start = np.cumsum(lengths) - lengths
        num_sequences = -(-int(lengths.sum()) // seq_len)
        return Packed(num_sequences, seq_len, np.arange(lengths.size), np.zeros_like(lengths), start, lengths)
    if packing != "best_fit":
        raise ValueError(f"packing is {packing!r}, expected concat or best_fit")
    num_pieces = -(-lengths // seq_len)
    doc = np.repeat(np.arange(lengths.size), num_pieces)
    first = (np.arange(doc.size) - np.repeat(np.cumsum(num_pieces) - num_pieces, num_pieces)) * seq_len
    length = np.minimum(lengths[doc] - first, seq_len)
    bins, offset, num_bins = best_fit(length, seq_len)
    start = _in_order_of_documents(bins, num_bins)[bins] * seq_len + offset
    order = np.argsort(start, kind="stable")
    return Packed(num_bins, seq_len, doc[order], first[order], start[order], length[order])


def pack_shard(
    _shard: int, batches: Iterator[pa.RecordBatch], *, seq_len: int, packing: Packing, dtype: str, pad: int
) -> Generator[pa.RecordBatch, None, dict[str, int]]:
    """TOKENIZED rows of one shard, sorted -> its PACKED rows. Holds the shard's tokens.

    Its notes: documents, tokens, padding and cut documents, and tokens by `lang:<code>` and `license:<SPDX>`.
    """
    rows = pa.Table.from_batches(batches).combine_chunks()
    offsets, data = (np.asarray(part) for part in string_buffers(rows["tokens"].combine_chunks()))
    width = np.dtype(dtype).itemsize
    tokens = data[offsets[0] : offsets[-1]].view(dtype)
    offsets = (offsets - offsets[0]) // width
    packed = pack(np.diff(offsets), seq_len, packing)
    sequences = packed.fill(tokens, offsets, pad)
    pieces = pa.StructArray.from_arrays(
        [pa.array(packed.start), pa.array(packed.length), pa.array(packed.first), _taken(rows["id"], packed.doc)],
        fields=list(PIECE),
    )
    begins = np.searchsorted(packed.start, np.arange(packed.num_sequences + 1) * seq_len)
    step = max(1, BATCH_BYTES // (seq_len * width))
    for at in range(0, packed.num_sequences, step):
        some = sequences[at : at + step]
        lists = pa.LargeListArray.from_arrays(pa.array(begins[at : at + len(some) + 1]), pieces, type=PACKED[1].type)
        ends = np.arange(len(some) + 1, dtype=np.int64) * (seq_len * width)
        yield pa.RecordBatch.from_arrays([large_binaries(ends, some), lists], schema=PACKED)
    cut = np.flatnonzero(packed.start // seq_len != (packed.start + packed.length - 1) // seq_len)
    several = np.flatnonzero(np.bincount(packed.doc) > 1)
    return {
        "documents": rows.num_rows,
        "tokens": int(packed.length.sum()),
        "padding": packed.padding,
        "cut_documents": len(np.union1d(packed.doc[cut], several)),
        **_tokens_by("lang", rows["lang"], np.diff(offsets)),
        **_tokens_by("license", rows["license_spdx"], np.diff(offsets)),
    }


def _taken(column: pa.ChunkedArray, rows: np.ndarray) -> pa.Array:
    return column.combine_chunks().take(pa.array(rows))


def _tokens_by(name: str, column: pa.ChunkedArray, lengths: np.ndarray) -> dict[str, int]:
    values = column.combine_chunks().dictionary_encode()
    sums = np.zeros(len(values.dictionary), np.int64)
    np.add.at(sums, values.indices.to_numpy(), lengths)
    return {f"{name}:{value}": count for value, count in zip(values.dictionary.to_pylist(), sums.tolist(), strict=True)}


def _in_order_of_documents(bins: np.ndarray, num_bins: int) -> np.ndarray:
    """int64 [bin]: its place when bins are sorted by their earliest document: packing sorts by length, which must not
    show in the order of the sequences.
    """
    _, earliest = np.unique(bins, return_index=True)
    place = np.empty(num_bins, np.int64)
    place[np.argsort(earliest, kind="stable")] = np.arange(num_bins)
    return place
