"""Whole-or-nothing writes on a local file system, and locks: 64 hex digits and a newline, the SHA-256 of a file."""

import errno
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
from typing import IO, Any

from formats.errors import CorruptDataError

READ_ONLY = 0o444
"""What `chmod` leaves of the mode a file was made with: to read, for whom the umask let it be made."""
_REMAKE = "restore it from a copy, or delete it and build the version again"
_LOCK = re.compile(rb"[0-9a-f]{64}\n")


def sha256_of(path: Path | str) -> str:
    """SHA-256 of a file's bytes, as 64 hex digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an OSError that names no file name `path`: those of writing, syncing and locking know a number alone."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename is None:
            error.filename = str(path)
        raise


def fsync_folder(folder: Path) -> None:
    """Make a rename inside `folder` survive a power cut."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        with naming(folder):
            os.fsync(fd)
    finally:
        os.close(fd)


def write_file(path: Path, data: bytes) -> None:
    """Write `data` whole or not at all: temporary name, fsync, rename. An OSError names `path`; a device, pipe or
    socket is none to replace.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "is no ordinary file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:  # whatever ended it, an interrupt too: nothing half written stays
        with suppress(OSError):  # on a file system that refuses this, too, the first error is the one to see
            temporary.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)
        raise
    fsync_folder(path.parent)


class HashedFile:
    """A new file that knows what it was given: `num_bytes` and `sha256` are those of the bytes handed to `write`, never
    of what the disk gives back. So what is damaged while it is written is refused by its first reader; hashed as it
    lies there, it would be recorded as right.
    """

    def __init__(self, path: Path) -> None:
        self._file = open(path, "wb")  # noqa: SIM115  closed by __exit__
        self._hasher = hashlib.sha256()
        self.num_bytes = 0

    @property
    def sha256(self) -> str:
        return self._hasher.hexdigest()

    @property
    def closed(self) -> bool:
        return self._file.closed

    def write(self, data: Any) -> int:
        """All of `data`, which has the buffer protocol."""
        self._hasher.update(data)
        written = self._file.write(data)
        self.num_bytes += written
        return written

    def tell(self) -> int:
        return self.num_bytes

    def flush(self) -> None:
        self._file.flush()

    def sync(self) -> None:
        """Let it survive a power cut."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "HashedFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def link_or_copy(path: Path, name: Path) -> None:
    """Another name of the file; a copy where `name` lies on another file system, or this one has no links."""
    try:
        os.link(path, name)
    except OSError:
        with naming(name):
            shutil.copyfile(path, name)
            with open(name, "rb") as copy:
                os.fsync(copy.fileno())


def remove_unfinished(*paths: Path) -> None:
    """Remove what killed calls of `write_file` left beside `paths`. For the only writer of these files."""
    for path in paths:
        for stale in path.parent.glob(f".{path.name}.*.tmp"):
            stale.unlink(missing_ok=True)


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
    """Write the SHA-256 of `locked`, as it lies there, into `lock`; returns it. Who has just written `locked` knows its
    digest better: `write_digest`.
    """
    found = sha256_of(locked)
    write_digest(lock, found)
    return found


def write_digest(lock: Path, sha256: str) -> None:
    """Write the lock of a file with this SHA-256."""
    write_file(lock, f"{sha256}\n".encode())


NO_FILE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
"""What reading a path raises where no file lies; `instead_of_a_file` says what does."""


def instead_of_a_file(path: Path) -> str:
    return "a folder" if path.is_dir() else "missing"


def read_lock(lock: Path, todo: str = _REMAKE) -> str:
    """The digest in `lock`. Raises CorruptDataError, which says `todo`, when it is missing or no lock."""
    try:
        data = lock.read_bytes()
    except NO_FILE:
        raise CorruptDataError(lock, "lock", "64 hex digits and a newline", instead_of_a_file(lock), todo) from None
    if not _LOCK.fullmatch(data):
        raise CorruptDataError(lock, "lock", "64 hex digits and a newline", repr(data[:80]), todo)
    return data[:64].decode()


def check_lock(lock: Path, locked: Path, todo: str = _REMAKE, *, disagree: str | None = None) -> str:
    """The digest in `lock`, after checking that `locked` has it. Raises CorruptDataError as `read_locked` does."""
    return read_locked(lock, locked, todo, disagree=disagree)[1]


def read_locked(lock: Path, locked: Path, todo: str = _REMAKE, *, disagree: str | None = None) -> tuple[bytes, str]:
    """The bytes of `locked`, which are those that were checked, and their digest, which `lock` holds: a file checked
    and then read again may be another one. Raises CorruptDataError, which says `todo`; `disagree`, where given, when
    both can be read and disagree: either may be the one that changed.
    """
    expected = read_lock(lock, todo)
    if not locked.is_file():
        raise CorruptDataError(locked, "file", f"sha256 {expected}", instead_of_a_file(locked), todo)
    data = locked.read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != expected:
        raise CorruptDataError(locked, "sha256", expected, found, f"it disagrees with {lock.name}; {disagree or todo}")
    return data, expected


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file `lock`; a second holder, in any process of this machine, waits."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with naming(lock):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def took(file: IO[bytes]) -> bool:
    """Whether the lock on an open file was free and is held now, until the file is closed in every process. Who merely
    looks by `is_held` has let go the next moment, and is no holder.
    """
    while not _locked_now(file, fcntl.LOCK_EX):
        if not _locked_now(file, fcntl.LOCK_SH):
            return False
        fcntl.flock(file, fcntl.LOCK_UN)
    return True


def is_held(lock: Path) -> bool:
    """Whether somebody holds the lock of `one_at_a_time`."""
    try:
        fd = os.open(lock, os.O_RDONLY)  # also where nothing may be written
    except FileNotFoundError:
        return False
    try:
        return not _locked_now(fd, fcntl.LOCK_SH)  # holders are exclusive, and two that look are in nobody's way
    finally:
        os.close(fd)


def _locked_now(file: IO[bytes] | int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def json_of(path: Path, todo: str = _REMAKE) -> Any:
    """The JSON value in a file. Raises CorruptDataError, which says `todo`, when it holds none."""
    return json_in(path.read_bytes(), path, todo)


def json_in(data: bytes, path: Path, todo: str = _REMAKE) -> Any:
    """The JSON value in what was read of `path`. Raises CorruptDataError, which says `todo`, when it is none."""
    try:
        return json_value(data)
    except (ValueError, RecursionError) as error:
        raise CorruptDataError(path, "content", "JSON in UTF-8", why_no_json(error), todo) from None


def why_no_json(error: Exception) -> str:
    """Why bytes are no JSON, or not the JSON that was looked for, in words a person understands."""
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON: line {error.lineno}, column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
    if isinstance(error, UnicodeDecodeError):
        return f"no UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}"
    if isinstance(error, UnicodeEncodeError):
        return "no text: it has half a surrogate pair"
    if isinstance(error, KeyError):
        return f"without the key {error.args[0]}"
    return str(error)[:200] or type(error).__name__


def json_value(data: bytes) -> Any:
    """The JSON value in bytes that are UTF-8. Raises ValueError for others and for half a surrogate pair, which is no
    text: it has no digest, and no message can be printed that names it. RecursionError where it is nested too deeply.
    """
    text = data.decode("utf-8")  # json.loads itself guesses UTF-16, and lets UTF-8 encoded surrogates through
    try:
        value = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise RecursionError("nested too deeply") from None  # the interpreter's own words say nothing to a person
    return value
