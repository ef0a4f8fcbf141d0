"""A snapshot's shards as files of this machine: where they lie already, or fetched once from an object store.

A file in the cache is named by its digest and was verified when it was fetched, so that it is never read unverified and
never fetched twice, however many loaders share the folder.
"""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import numpy as np

from formats import durable, yank
from formats.errors import ConfigError, CorruptDataError, TransientError
from formats.json_words import described
from formats.loader.settings import ReadSettings
from formats.loader.verified import Verified, stripe
from formats.snapshot import manifest
from formats.snapshot.manifest import Snapshot, TokenShard
from formats.snapshot.token_shard import hold, map_sequences
from formats.yank import Yank

_TODO = "restore the snapshot from a copy, or build it again"


def open_snapshot(root: Path | str, snapshot_id: str, settings: ReadSettings) -> "ShardFiles":
    """The files of a snapshot below an artifacts root: a folder, or a URL that fsspec knows.

    Raises ConfigError for what is no root or no id, where fsspec or its driver is missing, for folders that this user
    may not read, or write where it is the cache's, and for a yanked snapshot that the settings do not allow;
    CorruptDataError for a manifest that is missing or not the id's.
    """
    if not isinstance(root, str | os.PathLike) or isinstance(os.fspath(root), bytes) or "\0" in os.fspath(root):
        raise ConfigError(
            f"root is {described(root)}, expected a folder or a URL; name the one whose snapshots/ holds the snapshot"
        )
    if "://" in str(root):
        files = StoreFiles(str(root), snapshot_id, settings)
        record = None if settings.allow_yanked else files.yanked()
        return _unless_yanked(files, record)
    try:
        snapshot = manifest.read(Path(root), snapshot_id)
        record = None if settings.allow_yanked else yank.of_snapshot(Path(root), snapshot)
    except OSError as error:
        raise ConfigError(f"root is {root}, and {error}; let this user read there, or name another root") from None
    return _unless_yanked(LocalFiles(snapshot, settings), record)


def _hold_writable(folder: Path) -> None:
    """Tried, since nothing else tells: root, read-only mounts and full disks have their own rules."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        what = "expected a folder that this user may write to; let it, or give the read settings another cache_folder"
        raise ConfigError(f"cache_folder is {folder}, and {error}; {what}") from None


def _unless_yanked(files: "ShardFiles", record: Yank | None) -> "ShardFiles":
    if record is not None:
        raise yank.refusal(record, f"snapshot {files.snapshot.snapshot_id}", "ReadSettings(allow_yanked=True)")
    return files


class ShardFiles:
    """What both kinds share. Safe for threads."""

    snapshot: Snapshot

    def map(self, shard: TokenShard) -> np.ndarray:
        """The shard's sequences (n, seq_len), verified. Raises CorruptDataError, TransientError."""
        raise NotImplementedError


class LocalFiles(ShardFiles):
    """Shards read where they lie, each verified once: by this loader, or with a cache folder on this machine."""

    def __init__(self, snapshot: Snapshot, settings: ReadSettings) -> None:
        self.snapshot, self._verify = snapshot, settings.verify
        folder = settings.cache
        if folder is not None:
            _hold_writable(folder)
        self._verified = Verified(folder / "verified" if folder else None)

    def map(self, shard: TokenShard) -> np.ndarray:
        path = self.snapshot.folder / shard.name
        if self._verify:
            self._verified.hold(path, shard.sha256)
        return map_sequences(path, self.snapshot, shard)


