"""What the members of one archive may grow to, all together and through every layer: an archive of compressed files is
held to the bytes it has itself.
"""

from dataclasses import replace
from pathlib import Path

from formats.compressed import Budget, Decompressed, Readable
from formats.errors import CorruptDataError


class ArchiveBudget:
    """Bytes left of what the archive at `path` may become."""

    def __init__(self, path: Path, budget: Budget) -> None:
        self._path, self._budget = path, budget
        self._limit = budget.limit(path.stat().st_size)
        self._spent = 0

    def spend(self, num_bytes: int) -> None:
        """Count bytes that came out of the archive or a member. Raises CorruptDataError beyond the limit."""
        self._spent += num_bytes
        if self._spent > self._limit:
            expected = f"at most {self._limit} of all members together"
            todo = "look at the file; if it is right, split it"
            raise CorruptDataError(self._path, "decompressed bytes", expected, f"more than {self._limit}", todo)

    def left(self) -> Budget:
        """For a reader of one member that keeps a budget of its own."""
        return replace(self._budget, max_bytes=max(1, self._limit - self._spent))


class DecompressedMember(Decompressed):
    """A member's bytes without its own compression, which count, too."""

    def __init__(self, source: Readable, name: str, budget: Budget, archive: ArchiveBudget) -> None:
        super().__init__(source, name, budget, None)
        self._archive = archive

    def read(self, size: int = -1) -> bytes:
        data = super().read(size)
        if size >= 0 and self.codec != "plain":  # without a size it reads itself piece by piece
            self._archive.spend(len(data))
        return data
