"""Compressed streams of every kind, those with a dictionary among them, read as bytes and as lines."""

import io
from pathlib import Path

from formats.compressed import open_stream
from formats.numbered_lines import numbered_lines
from tests.fuzz.hold import LIMITS
from tests.fuzz.packed import every_way, unpacked

WORDS = (
    b"\x1f\x8b\x08\x00",
    b"\x28\xb5\x2f\xfd",
    b"\x5d\x2a\x4d\x18",
    b"\x50\x2a\x4d\x18",
    b"\x04\x22\x4d\x18",
    b"BZh9",
    b"1AY&SY",
    b"\xfd7zXZ\x00",
)


def seeds() -> list[bytes]:
    return every_way(b"The miller slept.\n" * 20 + bytes(5_000))


def run(data: bytes, folder: Path) -> None:
    del folder
    with open_stream(io.BytesIO(unpacked(data)), "file", budget=LIMITS.file_budget) as stream:
        for _ in numbered_lines(stream, LIMITS.max_record_bytes):
            pass
