"""Compressed files, told by their first bytes and read as a stream: gzip, zstd, lz4, bz2 or plain.

All gzip members and all zstd and lz4 frames are read; skippable frames are passed over, but for one with a dictionary.
A stream that was cut, even by its last byte, is an error that names the file and the place, never a clean end. Memory
is bounded: some 64 KiB at a time.
"""

import bz2
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from formats.errors import CorruptDataError
from formats.gunzip import Gunzip
from formats.zstd_dictionary import DICTIONARY_FRAME, Unzstd

CHUNK_BYTES = 1 << 20
_BZ2_READ_BYTES = 1 << 16
_TODO = "fetch the file again, or correct its checksum and files in the ledger"
_WIDE = "too much memory for decoding"
"""What zstd says of a window of more than 128 MiB, which whoever packs a file has to ask for."""
_TODO_WIDE = "pack it anew with a window of at most 128 MiB, as zstd does without --long or with --long=27"
_ZSTD_SKIPPABLE = tuple(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16))
_NOT_READ = {
    "xz": b"\xfd7zXZ\x00", "old lz4": b"\x02\x21\x4c\x18", "compress": b"\x1f\x9d", "7z": b"7z\xbc\xaf\x27\x1c"
}  # fmt: skip


@dataclass(frozen=True)
class Budget:
    """What one file may grow to. The ratio counts only beyond `min_bytes`, since small files may be all repetition."""

    max_bytes: int = 1 << 40
    max_ratio: int = 1_000
    min_bytes: int = 1 << 28

    def limit(self, compressed_bytes: int) -> int:
        """What so many compressed bytes may become."""
        return min(self.max_bytes, max(self.min_bytes, compressed_bytes * self.max_ratio))


class Readable(Protocol):
    """Anything with `read(n)`: at most n bytes, and b"" only at the end."""

    def read(self, size: int, /) -> bytes: ...


class Decompressed:
    """The bytes of one file, decompressed. A binary file object that only reads forward.

    `position` counts the bytes given so far, `compressed_position` the bytes taken from the file.
    """

    closed = False

    def __init__(self, source: Readable, name: str, budget: Budget, gunzip: "Callable[[_Counted], Readable] | None"):
        """`gunzip` replaces the gzip decoder; it has to raise OSError where the stream is broken or cut."""
        self.name, self.position = name, 0
        self._source, self._budget = _Counted(source), budget
        self._free_bytes = budget.limit(0)
        self.codec = _codec(self._source.peek(10), name)
        if self.codec == "gzip":
            self._decoded: Any = (gunzip or Gunzip)(self._source)
        elif self.codec == "plain":
            self._decoded = self._source
        elif self.codec == "bz2":
            self._decoded = _Bunzip(self._source)
        elif self.codec == "zstd" and self._source.peek(10).startswith(DICTIONARY_FRAME):
            self._decoded = Unzstd(self._source)
        else:
            self._decoded = pa.CompressedInputStream(pa.PythonFile(self._source, mode="r"), self.codec)

    @property
    def compressed_position(self) -> int:
        return self._source.position

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, b"" only at the end. Raises CorruptDataError when the stream is broken, cut, or
        beyond its budget.
        """
        if size < 0:
            return b"".join(iter(lambda: self.read(CHUNK_BYTES), b""))
        try:
            data = self._decoded.read(size)
        except (OSError, pa.ArrowException) as error:
            if self._source.failure:
                raise self._source.failure from None
            raise self._broken(error) from None
        self.position += len(data)
        if self.position > self._free_bytes:
            self._check_budget()
        return data

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def close(self) -> None:
        self.closed = True
        self._decoded.close()
        self._source.close()

    def __enter__(self) -> "Decompressed":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _broken(self, error: Exception) -> CorruptDataError:
        begin = getattr(self._decoded, "begin", None)
        if begin is None:  # Arrow does not tell where a frame begins, and gives nothing of a piece that is broken
            found = f"broken at compressed byte {self.compressed_position} or before it"
            found += f" (the first {self.position} bytes decompressed are good): {error}"
        else:
            whole = f"the {self._decoded.begin_position} bytes decompressed before it are whole"
            found = f"broken in the member that begins at compressed byte {begin}"
            found += f" ({whole}, {self.position} were read): {error}"
        todo = _TODO_WIDE if _WIDE in str(error) else _TODO
        return CorruptDataError(self.name, f"{self.codec} stream", "whole", found, todo)

    def _check_budget(self) -> None:
        budget = self._budget
        limit = budget.max_bytes if self.codec == "plain" else budget.limit(self.compressed_position)
        if self.position > limit:
            found = f"more than {limit} at compressed byte {self.compressed_position}"
            expected = f"at most {budget.max_bytes}, and {budget.max_ratio} times its compressed bytes"
            todo = "look at the file; if it is right, split it"
            raise CorruptDataError(self.name, "decompressed bytes", expected, found, todo)


def open_file(
    path: Path, *, budget: Budget | None = None, gunzip: "Callable[[_Counted], Readable] | None" = None
) -> Decompressed:
    """The decompressed bytes of a file. Raises CorruptDataError for a compression that is not read here."""
    file = open(path, "rb")  # noqa: SIM115  closed with the stream
    try:
        return Decompressed(file, str(path), budget or Budget(), gunzip)
    except CorruptDataError:
        file.close()
        raise


def open_stream(stream: BinaryIO | Readable, name: str, *, budget: Budget | None = None) -> Decompressed:
    """The decompressed bytes of an open binary stream, such as an archive's member; `name` goes into errors."""
    return Decompressed(stream, name, budget or Budget(), None)


