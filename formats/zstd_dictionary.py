"""zstd files that carry their dictionary: a skippable frame 0x184D2A5D at the beginning holds it, plain or as one zstd
frame; every later frame is decompressed with it. Web archives do so (IIPC, Zstandard Compression for WARC Files 1.0).

Arrow's zstd stream takes no dictionary, so python-zstandard reads these, frame by frame: its decoder of one frame is
the only one there that tells where a frame ends, and so whether the last one is whole.
"""

from typing import Protocol

import zstandard

DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"
MAX_DICTIONARY_BYTES = 8 << 20
"""What the specification asks a decoder to take."""
_ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
_READ_BYTES = 1 << 14
_FEED_BYTES = 1 << 10
"""A zstd block takes four bytes at least and gives 128 KiB at most: 32 MiB for one feeding, whoever made the file."""


class Source(Protocol):
    """Anything with `read(n)`: at most n bytes, and b"" only at the end."""

    def read(self, size: int, /) -> bytes: ...


class Unzstd:
    """The frames' contents, after each other. `read` raises OSError where the file is broken or cut."""

    def __init__(self, source: Source) -> None:
        self._source, self._frames = source, _Frames(None)
        self._compressed, self._held, self._at = b"", b"", 0
        self._begun = False

    def read(self, size: int) -> bytes:
        """At most `size` bytes, b"" only at the end."""
        if not self._begun:
            self._begun, self._frames = True, _Frames(self._dictionary())
        while self._at == len(self._held):
            self._compressed = self._compressed or self._source.read(_READ_BYTES)
            if not self._compressed:
                self._frames.end()
                return b""
            feed, self._compressed = self._compressed[:_FEED_BYTES], self._compressed[_FEED_BYTES:]
            self._held, self._at = self._frames.feed(feed), 0
        found = self._held[self._at : self._at + size]
        self._at += len(found)
        return found

    def close(self) -> None:
        """Nothing is held open."""

    def _dictionary(self) -> zstandard.ZstdCompressionDict:
        head = self._exactly(8)
        size = int.from_bytes(head[4:], "little")
        if size > MAX_DICTIONARY_BYTES:
            raise OSError(f"dictionary of {size} bytes, at most {MAX_DICTIONARY_BYTES} are taken")
        data = self._exactly(size)
        if data.startswith(_ZSTD_FRAME):
            data = _unpacked(data)
        return zstandard.ZstdCompressionDict(data)

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            data = self._source.read(size - len(found))
            if not data:
                raise OSError("Truncated dictionary")
            found += data
        return found


class _Frames:
    """Decodes what it is fed; frames may begin and end anywhere in it."""

    def __init__(self, dictionary: zstandard.ZstdCompressionDict | None) -> None:
        self._decoder = zstandard.ZstdDecompressor(dict_data=dictionary)
        self._frame: zstandard.ZstdDecompressionObj | None = None

    def feed(self, data: bytes) -> bytes:
        found = []
        try:
            while data:
                frame = self._frame or self._decoder.decompressobj()
                found.append(frame.decompress(data))
                self._frame, data = (None, frame.unused_data) if frame.eof else (frame, b"")
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from None
        return b"".join(found)

    def end(self) -> None:
        if self._frame:
            raise OSError("Truncated compressed stream")


def _unpacked(data: bytes) -> bytes:
    """A dictionary that is itself compressed, without one."""
    frames, found = _Frames(None), bytearray()
    for at in range(0, len(data), _FEED_BYTES):
        found += frames.feed(data[at : at + _FEED_BYTES])
        if len(found) > MAX_DICTIONARY_BYTES:
            raise OSError(f"dictionary of more than {MAX_DICTIONARY_BYTES} bytes")
    frames.end()
    return bytes(found)
