"""Shards of an object store: fetched once, verified, cached by digest, whatever the store does in between."""

import fsspec
import numpy as np
import pytest

from formats import yank
from formats.errors import ConfigError, CorruptDataError, TransientError
from formats.loader import shard_files
from formats.loader.settings import ReadSettings
from tests import faults
from tests.formats.loader.made_training import global_batches, loader, made

STEPS = 12


@pytest.fixture
def stored(tmp_path):
    """(URL of an object store that holds the snapshot, the snapshot, what a local loader serves)."""
    snapshot = made(tmp_path / "root")
    expected = global_batches(tmp_path / "root", snapshot, 1, STEPS)[0]
    store = fsspec.filesystem("memory")
    url = f"memory://{tmp_path.name}"
    store.put(str(tmp_path / "root" / "snapshots"), f"{url}/snapshots", recursive=True)
    yield url, snapshot, expected
    store.rm(url, recursive=True)


def settings_of(tmp_path, **changes):
    return ReadSettings(cache_folder=tmp_path / "cache", backoff_seconds=0, prefetch_bytes=1, **changes)


def served(url, snapshot, settings):
    return global_batches(url, snapshot, 1, STEPS, settings=settings)[0]


def test_a_store_serves_what_a_folder_serves_and_each_shard_is_fetched_once(tmp_path, stored, monkeypatch):
    url, snapshot, expected = stored
    opened = []
    opener = shard_files._opener(url)
    monkeypatch.setattr(shard_files, "_opener", lambda _: lambda name: opened.append(name) or opener(name))
    for _ in range(2):
        assert np.array_equal(served(url, snapshot, settings_of(tmp_path)), expected)
    marks = [name for name in opened if name.endswith(yank.SUFFIX)]
    fetched = [name for name in opened if name not in marks]
    assert len(fetched) == len(set(fetched)) == 1 + len(snapshot.shards("train"))
    assert len(marks) == 2 * 2  # asked for anew by each loader: of the snapshot, and of its version


def test_the_cache_may_be_smaller_than_the_snapshot(tmp_path, stored):
    url, snapshot, expected = stored
    settings = settings_of(tmp_path, cache_bytes=400, threads=1, max_open_shards=1)
    assert np.array_equal(served(url, snapshot, settings), expected)
    kept = [path for path in (tmp_path / "cache").iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in kept) <= 400


class Cut:
    """A file of a store whose connection ends early, or fails, the first times."""

    def __init__(self, open_file, failures, error):
        self.open_file, self.failures, self.error = open_file, failures, error

    def __call__(self, url):
        file = self.open_file(url)
        if url.endswith(".bin") and self.failures > 0:
            self.failures -= 1
            if self.error:
                raise self.error
            file.seek(0, 2)
        return file


@pytest.mark.parametrize("error", [None, ConnectionResetError("reset"), TimeoutError()])
def test_a_connection_that_drops_is_tried_again(tmp_path, stored, monkeypatch, error):
    url, snapshot, expected = stored
    cut = Cut(shard_files._opener(url), 3, error)
    monkeypatch.setattr(shard_files, "_opener", lambda _: cut)
    assert np.array_equal(served(url, snapshot, settings_of(tmp_path)), expected)


def test_a_store_that_is_gone_is_an_error_that_says_so(tmp_path, stored, monkeypatch):
    url, snapshot, _ = stored
    monkeypatch.setattr(shard_files, "_opener", lambda _: Cut(lambda name: fsspec.open(name).open(), 99, OSError("no")))
    with pytest.raises(TransientError, match="5 tries failed"):
        served(url, snapshot, settings_of(tmp_path))


def test_a_shard_that_is_another_in_the_store_is_never_served(tmp_path, stored):
    url, snapshot, _ = stored
    name = f"{url}/snapshots/{snapshot.folder.name}/{snapshot.shards('train')[0].name}"
    with fsspec.open(name, "rb") as file:
        data = file.read()
    with fsspec.open(name, "wb") as file:
        file.write(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(CorruptDataError, match="sha256"):
        served(url, snapshot, settings_of(tmp_path))
    assert not list((tmp_path / "cache").glob(".*"))


def test_a_cached_shard_that_was_cut_is_reported(tmp_path, stored):
    url, snapshot, _ = stored
    served(url, snapshot, settings_of(tmp_path))
    faults.truncate(tmp_path / "cache" / snapshot.shards("train")[0].sha256, 1)
    with pytest.raises(CorruptDataError, match="length"):
        served(url, snapshot, settings_of(tmp_path))


@pytest.mark.parametrize("url", ["nosuchscheme://bucket", "memory://x"])
def test_what_a_store_needs_is_said(tmp_path, stored, url):
    _, snapshot, _ = stored
    settings = settings_of(tmp_path) if url.startswith("nosuch") else ReadSettings()
    with pytest.raises(ConfigError, match=r"install|cache_folder"):
        loader(url, snapshot, settings=settings)
