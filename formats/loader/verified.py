"""Which files were held to their digests already: by this loader, or with a folder by any loader of the machine."""

from pathlib import Path

from formats import durable
from formats.snapshot.token_shard import hold


class Verified:
    """A file counts as verified while its inode, size and time of change stay as they were when it was. Safe for
    threads and processes.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._seen: dict[Path, tuple[int, ...]] = {}

    def hold(self, path: Path, sha256: str) -> None:
        """Raises CorruptDataError where the file has another digest, or is missing."""
        mark = _mark(path)
        if mark is None or self._seen.get(path) != mark:
            if self._folder is None or mark is None:
                hold(path, sha256)
            else:
                self._hold_noted(self._folder, path, sha256, mark)
            if mark is not None and _mark(path) == mark:  # nobody wrote while it was read
                self._seen[path] = mark

    def _hold_noted(self, folder: Path, path: Path, sha256: str, mark: tuple[int, ...]) -> None:
        note = folder / f"{sha256}.{mark[0]:x}.{mark[1]:x}"
        words = " ".join(map(str, mark)).encode()
        with durable.one_at_a_time(stripe(folder, sha256)):  # another loader that reads it is waited for
            if not note.exists() or note.read_bytes() != words:
                hold(path, sha256)
                if _mark(path) == mark:
                    durable.write_file(note, words)


def stripe(folder: Path, sha256: str) -> Path:
    """The lock of a digest's files below a folder: one of 256, so that locks do not pile up."""
    return folder / "locks" / sha256[:2]


def _mark(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns
