"""Files that something vouches for: given out once length and SHA-256 are what it says. Each raises CorruptDataError,
which says `todo`.
"""

import hashlib
from pathlib import Path

from formats import durable
from formats.errors import CorruptDataError


def path_of(path: Path, num_bytes: int, sha256: str, todo: str) -> Path:
    """The path of a file that is read later, and may be long."""
    _check_length(path, num_bytes, todo)
    _check_digest(path, sha256, durable.sha256_of(path), todo)
    return path


def bytes_of(path: Path, num_bytes: int, sha256: str, todo: str) -> bytes:
    """The bytes of a file that is read whole: those that the hash was taken of, since a file that is checked and then
    read again may be another one.
    """
    _check_length(path, num_bytes, todo)
    data = path.read_bytes()
    _check_digest(path, sha256, hashlib.sha256(data).hexdigest(), todo)
    return data


def _check_length(path: Path, num_bytes: int, todo: str) -> None:
    if not path.is_file():
        raise CorruptDataError(path, "file", f"{num_bytes} bytes", durable.instead_of_a_file(path), todo)
    if (found := path.stat().st_size) != num_bytes:
        raise CorruptDataError(path, "length", num_bytes, found, todo)


def _check_digest(path: Path, sha256: str, found: str, todo: str) -> None:
    if found != sha256:
        raise CorruptDataError(path, "sha256", sha256, found, todo)
