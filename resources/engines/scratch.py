"""Folders for spills. Each is locked while in use; what a killed run left behind is removed by the next one."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def spill_folder(scratch: Path) -> Iterator[Path]:
    """A folder below `scratch` for one sort, removed at the end, however it ends."""
    scratch.mkdir(parents=True, exist_ok=True)
    with open(scratch / ".lock", "a") as gate:  # so that no run sweeps a folder before its owner has locked it
        fcntl.flock(gate, fcntl.LOCK_EX)
        _sweep(scratch)
        folder = Path(tempfile.mkdtemp(prefix="sort-", dir=scratch))
        lock = open(lock_of(folder), "w")  # noqa: SIM115 held as long as the folder
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def lock_of(folder: Path) -> Path:
    """Held as long as the folder is in use."""
    return folder / "lock"


def _sweep(scratch: Path) -> None:
    for folder in scratch.glob("sort-*"):
        if not _in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _in_use(folder: Path) -> bool:
    lock: IO[str]
    with suppress(FileNotFoundError), open(lock_of(folder), "r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
