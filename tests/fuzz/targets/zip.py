"""Zip archives of JSON lines, pages and web archives (the first byte says which)."""

import io
import zipfile
from pathlib import Path

from tests.fuzz.targets import tar

WORDS = (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"\x75\x70", b"\x01\x00", b"../")


def _file(compression: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in tar.MEMBERS.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 2, 0, 0, 0)), data, compression)
    return out.getvalue()


def seeds() -> list[bytes]:
    ways = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    return [bytes([kind, 0]) + _file(way) for way in ways for kind in range(len(tar.KINDS))]


def run(data: bytes, folder: Path) -> None:
    kind = tar.KINDS[(data[0] if data else 0) % len(tar.KINDS)]
    tar.read(data[2:], kind, "zip", folder)
