"""Whole-or-nothing writes on a local file system, and locks: 64 hex digits and a newline, the SHA-256 of a file."""

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from formats.errors import CorruptDataError

_LOCK = re.compile(rb"[0-9a-f]{64}\n")


def sha256_of(path: Path | str) -> str:
    """SHA-256 of a file's bytes, as 64 hex digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fsync_folder(folder: Path) -> None:
    """Make a rename inside `folder` survive a power cut."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_file(path: Path, data: bytes) -> None:
    """Write `data` whole or not at all: temporary name, fsync, rename. An OSError names `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):  # on a file system that refuses this, too, the first error is the one to see
            temporary.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)
        raise
    fsync_folder(path.parent)


def swap_folder(temporary: Path, out: Path) -> None:
    """Put the finished folder `temporary` in the place of `out`; a kill at any point leaves the old or the new.

    `out` -> `out.old`, `temporary` -> `out`, then the old one is deleted. `restore_folder` undoes a kill in between.
    """
    old = out.with_name(out.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    temporary.rename(out)
    fsync_folder(out.parent)
    shutil.rmtree(old, ignore_errors=True)


def restore_folder(out: Path) -> None:
    """Put back `out.old` where a killed swap left no `out`, and remove a stale `out.tmp`."""
    old = out.with_name(out.name + ".old")
    if old.exists():
        if out.exists():
            shutil.rmtree(old)
        else:
            old.rename(out)
    shutil.rmtree(out.with_name(out.name + ".tmp"), ignore_errors=True)


def write_lock(lock: Path, locked: Path) -> str:
    """Write the SHA-256 of `locked` into `lock`; returns it."""
    found = sha256_of(locked)
    write_file(lock, f"{found}\n".encode())
    return found


def read_lock(lock: Path) -> str:
    """The digest in `lock`. Raises CorruptDataError when it is missing or no lock."""
    try:
        data = lock.read_bytes()
    except FileNotFoundError:
        raise CorruptDataError(lock, "lock", "64 hex digits and a newline", "missing", "make the set again") from None
    if not _LOCK.fullmatch(data):
        raise CorruptDataError(lock, "lock", "64 hex digits and a newline", repr(data[:80]), "restore or remake it")
    return data[:64].decode()


def check_lock(lock: Path, locked: Path) -> str:
    """The digest in `lock`, after checking that `locked` has it. Raises CorruptDataError when they disagree."""
    expected = read_lock(lock)
    if not locked.exists():
        raise CorruptDataError(locked, "file", f"sha256 {expected}", "missing", "restore or remake it")
    found = sha256_of(locked)
    if found != expected:
        raise CorruptDataError(
            locked, "sha256", expected, found, f"it disagrees with {lock.name}; restore or remake it"
        )
    return expected


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file `lock`; a second holder, in any process of this machine, waits."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def is_held(lock: Path) -> bool:
    """Whether somebody holds the lock of `one_at_a_time`."""
    try:
        fd = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def json_of(path: Path) -> Any:
    """The JSON value in a file. Raises CorruptDataError when it holds none."""
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise CorruptDataError(path, "content", "JSON in UTF-8", repr(error)[:200], "restore or remake it") from None
