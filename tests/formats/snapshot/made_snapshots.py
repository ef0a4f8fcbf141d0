"""Small snapshots whose every token tells where it is."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from formats.snapshot import manifest, token_shard
from formats.snapshot.manifest import Snapshot

SEQ_LEN, VOCAB = 8, 60_000
SHARDS = {("train", "web"): (5, 3), ("train", "books"): (4,), ("val", "web"): (1,)}


def document_of(shards, **changes):
    """A manifest of these shards."""
    return {
        "format": "snapshot",
        "version": 1,
        "dataset": "made",
        "corpus_version": "v1",
        "tokens": "t8",
        "corpus_manifest_sha256": "c" * 64,
        "token_config_sha256": "d" * 64,
        "tokenizer": {"sha256": "e" * 64},
        "vocab_size": VOCAB,
        "eos_id": 0,
        "pad_id": 0,
        "seq_len": SEQ_LEN,
        "dtype": "<u2",
        "packing": "concat",
        "stage_versions": {},
        "counts": {},
        "splits": manifest.columns_of(shards),
        **changes,
    }


def sequences_of(split, bucket, number, rows):
    """(rows, SEQ_LEN) ids, different in every shard."""
    base = {"web": 1_000, "books": 20_000}[bucket] + 500 * number + (40_000 if split == "val" else 0)
    return (base + np.arange(rows * SEQ_LEN)).astype("<u2").reshape(rows, SEQ_LEN)


def index_of(bucket, number, rows):
    """Documents of five tokens; the last one is shorter, and three tokens of padding follow it."""
    num_tokens = rows * SEQ_LEN - 3
    start = np.arange(0, num_tokens, 5)
    length = np.minimum(5, num_tokens - start)
    ids = [f"{bucket}:{number * 100 + i}" for i in range(len(start))]
    columns = [start, length, np.zeros_like(start), ids]
    return pa.table(dict(zip(token_shard.INDEX.names, columns, strict=True)), token_shard.INDEX)


def make_snapshot(root: Path, shards=SHARDS, **changes) -> Snapshot:
    """Write a snapshot below an artifacts root, and read it."""
    folder = root / "snapshots" / "being-made"
    written = [
        token_shard.write(
            folder,
            split,
            bucket,
            number,
            sequences_of(split, bucket, number, rows),
            index_of(bucket, number, rows),
        )
        for (split, bucket), sizes in shards.items()
        for number, rows in enumerate(sizes)
    ]
    snapshot_id = manifest.write(folder, document_of(written, **changes))
    folder.rename(manifest.folder_of(root, snapshot_id))
    return manifest.read(root, snapshot_id)
