"""Documents of a made-up farm, and what lies in a folder of shards."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from formats import corpus_manifest
from formats.corpus_shard import SCHEMA, Doc, read_shard

META = {"url": "u", "license_spdx": "MIT"}
SETTINGS: dict[str, Any] = {"dataset": "toy", "version": "v1", "shard_rows": 2}


def doc(i: int, text: str = "A hen sits.", **meta: Any) -> Doc:
    return Doc(f"farm:{i}", text, "farm", {**META, **meta})


def column(out: Path, name: str) -> list[Any]:
    entries = corpus_manifest.read(out)["shards"]
    return [value for entry in entries for batch in read_shard(out, entry) for value in batch.column(name).to_pylist()]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def rows_of(ids: list[str], texts: list[str], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    n = len(ids)
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    values = [ids, texts, *(["s"] * n for _ in range(4)), [1] * n, digests, list(range(n)), [0] * n, ["train"] * n]
    return pa.RecordBatch.from_arrays([pa.array(v, f.type) for v, f in zip(values, schema, strict=True)], schema=schema)