class _Bunzip:
    """bz2, stream after stream; neither Arrow (empty streams) nor the standard library's file (what follows the last
    stream) reads them all.
    """

    def __init__(self, source: Readable) -> None:
        self._source, self._decoder, self._begun = source, bz2.BZ2Decompressor(), False
        self._taken = self._position = self.begin = self.begin_position = 0

    def read(self, size: int) -> bytes:
        while True:
            data = b""
            if self._decoder.eof:
                data = self._decoder.unused_data
                self._decoder, self._begun = bz2.BZ2Decompressor(), False
                self.begin, self.begin_position = self._taken - len(data), self._position
            if not data and self._decoder.needs_input:
                data = self._source.read(_BZ2_READ_BYTES)
                self._taken += len(data)
                if not data:
                    if self._begun:
                        raise OSError("Truncated compressed stream")
                    return b""
            self._begun = True
            if found := self._decoder.decompress(data, size):
                self._position += len(found)
                return found

    def close(self) -> None:
        """Nothing is held open."""


class _Counted:
    """The source as a file object that counts what was read, can be peeked into once, and keeps its own failure apart
    from the decoder's.
    """

    closed = False

    def __init__(self, source: Readable) -> None:
        self._source, self._peeked = source, b""
        self.position = 0
        self.failure: Exception | None = None

    def peek(self, size: int) -> bytes:
        while len(self._peeked) < size and (more := self._source.read(size - len(self._peeked))):
            self._peeked += more
        return self._peeked

    def read(self, size: int) -> bytes:
        try:
            if self._peeked:
                data, self._peeked = self._peeked[:size], self._peeked[size:]
            else:
                data = self._source.read(size)
        except (OSError, CorruptDataError) as error:  # kept: the decoder's own failures are OSErrors too
            self.failure = error
            raise
        self.position += len(data)
        return data

    def tell(self) -> int:
        return self.position

    def flush(self) -> None:
        """Nothing to do; decoders call it."""

    def close(self) -> None:
        self.closed = True
        if close := getattr(self._source, "close", None):
            close()


def _codec(first: bytes, name: str) -> str:
    if first.startswith(b"\x1f\x8b"):
        return "gzip"
    if first.startswith((b"\x28\xb5\x2f\xfd", *_ZSTD_SKIPPABLE)):
        return "zstd"
    if first.startswith(b"\x04\x22\x4d\x18"):
        return "lz4"
    if first[:3] == b"BZh" and first[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        return "bz2"
    for codec, magic in _NOT_READ.items():
        if first.startswith(magic):
            raise CorruptDataError(name, "compression", "gzip, zstd, lz4, bz2 or none", codec, "recompress the file")
    return "plain"
