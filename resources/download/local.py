"""Files on this machine: verified where they are, or copied into the cache when the settings say so."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from formats import durable
from formats.errors import ConfigError, CorruptDataError
from resources.download.cache import Cache
from resources.download.wanted import Wanted

_READ_BYTES = 1024 * 1024


def path_of(wanted: Wanted) -> Path:
    if wanted.local_path is None:
        raise ValueError(f"{wanted.name} is not a local file")
    return wanted.local_path


def verify(wanted: Wanted) -> Path:
    """The file itself. Raises CorruptDataError, naming both digests, when it is not what the ledger says."""
    path = path_of(wanted)
    try:
        found = durable.sha256_of(path)
        num_bytes = path.stat().st_size
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; make the file readable") from None
    _hold(wanted, found, num_bytes)
    return path


def copy(wanted: Wanted, cache: Cache, advance: Callable[[int], None]) -> Path:
    """A copy in the cache, hashed as it was read and again as the disk gives it back; the caller holds the lock."""
    partial = cache.partial(wanted.sha256)
    hasher, done = hashlib.sha256(), 0
    try:
        with open(path_of(wanted), "rb") as source, open(partial, "wb") as target:
            while block := source.read(_READ_BYTES):
                hasher.update(block)
                target.write(block)
                done += len(block)
                advance(done)
            target.flush()
            os.fsync(target.fileno())
        _hold(wanted, hasher.hexdigest(), done)
        if (found := durable.sha256_of(partial)) != wanted.sha256:
            raise CorruptDataError(partial, "sha256", wanted.sha256, found, "the disk gave back other bytes; check it")
        return cache.publish(wanted.sha256)
    finally:
        partial.unlink(missing_ok=True)


def _hold(wanted: Wanted, found: str, num_bytes: int) -> None:
    path = path_of(wanted)
    if found != wanted.sha256:
        todo = "the file changed since it was entered: restore it, or enter it again in the ledger"
        raise CorruptDataError(path, "sha256", wanted.sha256, found, todo)
    if num_bytes != wanted.num_bytes:
        raise CorruptDataError(path, "num_bytes", wanted.num_bytes, num_bytes, "mend num_bytes in the ledger")
