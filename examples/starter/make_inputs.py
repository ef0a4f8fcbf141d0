"""Make the starter's packed inputs from its texts, byte for byte the same each time: python make_inputs.py

`inputs/web.warc.gz` are the pages below `texts/pages` as a crawler would have kept them, `inputs/handbook.tar` and
`inputs/notes.jsonl.zst` the files and lines of the same names. The other inputs are written by hand.
"""

import base64
import hashlib
import io
import struct
import tarfile
import uuid
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard

HERE = Path(__file__).parent
SITE = "https://harrowferry.example"
NAVIGATION = ("index", "arrive", "ferry", "mill", "museum", "lodging", "library", "questions")
CHARSETS = {"ru/parom.html": "windows-1251", "ja/watashibune.html": "shift_jis"}
"""Pages that are not served as UTF-8: one says so in its header alone, the other in its meta tag alone."""
SERVED_TWICE = {"mill.html": "mill.html?from=leaflet"}
PIXEL = b"GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"


def page(body: str, name: str) -> bytes:
    """A whole page as the site serves it: head, navigation, the text, footer."""
    language = name.split("/")[0] if "/" in name else "en"
    charset = CHARSETS.get(name, "utf-8")
    meta = "" if name.startswith("ru/") else f'<meta charset="{charset}">'
    links = "".join(f'<li><a href="/{item}.html">{item.title()}</a></li>' for item in NAVIGATION)
    html = (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>{meta}<title>Harrow Ferry</title>'
        f"<style>nav li {{ display: inline; }}</style></head>\n<body>\n"
        f'<header><a href="/">Harrow Ferry</a></header>\n<nav class="menu"><ul>{links}</ul></nav>\n'
        f"<main>\n{body}</main>\n"
        f'<footer><p>© Friends of Harrow Ferry · <a href="/imprint.html">Imprint</a> · Cookie settings</p></footer>\n'
        f"<script>document.body.dataset.ready = 'yes';</script>\n</body>\n</html>\n"
    )
    return html.encode(charset, "xmlcharrefreplace")


def http(status: str, content_type: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nServer: example\r\n\r\n"
    )
    return head.encode("ascii") + body


def responses(pages: Path) -> Iterator[tuple[str, bytes]]:
    """(URL, HTTP response) of everything that was crawled, in order."""
    for path in sorted(pages.rglob("*.html"), key=lambda path: path.relative_to(pages).as_posix()):
        name = path.relative_to(pages).as_posix()
        body = page(path.read_text("utf-8"), name)
        said = f"; charset={CHARSETS[name]}" if name.startswith("ru/") else ""
        answer = http("200 OK", f"text/html{said}", body)
        yield f"{SITE}/{name}", answer
        if name in SERVED_TWICE:
            yield f"{SITE}/{SERVED_TWICE[name]}", answer
    yield f"{SITE}/steam-engine.html", http("404 Not Found", "text/html", page("<h1>Not found</h1>\n", "404"))
    yield f"{SITE}/pixel.gif", http("200 OK", "image/gif", PIXEL)
    yield f"{SITE}/opening.txt", http("200 OK", "text/plain; charset=utf-8", (HERE / "texts/opening.txt").read_bytes())


def record(kind: str, date: str, block: bytes, content_type: str, url: str | None = None) -> bytes:
    """One WARC record. Its id follows from what it holds, where a crawler would draw one."""
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{kind} {date} {url}")
    digest = base64.b32encode(hashlib.sha1(block).digest()).decode("ascii")
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        *([f"WARC-Target-URI: {url}"] if url else []),
        f"WARC-Date: {date}",
        f"WARC-Record-ID: <urn:uuid:{identity}>",
        f"WARC-Block-Digest: sha1:{digest}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + block + b"\r\n\r\n"


def gzip_member(data: bytes) -> bytes:
    """A gzip member of stored blocks: what deflate makes of the same bytes differs between builds of zlib."""
    blocks = [data[at : at + 0xFFFF] for at in range(0, len(data), 0xFFFF)]
    deflated = b"".join(
        struct.pack("<BHH", block is blocks[-1], len(block), len(block) ^ 0xFFFF) + block for block in blocks
    )
    head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    return head + deflated + struct.pack("<II", zlib.crc32(data), len(data))


def warc(pages: Path) -> bytes:
    """One gzip member a record, as crawlers write them, with the request of the first page before its response."""
    info = b"software: make_inputs.py\r\nformat: WARC File Format 1.1\r\n"
    records = [record("warcinfo", "2021-05-01T06:00:00Z", info, "application/warc-fields")]
    for minute, (url, answer) in enumerate(responses(pages)):
        date = f"2021-05-01T06:{minute:02d}:30Z"
        if minute == 0:
            asked = f"GET {url.removeprefix(SITE)} HTTP/1.1\r\nHost: harrowferry.example\r\n\r\n".encode("ascii")
            records.append(record("request", date, asked, "application/http; msgtype=request", url))
        records.append(record("response", date, answer, "application/http; msgtype=response", url))
    return b"".join(gzip_member(one) for one in records)


def tar(folder: Path, files: Iterable[Path]) -> bytes:
    """The folder and its files, without owner and with one time for all."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        top = tarfile.TarInfo(folder.name)
        top.type, top.mode, top.mtime = tarfile.DIRTYPE, 0o755, 1_600_000_000
        archive.addfile(top)
        for path in sorted(files):
            entry = tarfile.TarInfo(f"{folder.name}/{path.name}")
            entry.size, entry.mtime = path.stat().st_size, 1_600_000_000
            archive.addfile(entry, io.BytesIO(path.read_bytes()))
    return packed.getvalue()


def derived() -> dict[str, bytes]:
    """Name below `inputs` -> bytes. Those of the zstd file hold for the zstandard of the constraints file."""
    texts = HERE / "texts"
    return {
        "web.warc.gz": warc(texts / "pages"),
        "handbook.tar": tar(texts / "handbook", (texts / "handbook").iterdir()),
        "notes.jsonl.zst": zstandard.ZstdCompressor(level=3).compress((texts / "notes.jsonl").read_bytes()),
    }


def main() -> None:
    for name, data in derived().items():
        (HERE / "inputs" / name).write_bytes(data)
        print(f"inputs/{name}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
