"""Raw sets of a few lines, and changed ones, for the tests of formats."""

import json
from pathlib import Path

import zstandard
from hypothesis import strategies as st

from formats import durable, raw_set, raw_set_rows
from formats.raw_set import RawSet
from formats.raw_set_writer import RawSetWriter

ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
EXTRACTOR = {"code": {"jsonl": "1"}, "libraries": {"zstandard": "0.25.0"}}
LINES = [
    ("tales.jsonl#0", "2026-01-02T00:00:00Z", "CC0-1.0", "Tom has a red ball."),
    ("tales.jsonl#2", "2026-01-03T04:05:06Z", "CC0-1.0", 'He said "no" \\ and\tleft\nat\u2028once\0. 😀'),
    ("tales.jsonl#3", "2026-01-02T00:00:00Z", "CC0-1.0", ""),
]


def write(folder: Path, documents=LINES, rejects=(("tales.jsonl#1", 1, "broken_json"),)) -> RawSet:
    writer = RawSetWriter(folder, "tales", "ab" * 32, EXTRACTOR)
    for document in documents:
        writer.add_document(*document)
    for reject in rejects:
        writer.add_reject(*reject)
    writer.end_file("tales.jsonl", "cd" * 32, 120, 400, len(documents) + len(rejects))
    writer.finish()
    return raw_set.open_set(folder)


def rows(raw: RawSet) -> list[tuple[str, ...]]:
    batches = [batch for part in raw.parts for batch in raw_set_rows.read_part(part)]
    return [tuple(row.values())[1:] for batch in batches for row in batch.to_pylist()]


def read_all(folder: Path) -> list[tuple[str, ...]]:
    raw = raw_set.open_set(folder)
    return rows(raw) + [tuple(row.values()) for row in raw_set_rows.read_rejects(raw)]


def relock(folder: Path, change) -> None:
    """Change the manifest as `change` says, and lock it again: what a lock cannot see."""
    path = folder / raw_set.MANIFEST
    manifest = json.loads(path.read_bytes())
    change(manifest)
    path.write_text(json.dumps(manifest))
    durable.write_lock(folder / raw_set.LOCK, path)


def replace_part(folder: Path, data: bytes, documents: int) -> RawSet:
    """Put other bytes in the place of part 0, with hashes that fit."""
    path = folder / raw_set.part_name(0)
    path.write_bytes(data)

    def fit(manifest):
        manifest["parts"][0] |= {"bytes": len(data), "sha256": durable.sha256_of(path), "documents": documents}

    relock(folder, fit)
    return raw_set.open_set(folder)


def packed(*lines: str | bytes) -> bytes:
    data = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    return zstandard.ZstdCompressor().compress(data)
