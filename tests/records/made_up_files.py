"""Ledger rows, WARC files and archives for the tests of the readers; every document in them is made up."""

import io
import tarfile
import zipfile
from pathlib import Path

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


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()
