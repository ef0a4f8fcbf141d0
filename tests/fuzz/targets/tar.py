"""Tar archives, packed in every way, of JSON lines, pages and web archives (the first byte says which)."""

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
    return [bytes([kind]) + way for kind in range(len(KINDS)) for way in ways[:: kind + 1]]


def run(data: bytes, folder: Path, container: str = "tar") -> None:
    path = folder / "file"
    path.write_bytes(unpacked(data[1:]))
    kind = KINDS[(data[0] if data else 0) % len(KINDS)]
    for _ in read_file(path, "file", row(kind, container=container), LIMITS, Tally()):
        pass
