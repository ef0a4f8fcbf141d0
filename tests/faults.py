"""How to break any file, the way disks, copies and people do."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from formats import durable


def flip_byte(path: Path, at: int) -> None:
    """Change every bit of the byte at `at` (from the end when negative)."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def truncate(path: Path, num_bytes: int = 1) -> None:
    """Cut bytes off the end."""
    path.write_bytes(path.read_bytes()[:-num_bytes])


def append(path: Path, data: bytes = b"\0") -> None:
    path.write_bytes(path.read_bytes() + data)


@contextmanager
def small_files(num_bytes: int) -> Iterator[None]:
    """No file that this process writes grows beyond `num_bytes`, as on a full disk or under a quota."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def change_once_hashed(monkeypatch: pytest.MonkeyPatch, target: Path, data: bytes) -> None:
    """Right after `target` is hashed it holds `data`: who hashes a file and then reads it reads that."""

    def hash_and_change(path: Path | str) -> str:
        found = sha256_of(path)
        if Path(path) == target:
            target.write_bytes(data)
        return found

    sha256_of = durable.sha256_of
    monkeypatch.setattr(durable, "sha256_of", hash_and_change)


def rewrite_parquet(path: Path) -> None:
    """The same rows in other bytes: what a well-meant re-compression does."""
    pq.write_table(pq.read_table(path), path, compression="snappy")


def every_change(whole: bytes) -> dict[str, bytes]:
    """Name -> a file's bytes after each kind of damage that leaves a file in place."""
    middle = len(whole) // 2

    def flipped(at: int) -> bytes:
        return whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]

    return {
        "first byte flipped": flipped(0),
        "middle byte flipped": flipped(middle),
        "last byte flipped": flipped(len(whole) - 1),
        "last byte missing": whole[:-1],
        "second half missing": whole[:middle],
        "second half zeroed": whole[:middle] + bytes(len(whole) - middle),
        "empty": b"",
        "one byte more": whole + b"\0",
        "twice": whole + whole,
    }
