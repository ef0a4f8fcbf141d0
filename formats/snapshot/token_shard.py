"""Token shard: packed sequences as a plain file that numpy.memmap opens, and beside it the index of its documents.

`<n>.bin` holds sequences * seq_len token ids, little-endian, nothing else. `<n>.docs.parquet` has a row a piece of a
document, rising by `start`. Spec: snapshot.md.
"""

import hashlib
import mmap
import os
from pathlib import Path

import numpy as np
import pyarrow as pa

from formats import durable
from formats.errors import CorruptDataError
from formats.parquet_file import read_groups, write_groups
from formats.snapshot.manifest import Snapshot, TokenShard

INDEX = pa.schema([
    pa.field("start", pa.int64(), nullable=False),
    pa.field("length", pa.int64(), nullable=False),
    pa.field("first", pa.int64(), nullable=False),
    pa.field("id", pa.string(), nullable=False),
])  # fmt: skip
"""A piece is `length` tokens from token `start` of the shard on; it begins with token `first` of document `id`."""
_TODO = "restore the snapshot from a copy, or build it again"


def write(folder: Path, split: str, bucket: str, number: int, sequences: np.ndarray, index: pa.Table) -> TokenShard:
    """Write both files below the snapshot's folder, each whole or not at all.

    `sequences` (n, seq_len) has the snapshot's dtype; `index` has the schema INDEX. Returns what the manifest records.
    """
    num_tokens = int(index["length"].to_numpy().sum())
    named = TokenShard(split, bucket, number, len(sequences), num_tokens, len(index["id"].unique()), "", "")
    path, index_path = folder / named.name, folder / named.index_name
    data = np.ascontiguousarray(sequences).tobytes()
    durable.write_file(path, data)
    digest = hashlib.sha256(data).hexdigest()
    written = write_groups(number, index_path, [index], INDEX)
    return TokenShard(split, bucket, number, named.sequences, num_tokens, named.documents, digest, written.sha256)


def open_sequences(snapshot: Snapshot, shard: TokenShard, *, verify: bool = False) -> np.ndarray:
    """The sequences (n, seq_len) as a read-only memory map. Raises CorruptDataError where the file has another length,
    and with `verify` another digest.
    """
    path = snapshot.folder / shard.name
    if verify:
        hold(path, shard.sha256)
    return map_sequences(path, snapshot, shard)


def map_sequences(path: Path, snapshot: Snapshot, shard: TokenShard) -> np.ndarray:
    """As `open_sequences`, of a copy of the shard that lies at `path`."""
    expected = shard.sequences * snapshot.seq_len * snapshot.dtype.itemsize
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise CorruptDataError(path, "file", f"{expected} bytes", "missing", _TODO) from None
    try:
        if (found := os.fstat(file).st_size) != expected:
            raise CorruptDataError(path, "length", expected, found, _TODO)
        data = mmap.mmap(file, 0, access=mmap.ACCESS_READ) if expected else b""  # an empty file cannot be mapped
    finally:
        os.close(file)
    return np.frombuffer(data, snapshot.dtype).reshape(shard.sequences, snapshot.seq_len)


def hold(path: Path, sha256: str, name: object = None) -> None:
    """Raises CorruptDataError, which calls the file `name`, where its digest is another or there is no file."""
    if not path.is_file():
        raise CorruptDataError(name or path, "file", f"sha256 {sha256}", durable.instead_of_a_file(path), _TODO)
    if (found := durable.sha256_of(path)) != sha256:
        raise CorruptDataError(name or path, "sha256", sha256, found, _TODO)


def read_index(snapshot: Snapshot, shard: TokenShard) -> pa.Table:
    """The shard's document index, after its digest was checked. Raises CorruptDataError."""
    path = snapshot.folder / shard.index_name
    hold(path, shard.index_sha256)
    return pa.Table.from_batches(read_groups(path, schema=INDEX, todo=_TODO), INDEX)


def boundaries(index: pa.Table, sequence: int, seq_len: int) -> list[tuple[int, int, str]]:
    """(begin, end, id) of each document's tokens within a sequence, in order: for attention masks and positions. What
    lies in none is padding.
    """
    lo, hi = sequence * seq_len, (sequence + 1) * seq_len
    start, length = index["start"].to_numpy(), index["length"].to_numpy()
    rows = np.flatnonzero((start < hi) & (start + length > lo))
    ids = index["id"].take(pa.array(rows)).to_pylist()
    return [
        (max(int(start[i]), lo) - lo, min(int(start[i] + length[i]), hi) - lo, document)
        for i, document in zip(rows.tolist(), ids, strict=True)
    ]
