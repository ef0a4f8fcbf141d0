"""gzip files, member after member, each held to its checksum and length. Zeros after the last member are padding, as
tapes leave it and gzip(1) takes it; anything else there is an error.

zlib alone, since Arrow's stream refuses the padding and does not say which member is broken.
"""

import zlib
from typing import Protocol

_READ_BYTES = 1 << 16
_GZIP = 31
"""zlib's window bits for a gzip member and nothing else."""
_OTHER = "what follows the last whole member is neither another member nor zeros"


class Source(Protocol):
    """Anything with `read(n)`: at most n bytes, and b"" only at the end."""

    def read(self, size: int, /) -> bytes: ...


class Gunzip:
    """The members' contents, after each other. `read` raises OSError where the file is broken or cut.

    `begin` is the compressed byte at which the member at hand begins, `begin_position` the decompressed one: what comes
    before it is whole.
    """

    def __init__(self, source: Source) -> None:
        self._source, self._data, self._taken = source, b"", 0
        self._member: zlib._Decompress | None = None
        self._position = self.begin = self.begin_position = 0

    def read(self, size: int) -> bytes:
        """At most `size` bytes, b"" only at the end."""
        while True:
            if self._member is None and not self._to_next_member():
                return b""
            assert self._member is not None
            if not self._data:
                self._fill()
                if not self._data:
                    raise OSError("Truncated compressed stream")
            try:
                found = self._member.decompress(self._data, size)
            except zlib.error as error:
                is_other = self.begin and "incorrect header check" in str(error)
                raise OSError(_OTHER if is_other else str(error)) from None
            self._data = self._member.unconsumed_tail
            if self._member.eof:
                self._data, self._member = self._member.unused_data, None
            self._position += len(found)
            if found:
                return found

    def close(self) -> None:
        """Nothing is held open."""

    def _to_next_member(self) -> bool:
        """False where there is none."""
        self._fill()
        self.begin, self.begin_position = self._taken - len(self._data), self._position
        if self.begin and self._data.startswith(b"\0"):
            while self._data and not self._data.strip(b"\0"):
                self._data = b""
                self._fill()
        elif self._data.startswith(b"\x1f") or (self._data and not self.begin):
            self._member = zlib.decompressobj(_GZIP)
            return True
        if self._data:
            raise OSError(_OTHER)
        return False

    def _fill(self) -> None:
        if not self._data:
            self._data = self._source.read(_READ_BYTES)
            self._taken += len(self._data)
