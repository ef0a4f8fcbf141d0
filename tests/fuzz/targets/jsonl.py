"""JSON lines with every field mapped, packed in every way."""

import json
from pathlib import Path

from corpus_assets.records.read import read_file
from corpus_assets.records.record import Tally
from tests.fuzz.hold import LIMITS
from tests.fuzz.packed import every_way, unpacked
from tests.records.made_up_files import mapping, row

ROW = row("jsonl", fields=mapping(text="body.text", url="url", date="date", license="license"))
WORDS = (
    b'"text": ',
    b'{"body": ',
    b"[[[[",
    b'"\\ud800"',
    b"NaN",
    b"\xef\xbb\xbf",
    b'"date": "0001-01-01T00:00:00+23:59"',
)
IS_JSON = True


def seeds() -> list[bytes]:
    values = [
        {"body": {"text": "The miller slept."}, "url": "a", "date": "2026-01-02T03:04:05+06:00", "license": "CC0-1.0"},
        {"body": {"text": ["one", "two"]}, "url": "b", "date": "2026-01-02", "license": "CC0-1.0"},
        {"body.text": "Flat.", "url": "c", "date": None, "license": "MIT"},
    ]
    lines = "".join(json.dumps(value) + "\n" for value in values).encode()
    return every_way(lines)


def run(data: bytes, folder: Path) -> None:
    path = folder / "file.jsonl"
    path.write_bytes(unpacked(data))
    for _ in read_file(path, "file.jsonl", ROW, LIMITS, Tally()):
        pass
