"""Changes of a built corpus that its hashes do not tell: what is changed is hashed, listed and locked anew."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_assets.plans.pinned import Build
from corpus_assets.plans.work import Output
from formats import corpus_manifest, corpus_shard, dataset, durable, evidence, evidence_schemas
from formats.layout import Layout
from formats.naming import VersionKey
from resources.engines.local import LocalEngine
from tests.formats import evidence_rows

Rows = list[dict[str, Any]]


def a_build(layout: Layout) -> Build:
    return Build(layout, LocalEngine(scratch=layout.work("scratch", "test"), workers=1, processes=False))


def republish(layout: Layout, key: VersionKey, change: Callable[[Rows], None]) -> None:
    """Let `change` edit the published rows in place (their number stays), then write shards, manifest and lock anew,
    and the bytes of the shards into the evidence.

    What hangs on the text (n_chars, sha256) is that of the text; the split stays as it is.
    """
    out = layout.version(key)
    manifest = corpus_manifest.read(out)
    names = [entry["name"] for entry in manifest["shards"]]
    rows: Rows = [
        row for entry in manifest["shards"] for b in corpus_shard.read_shard(out, entry) for row in b.to_pylist()
    ]
    change(rows)
    text_bytes: Counter[str] = Counter()
    for row in rows:
        text_bytes[row["source_id"]] += len(row["text"].encode())
        row |= {"n_chars": len(row["text"]), "sha256": hashlib.sha256(row["text"].encode()).digest()}
    num_bytes = 0
    for i, (name, entry) in enumerate(zip(names, manifest["shards"], strict=True)):
        mine, rows = rows[: entry["rows"]], rows[entry["rows"] :]
        batch = pa.RecordBatch.from_pylist(mine, corpus_shard.SCHEMA)
        shard = corpus_shard.write_shard(i, out / name, [batch], corpus_shard.SCHEMA, row_group_bytes=1 << 20)
        entry["sha256"] = shard.sha256
        num_bytes += shard.num_bytes
    corpus_manifest.write(out, manifest)
    durable.write_lock(layout.lock(key), out / corpus_manifest.NAME_ON_DISK)
    counts = durable.json_of(layout.evidence(key) / evidence.COUNTS)
    evidence_rows.write_json(
        layout.evidence(key),
        evidence.COUNTS,
        {**counts, "shard_bytes": num_bytes, evidence.TEXT_BYTES: dict(text_bytes)},
    )
    evidence_rows.seal_as_it_lies(layout.evidence(key))


def edit_manifest(layout: Layout, key: VersionKey, change: Callable[[dict[str, Any]], None]) -> None:
    """Another manifest over the same shards, locked."""
    out = layout.version(key)
    manifest = corpus_manifest.read(out)
    change(manifest)
    corpus_manifest.write(out, manifest)
    durable.write_lock(layout.lock(key), out / corpus_manifest.NAME_ON_DISK)


def edit_evidence(layout: Layout, key: VersionKey, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Another table of the evidence, of one file, sealed."""
    folder = layout.evidence(key)
    table = change(pa.Table.from_batches(evidence.read(folder, name), evidence_schemas.SCHEMAS[name]))
    files = evidence_schemas.table_names(name, evidence.read_seal(folder))
    for file in files:
        (folder / file).unlink()
    dataset.write_shard(
        0, folder / files[0], table.to_batches(), evidence_schemas.SCHEMAS[name], row_group_bytes=1 << 20
    )
    evidence_rows.seal_as_it_lies(folder)


def drop_rows(output: Output, keep: Callable[[pa.Table], np.ndarray]) -> None:
    """A stored stage output with fewer rows, its manifest true to them."""
    stored = output.open()
    shards = []
    for shard in stored.shards:
        table = pa.Table.from_batches(dataset.read_shard(shard), stored.schema)
        batches = table.filter(pa.array(keep(table))).to_batches()
        shards.append(dataset.write_shard(shard.id, Path(shard.path), batches, stored.schema, row_group_bytes=1 << 20))
    identity = json.loads((output.folder / dataset.MANIFEST).read_bytes())["identity"]
    dataset.write_manifest(output.folder, dataset.Dataset(stored.schema, tuple(shards), stored.notes), identity)


def all_but_first(table: pa.Table) -> np.ndarray:
    return np.arange(table.num_rows) > 0


def as_they_lie(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file below `folder` with its inode, time of change and length: a file that was written again differs."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(p.relative_to(folder)): ((s := p.stat()).st_ino, s.st_mtime_ns, s.st_size) for p in paths}
