"""Snapshot manifests under the id of their own bytes, as a hostile maker would name them."""

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory

from formats.snapshot import manifest
from tests.formats.snapshot.made_snapshots import make_snapshot

IS_JSON = True


def seeds() -> list[bytes]:
    with TemporaryDirectory() as name:
        made = make_snapshot(Path(name))
        return [(made.folder / manifest.NAME_ON_DISK).read_bytes()]


def run(data: bytes, folder: Path) -> None:
    snapshot_id = manifest.ID_PREFIX + hashlib.sha256(data).hexdigest()
    path = manifest.folder_of(folder, snapshot_id)
    path.mkdir(parents=True)
    (path / manifest.NAME_ON_DISK).write_bytes(data)
    found = manifest.read(folder, snapshot_id)
    for split in manifest.SPLITS:
        assert all(sum(bucket.shard_rows) > 0 for bucket in found.buckets(split))
        for shard in found.shards(split):
            assert (path / shard.name).resolve().is_relative_to(path.resolve())
    assert found.seq_len > 0
    assert found.dtype.itemsize in (2, 4)
