"""A file under way: bytes arrive in memory, and go to disk one interval at a time, each behind its checkpoint.

Order of one interval: hash (as bytes arrive), checkpoint written and fsynced, bytes appended and fsynced. So a kill
leaves the disk at the new pair, at the previous one, or between; `survey` tells which, by length and hash
(formats/partial.md).
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from formats import durable, partial
from formats.errors import CorruptDataError
from formats.partial import START, Checkpoint, Pair

_READ_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Validators:
    """What names the content an answer had. `last_modified` only where it is strong (see http_answer.py)."""

    etag: str | None = None
    last_modified: str | None = None

    @property
    def if_range(self) -> str | None:
        """The value for If-Range: a weak ETag must not be used there (RFC 9110, 13.1.5)."""
        if self.etag is not None:
            return None if self.etag.startswith("W/") else self.etag
        return self.last_modified


@dataclass(frozen=True)
class Survey:
    """What of a file under way can be built on: its first `pair.verified_bytes` bytes, whose hash was just checked."""

    pair: Pair
    hasher: Any
    validators: Validators
    guarded: bool
    words: str | None  # why it is less than the checkpoint promised; None when nothing was lost


def survey(path: Path, url: str, expected_size: int) -> Survey:
    """Hold what lies at `path` to its checkpoint, reading only. A checkpoint that cannot be used gives zero bytes."""
    checkpoint_path = partial.path_of(path)
    if not checkpoint_path.exists():
        found = path.stat().st_size if path.exists() else 0
        return _nothing(f"{found} bytes without a checkpoint" if found else None)
    try:
        checkpoint = partial.read(checkpoint_path)
    except CorruptDataError as error:
        return _nothing(str(error))
    if checkpoint.expected_size != expected_size:
        return _nothing(f"the checkpoint was for {checkpoint.expected_size} bytes, expected are {expected_size}")
    hasher, pair, words = _check_prefix(path, checkpoint)
    if pair == START:
        return _nothing(words)
    if checkpoint.url != url:  # a validator speaks about one address only
        return Survey(pair, hasher, Validators(), False, words)
    return Survey(pair, hasher, Validators(checkpoint.etag, checkpoint.last_modified), checkpoint.guarded, words)


def has_checkpoint(path: Path) -> bool:
    """Whether `survey` may find something to go on from; cheap, since no hash is checked."""
    try:
        least = partial.read(partial.path_of(path)).previous.verified_bytes
    except CorruptDataError:
        return False
    return path.exists() and path.stat().st_size >= max(1, least)


def _nothing(words: str | None) -> Survey:
    return Survey(START, hashlib.sha256(), Validators(), True, words)


def _check_prefix(path: Path, checkpoint: Checkpoint) -> tuple[Any, Pair, str | None]:
    """The longer of the checkpoint's pairs that fits the disk, else START; one pass over the file."""
    size = path.stat().st_size if path.exists() else 0
    hasher = hashlib.sha256()
    best: tuple[Any, Pair] = (hasher.copy(), START)
    with open(path if size else os.devnull, "rb") as file:
        for pair in (checkpoint.previous, checkpoint.pair):
            if size < pair.verified_bytes:
                break
            while missing := pair.verified_bytes - file.tell():
                block = file.read(min(missing, _READ_BYTES))
                if not block:
                    break
                hasher.update(block)
            if hasher.hexdigest() == pair.sha256_prefix_hex:
                best = (hasher.copy(), pair)
    kept = best[1].verified_bytes
    if kept == checkpoint.pair.verified_bytes:
        return *best, None
    return *best, f"{size} bytes on disk, checkpoint at {checkpoint.pair.verified_bytes}: cut back to {kept}"


class PartialFile:
    """The one writer of `<name>.partial` and its checkpoint; the caller holds the file's lock.

    As a context manager it keeps what it holds in memory when it is left, whatever the reason, unless the disk failed.
    """

    def __init__(self, path: Path, url: str, expected_size: int, interval_bytes: int, found: Survey) -> None:
        self._path, self._url, self._expected_size = path, url, expected_size
        self._interval_bytes = interval_bytes
        self._hasher, self._pair = found.hasher, found.pair
        self._held: list[bytes] = []
        self._held_bytes = 0
        self.validators, self.guarded = found.validators, found.guarded
        if path.exists():  # what a killed durable.write_file left; not looked for else, a cache may hold many files
            for stale in path.parent.glob(f".{partial.path_of(path).name}.*.tmp"):
                stale.unlink(missing_ok=True)
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - closed by __exit__
        self._file.truncate(self._pair.verified_bytes)

    @property
    def position(self) -> int:
        """Bytes that need not be asked for again while this process lives."""
        return self._pair.verified_bytes + self._held_bytes

    @property
    def whole(self) -> bool:
        return self.position == self._expected_size

    @property
    def room(self) -> int:
        """How many bytes `add` takes at most: the rest of the interval, or of the file."""
        return min(self._interval_bytes - self._held_bytes, self._expected_size - self.position)

    def add(self, block: bytes) -> None:
        """Take the next bytes of the file; at the end of an interval they go to disk."""
        if len(block) > self.room:
            raise ValueError(f"{len(block)} bytes do not fit: room for {self.room}")
        self._hasher.update(block)
        self._held.append(block)
        self._held_bytes += len(block)
        if self.room == 0:
            self.flush()

    def flush(self) -> None:
        """Checkpoint first, then the bytes it covers; both are on disk when this returns. Raises OSError."""
        if not self._held:
            return
        pair = Pair(self.position, self._hasher.hexdigest())
        checkpoint = Checkpoint(
            partial.FORMAT,
            partial.VERSION,
            self._url,
            self.validators.etag,
            self.validators.last_modified,
            self.guarded,
            self._expected_size,
            pair.verified_bytes,
            pair.sha256_prefix_hex,
            self._pair,
        )
        partial.write(partial.path_of(self._path), checkpoint)
        for block in self._held:
            _write_all(self._file.fileno(), block)
        os.fsync(self._file.fileno())
        self._pair, self._held, self._held_bytes = pair, [], 0

    def restart(self) -> None:
        """Forget every byte; the next answer is a first answer again."""
        self._held, self._held_bytes = [], 0
        partial.path_of(self._path).unlink(missing_ok=True)  # first: a checkpoint without bytes is the lesser evil
        durable.fsync_folder(self._path.parent)
        self._file.truncate(0)
        self._hasher, self._pair = hashlib.sha256(), START
        self.validators, self.guarded = Validators(), True

    def digest_on_disk(self) -> str:
        """SHA-256 of what the disk gives back, once all is flushed."""
        self.flush()
        return durable.sha256_of(self._path)

    @property
    def digest_as_received(self) -> str:
        return self._hasher.hexdigest()

    def __enter__(self) -> "PartialFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if not isinstance(error, OSError) and self._path.exists():
                self.flush()
        finally:
            self._file.close()


def _write_all(fd: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(fd, view) :]
