"""The cache: `<sha256>` holds the bytes of that digest, or nothing does. Versions and processes share it.

`<sha256>.partial` and `.partial.json` are under way, `quarantine/` holds wrong bytes by what was found, and
`.<sha256>.flock` is held (flock) by the one process that writes.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from formats import durable, partial
from resources.download.wanted import Wanted

_LOOK_AGAIN_SECONDS = 0.2


class Cache:
    """Paths and moves inside one cache folder; nothing is made before something is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def final(self, sha256: str) -> Path:
        return self.folder / sha256

    def partial(self, sha256: str) -> Path:
        return self.folder / f"{sha256}.partial"

    def flock(self, sha256: str) -> Path:
        """Held by who writes the file."""
        return self.folder / f".{sha256}.flock"

    def has_leftovers(self, sha256: str) -> bool:
        """Whether a process killed after `<sha256>` was there left something beside it, in a folder one may write."""
        path = self.partial(sha256)
        left = any(one.exists() for one in (path, partial.path_of(path), self.flock(sha256)))
        return left and os.access(self.folder, os.W_OK)

    def remove_leftovers(self, sha256: str) -> None:
        """For the holder of the lock, once `<sha256>` is verified."""
        path = self.partial(sha256)
        partial.path_of(path).unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def verified(self, wanted: Wanted) -> Path | None:
        """The cached file when its length and SHA-256, read now, are the ledger's; else None."""
        path = self.final(wanted.sha256)
        if not path.is_file() or path.stat().st_size != wanted.num_bytes or durable.sha256_of(path) != wanted.sha256:
            return None
        return path

    def publish(self, sha256: str) -> Path:
        """The partial file, whole and just verified, under its final name and read-only; the checkpoint goes."""
        path = self.partial(sha256)
        path.chmod(path.stat().st_mode & durable.READ_ONLY)
        path.rename(self.final(sha256))
        durable.fsync_folder(self.folder)
        partial.path_of(path).unlink(missing_ok=True)
        return self.final(sha256)

    def quarantine(self, path: Path, expected: str, found: str) -> Path:
        """Move wrong bytes to `quarantine/<expected>.found-<found>`, both SHA-256; returns where they lie."""
        folder = self.folder / "quarantine"
        folder.mkdir(exist_ok=True)
        there = folder / f"{expected}.found-{found}"
        path.replace(there)
        partial.path_of(self.partial(expected)).unlink(missing_ok=True)
        durable.fsync_folder(folder)
        durable.fsync_folder(self.folder)
        return there

    @contextmanager
    def lock(self, sha256: str, wait: Callable[[float], None], on_busy: Callable[[], None]) -> Iterator[None]:
        """Hold the file's lock; while another holds it, call `on_busy` once and `wait(seconds)` between looks.

        The kernel frees the lock of a killed process. The lock file is removed by its holder, so after getting it one
        looks whether the name still means the same file: else another holder removed it meanwhile.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.flock(sha256)
        told = False
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_file(fd, path):
                    break
                os.close(fd)
            except BlockingIOError:
                os.close(fd)
                if not told:
                    on_busy()
                told = True
                wait(_LOOK_AGAIN_SECONDS)
            except BaseException:  # an interrupt
                os.close(fd)
                raise
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            os.close(fd)


def _is_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False
