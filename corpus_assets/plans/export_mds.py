"""MosaicML's MDS: a folder of shards with an index.json, a sample a packed sequence, in a column `tokens`.

Layout of a shard, little-endian: number of samples n (uint32); n + 1 offsets from the file's beginning (uint32); the
columns as JSON with sorted keys; then the samples, each the bytes of its one column, whose size is fixed by its
encoding `ndarray:<type>:<seq_len>`. Padding is part of the sequences, as `pad_id`.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpus_assets.plans.export_megatron import Written
from formats import durable
from formats.snapshot.manifest import Snapshot, TokenShard
from formats.snapshot.token_shard import open_sequences

SHARD_BYTES = 1 << 26
"""The most bytes of a shard, as in the format's own writer; a sample larger than that has a shard of its own."""
HASH = "sha256"


def write(snapshot: Snapshot, shards: Sequence[TokenShard], path: Path) -> Written:
    """Write the folder `path` of one bucket's shards."""
    path.mkdir()
    about = {
        "column_encodings": [f"ndarray:{snapshot.dtype.name}:{snapshot.seq_len}"],
        "column_names": ["tokens"],
        "column_sizes": [snapshot.seq_len * snapshot.dtype.itemsize],
        "compression": None,
        "format": "mds",
        "hashes": [HASH],
        "size_limit": SHARD_BYTES,
        "version": 2,
    }
    config = json.dumps(about, sort_keys=True).encode()
    entries: list[dict[str, Any]] = []
    tokens = 0
    for shard in shards:
        tokens += shard.tokens
        sequences = open_sequences(snapshot, shard, verify=True)
        row_bytes = snapshot.seq_len * snapshot.dtype.itemsize
        rows = max(1, (SHARD_BYTES - len(config) - 8) // (row_bytes + 4))
        for at in range(0, len(sequences), rows):
            data = shard_bytes(sequences[at : at + rows], config)
            name = f"shard.{len(entries):05d}.mds"
            (path / name).write_bytes(data)
            raw = {"basename": name, "bytes": len(data), "hashes": {HASH: hashlib.sha256(data).hexdigest()}}
            entries.append({**about, "raw_data": raw, "samples": len(sequences[at : at + rows]), "zip_data": None})
    index = json.dumps({"shards": entries, "version": 2}, sort_keys=True).encode()
    durable.write_file(path / "index.json", index)
    return Written(sum(entry["samples"] for entry in entries), tokens)


def shard_bytes(sequences: np.ndarray, config: bytes) -> bytes:
    """One shard of these sequences (n, seq_len)."""
    n, row_bytes = len(sequences), sequences.shape[1] * sequences.dtype.itemsize
    begin = 4 + 4 * (n + 1) + len(config)
    offsets = begin + np.arange(n + 1, dtype=np.int64) * row_bytes
    little = sequences.astype(sequences.dtype.newbyteorder("<"), copy=False)
    return np.uint32(n).astype("<u4").tobytes() + offsets.astype("<u4").tobytes() + config + little.tobytes()
