"""Shards of a folder are held to their digests once, on a machine whose loaders share a folder of notes."""

import os

import pytest

from formats.errors import CorruptDataError
from formats.loader import verified
from formats.loader.settings import ReadSettings
from tests import faults
from tests.formats.loader.made_training import global_batches, made

STEPS = 12


@pytest.fixture
def hashed(monkeypatch):
    """The files that were read to be held to a digest."""
    found = []
    hold = verified.hold
    monkeypatch.setattr(verified, "hold", lambda path, sha256: found.append(path) or hold(path, sha256))
    return found


def test_a_loader_verifies_each_shard_once_however_often_it_opens_it(tmp_path, hashed):
    snapshot = made(tmp_path)
    global_batches(tmp_path, snapshot, 1, STEPS, settings=ReadSettings(threads=1, max_open_shards=1, prefetch_bytes=1))
    assert sorted(hashed) == sorted(snapshot.folder / shard.name for shard in snapshot.shards("train"))


def test_loaders_of_a_machine_verify_it_once_together_and_again_when_it_changed(tmp_path, hashed):
    snapshot = made(tmp_path)
    settings = ReadSettings(cache_folder=tmp_path / "cache")
    for _ in range(2):
        global_batches(tmp_path, snapshot, 3, STEPS, settings=settings)
    assert len(hashed) == len(set(hashed)) == len(snapshot.shards("train"))
    changed = snapshot.folder / snapshot.shards("train")[1].name
    data = changed.read_bytes()
    changed.unlink()
    changed.write_bytes(data)
    global_batches(tmp_path, snapshot, 1, STEPS, settings=settings)
    assert hashed.count(changed) == 2


def test_a_shard_that_was_damaged_after_it_was_verified_is_found_though_its_time_was_put_back(tmp_path):
    snapshot = made(tmp_path)
    settings = ReadSettings(cache_folder=tmp_path / "cache")
    global_batches(tmp_path, snapshot, 1, STEPS, settings=settings)
    damaged = snapshot.folder / snapshot.shards("train")[0].name
    before = damaged.stat()
    faults.flip_byte(damaged, 3)
    os.utime(damaged, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(CorruptDataError, match="sha256"):
        global_batches(tmp_path, snapshot, 1, STEPS, settings=settings)
