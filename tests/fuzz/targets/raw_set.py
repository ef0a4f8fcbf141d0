"""Raw sets whose locks and digests fit, as bytes of a hostile maker would: the manifest, a part, the rejects."""

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory

from formats import durable, raw_set, raw_set_rows
from formats.parquet_file import Shard
from formats.raw_set_writer import RawSetWriter
from tests.fuzz.packed import ZSTD, unpacked

MANIFEST, PART, REJECTS = range(3)
IS_JSON = True
WORDS = (
    b'{"url": ',
    b'"text": ',
    b"null",
    b"\n{",
    b"\xed\xa0\x80",
    b"\x28\xb5\x2f\xfd",
    b'"name": "part-00000.jsonl.zst"',
)


def _made(folder: Path) -> raw_set.RawSet:
    writer = RawSetWriter(folder, "tales", "ab" * 32, {"code": {"jsonl": "1"}})
    for i in range(3):
        writer.add_document(f"tales.jsonl#{i}", "2026-01-02T00:00:00Z", "CC0-1.0", "The miller \n slept.")
    writer.add_reject("tales.jsonl#3", 3, "broken_json")
    writer.end_file("tales.jsonl", "cd" * 32, 120, 400, 4)
    writer.finish()
    return raw_set.open_set(folder)


def seeds() -> list[bytes]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _made(folder)
        manifest, part = (folder / raw_set.MANIFEST).read_bytes(), (folder / raw_set.part_name(0)).read_bytes()
        rejects = (folder / raw_set.REJECTS).read_bytes()
    line = b'{"url":"a","fetched_at":"b","license_spdx":"c","text":"d"}\n'
    reject = b'{"url":"a","position":3,"reason":"broken_json"}\n'
    return [
        b"\0\0" + manifest,
        b"\1\0" + part,
        b"\2\0" + rejects,
        bytes([PART, ZSTD]) + line * 3,
        bytes([REJECTS, ZSTD]) + reject * 3,
    ]


def run(data: bytes, folder: Path) -> None:
    what, content = (data[0] % 3, data[1:]) if data else (MANIFEST, b"")
    if what == MANIFEST:
        path = folder / raw_set.MANIFEST
        path.write_bytes(content[1:])
        durable.write_lock(folder / raw_set.LOCK, path)
        found = raw_set.open_set(folder)
        assert found.documents >= 0
        assert len(found.identity) == 64
        assert found.as_dataset().rows == found.documents
        return
    path = folder / "file"
    path.write_bytes(unpacked(content))
    shard = Shard(0, str(path), 3, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
    if what == PART:
        for _ in raw_set_rows.read_part(shard):
            pass
    else:
        made = raw_set.RawSet(folder, "tales", "ab" * 32, {}, (), (), {}, shard, "")
        for reject in raw_set_rows.read_rejects(made):
            assert set(reject) == {"url", "position", "reason"}
