"""Ledger rows, WARC files and archives for the tests of the readers; every document in them is made up."""

import io
import struct
import tarfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import zstandard

from corpus_assets.records.read import read_file
from corpus_assets.records.record import Limits, Record, Reject, Tally
from formats.ledger import FieldMapping, LedgerFile, LedgerRow


def row(kind: str, *urls: str, **changes) -> LedgerRow:
    files = tuple(LedgerFile(url, "ab" * 32, 1) for url in urls or ("tales.dat",))
    fields = {
        "source_id": "tales",
        "title": "Tales",
        "kind": kind,
        "files": files,
        "license_spdx": "CC0-1.0",
        "license_evidence": "made up for a test",
        "attribution": "nobody",
        "retrieved": "2026-01-02",
        "bucket": "tales",
        "profile": "prose",
    }
    return LedgerRow(**{**fields, **changes})


def read(
    path: Path, kind: str, url: str = "tales.dat", limits: Limits | None = None, **changes
) -> list[Record | Reject]:
    return list(read_file(path, url, row(kind, url, **changes), limits or Limits(), Tally()))


def mapping(**fields: str) -> FieldMapping:
    return FieldMapping(**fields)


def rejects(found: list[Record | Reject]) -> list[tuple[int, str]]:
    return [(one.position, one.reason) for one in found if isinstance(one, Reject)]


def records(found: list[Record | Reject]) -> list[Record]:
    return [one for one in found if isinstance(one, Record)]


def http(body: bytes, status: str = "200 OK", content_type: str | None = "text/html", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *([f"Content-Type: {content_type}"] if content_type is not None else []), *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def warc_record(kind: str, content: bytes, uri: str | None = "http://tales.example/cat", **headers: str) -> bytes:
    fields = {"WARC-Type": kind, "WARC-Record-ID": "<urn:uuid:00000000-0000-0000-0000-000000000001>"}
    if uri is not None:
        fields["WARC-Target-URI"] = uri
    fields["WARC-Date"] = "2024-05-06T07:08:09Z"
    fields["Content-Type"] = "application/http; msgtype=response" if kind == "response" else "text/plain"
    fields["Content-Length"] = str(len(content))
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = ["WARC/1.0", *(f"{name}: {value}" for name, value in fields.items() if value is not None)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n\r\n"


def arc_record(content: bytes, url: str = "http://tales.example/cat", *, head: str | None = None) -> bytes:
    """A record of ARC version 1; `head` is what stands between the URL and the length."""
    head = head if head is not None else "192.0.2.1 20240506070809 text/html"
    return f"{url} {head} {len(content)}\n".encode() + content + b"\n"


ARC_FILE = arc_record(
    b"1 0 made by hand\nURL IP-address Archive-date Content-type Archive-length\n",
    "filedesc://tales.arc",
    head="0.0.0.0 20240506070809 text/plain",
)
"""The record that begins an ARC file."""


def zstd_frames(pieces: Iterable[bytes], dictionary: zstandard.ZstdCompressionDict | None = None) -> bytes:
    """A zstd frame a piece, as the specification for web archives wants them."""
    compressor = zstandard.ZstdCompressor(dict_data=dictionary, write_checksum=True)
    return b"".join(compressor.compress(piece) for piece in pieces)


def zstd_with_dictionary(
    pieces: Sequence[bytes], dictionary: zstandard.ZstdCompressionDict, *, is_packed: bool = False
) -> bytes:
    """The dictionary in a leading skippable frame, as it is or packed, then a frame a piece."""
    data = dictionary.as_bytes()
    data = zstd_frames([data]) if is_packed else data
    return struct.pack("<II", 0x184D2A5D, len(data)) + data + zstd_frames(pieces, dictionary)


def trained_dictionary(samples: Sequence[bytes]) -> zstandard.ZstdCompressionDict:
    """In zstd's own format, from samples like these."""
    return zstandard.train_dictionary(4096, [b"%d %s" % (i, sample) for i in range(40) for sample in samples])


def raw_dictionary(content: bytes) -> zstandard.ZstdCompressionDict:
    """Mere content, without zstd's tables."""
    return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def lz4_frames(pieces: Iterable[bytes]) -> bytes:
    return b"".join(pa.compress(piece, codec="lz4", asbytes=True) for piece in pieces)


def chunked(body: bytes, size: int = 16) -> bytes:
    """The body in chunks of HTTP/1.1."""
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in [*parts, b""])


def tar(members: dict[str, bytes | tarfile.TarInfo]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            if isinstance(data, tarfile.TarInfo):
                archive.addfile(data)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A tar member that is no regular file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()
