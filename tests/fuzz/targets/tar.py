"""Tar archives, packed in every way, of JSON lines, pages and web archives. The first byte says which, and whether the
checksums of the headers are put right first, so that what was changed in a header is read.
"""

import gzip
import tarfile
from pathlib import Path

from corpus_assets.records.read import read_file
from corpus_assets.records.record import Tally
from tests.fuzz.hold import LIMITS
from tests.fuzz.packed import every_way, unpacked
from tests.records.made_up_files import http, row, special, warc_record
from tests.records.made_up_files import tar as made

KINDS = ("jsonl", "html", "warc", "text")
WORDS = (
    b"ustar\x0000",
    b"ustar  \0",
    b"path=",
    b"22 path=",
    b"size=99999999",
    b"x",
    b"g",
    b"L",
    b"K",
    b"S",
    b"0000000\0",
    b"GNU.sparse.",
)
_MENDED, _BLOCK = 128, tarfile.BLOCKSIZE
MEMBERS: dict[str, bytes] = {
    "a.jsonl": b'{"text": "The miller slept."}\n',
    "b.html": b"<html><p>The fox came by.</p></html>",
    "c.jsonl.gz": gzip.compress(b'{"text": "The miller woke."}\n', mtime=0),
    "d.warc": warc_record("response", http(b"<html>x</html>")),
    "e" * 120 + ".txt": b"A long name.",
}


def seeds() -> list[bytes]:
    content = made({**MEMBERS, "f": special("f", tarfile.SYMTYPE, "a.jsonl"), "g": special("g", tarfile.DIRTYPE)})
    ways = every_way(content)
    found = [bytes([kind]) + way for kind in range(len(KINDS)) for way in ways[:: kind + 1]]
    return found + [bytes([kind + _MENDED]) + ways[0] for kind in range(len(KINDS))]


def run(data: bytes, folder: Path) -> None:
    first, content = (data[0], data[1:]) if data else (0, b"")
    if first & _MENDED:
        content = content[:1] + _with_checksums(content[1:])
    read(unpacked(content), KINDS[first % len(KINDS)], "tar", folder)


def read(content: bytes, kind: str, container: str, folder: Path) -> None:
    """Every record of an archive."""
    path = folder / "file"
    path.write_bytes(content)
    for _ in read_file(path, "file", row(kind, container=container), LIMITS, Tally()):
        pass


def _with_checksums(content: bytes) -> bytes:
    """Every block that says it is a header has the checksum that belongs to it."""
    blocks = [content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK)]
    return b"".join(_with_checksum(one) if one[257:262] == b"ustar" and len(one) == _BLOCK else one for one in blocks)


def _with_checksum(header: bytes) -> bytes:
    total = sum(header[:148]) + 8 * ord(" ") + sum(header[156:])
    return header[:148] + b"%06o\0 " % total + header[156:]