class StoreFiles(ShardFiles):
    """Shards of an object store, kept in a cache folder."""

    def __init__(self, root: str, snapshot_id: str, settings: ReadSettings) -> None:
        if settings.cache is None:
            raise ConfigError(f"{root}: shards of a store need a local folder; give the read settings a cache_folder")
        name = manifest.folder_of(Path(), snapshot_id) / manifest.NAME_ON_DISK
        _hold_writable(settings.cache)
        self._root, self._settings = root.rstrip("/"), settings
        self._cache = settings.cache
        self._open = _opener(root)
        local = self._cache / "manifests" / name
        if not local.exists():
            self._fetch(name.as_posix(), local, snapshot_id.removeprefix(manifest.ID_PREFIX))
        self.snapshot = manifest.read(self._cache / "manifests", snapshot_id)

    def yanked(self) -> Yank | None:
        """The record by which the snapshot is yanked, asked for anew: it may have come since. Raises TransientError."""
        for place in yank.places(Path(), self.snapshot):
            url = f"{self._root}/{place.as_posix()}"
            if (data := self._read_if_there(url)) is not None:
                record = yank.parse(data, url)
                if yank.speaks_of(record, self.snapshot):
                    return record
        return None

    def _read_if_there(self, url: str) -> bytes | None:
        for tries in range(self._settings.max_tries):
            time.sleep(self._settings.backoff_seconds * 2 ** (tries - 1) if tries else 0)
            try:
                with self._open(url) as source:
                    return source.read()
            except (FileNotFoundError, PermissionError):  # some stores forbid to ask for what is not there
                return None
            except Exception as error:  # of each driver's own classes
                failure = error
        raise TransientError(
            f"{url}: {self._settings.max_tries} tries failed, the last with {failure!r:.300}; try again"
        ) from failure

    def map(self, shard: TokenShard) -> np.ndarray:
        path = self._cache / shard.sha256
        for _ in range(self._settings.max_tries):
            self._have(shard, path)
            try:
                return map_sequences(path, self.snapshot, shard)
            except CorruptDataError:
                if path.exists():
                    raise
        raise TransientError(f"{path}: removed by another loader before it was open; let the cache hold more")

    def _have(self, shard: TokenShard, path: Path) -> None:
        """Fetch the shard where the cache has it not, once for all loaders that share it."""
        with durable.one_at_a_time(stripe(self._cache, shard.sha256)):
            try:
                os.utime(path)  # what is used last goes last
            except FileNotFoundError:
                durable.remove_unfinished(path)  # a killed loader's
                self._make_room(shard.sequences * self.snapshot.seq_len * self.snapshot.dtype.itemsize)
                folder = manifest.folder_of(Path(), self.snapshot.snapshot_id)
                self._fetch((folder / shard.name).as_posix(), path, shard.sha256)

    def _fetch(self, name: str, path: Path, sha256: str) -> None:
        """Fetch, verify, and only then give the file its name."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        url = f"{self._root}/{name}"
        try:
            for tries in range(self._settings.max_tries):
                time.sleep(self._settings.backoff_seconds * 2 ** (tries - 1) if tries else 0)
                try:
                    with self._open(url) as source, open(temporary, "wb") as file:
                        shutil.copyfileobj(source, file, 1 << 20)
                    hold(temporary, sha256, url)
                except FileNotFoundError:
                    raise CorruptDataError(url, "file", sha256, "missing", _TODO) from None
                except PermissionError as error:
                    raise ConfigError(f"{url}: {error}; let this user read there") from None
                except Exception as error:  # of each driver's own classes; a cut answer is a short file: ask again
                    failure = error
                    continue
                temporary.replace(path)
                return
            if isinstance(failure, CorruptDataError):
                raise failure
            raise TransientError(
                f"{url}: {self._settings.max_tries} tries failed, the last with {failure!r:.300}; try again"
            ) from failure
        finally:
            temporary.unlink(missing_ok=True)

    def _make_room(self, num_bytes: int) -> None:
        """Remove the shards used longest ago; a file that is mapped somewhere stays readable there."""
        if self._settings.cache_bytes is None:
            return
        kept = []
        for path in self._cache.iterdir():
            with suppress(FileNotFoundError):  # another loader's doing
                if path.is_file() and len(path.name) == 64:
                    kept.append((path.stat().st_mtime_ns, path.stat().st_size, path))
        total = sum(size for _, size, _ in kept) + num_bytes
        for _, size, path in sorted(kept):
            if total <= self._settings.cache_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size


def _opener(root: str) -> Callable[[str], BinaryIO]:
    """What opens a URL of the store for reading."""
    try:
        import fsspec  # a loader of local folders needs none

        fsspec.get_filesystem_class(urlsplit(root).scheme)
    except (ImportError, ValueError) as error:
        raise ConfigError(f"{urlsplit(root).scheme}://: {error}; pip install fsspec and the store's driver") from None
    return lambda url: fsspec.open(url, "rb").open()
