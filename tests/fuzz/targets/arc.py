"""ARC files, which the reader of web archives tells by their first bytes."""

from pathlib import Path

from tests.fuzz.packed import every_way
from tests.fuzz.targets import warc
from tests.records.made_up_files import ARC_FILE, arc_record, http

WORDS = (b"filedesc://", b" text/html ", b" 20240506070809 ", b" 192.0.2.1 ", b"\n\n", b"HTTP/1.1 200 OK\r\n")


def seeds() -> list[bytes]:
    content = http(b"<html><p>The miller slept.</p></html>")
    return [b"\0" + one for one in every_way(ARC_FILE + arc_record(content) + arc_record(content, head="- - -"))]


def run(data: bytes, folder: Path) -> None:
    warc.run(data, folder)
