"""Raw set, written document after document; its manifest and lock come last. Spec: raw_set.md.

The same bytes for the same input: no clock, one thread, each zstd frame compressed in one call. A part is held in
memory while it is made.
"""

import hashlib
import json
import os
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import zstandard

from formats import durable, userinfo
from formats.errors import ConfigError, CorruptDataError
from formats.judged_pages import JudgedWriter, Judgement
from formats.raw_set import LOCK, MANIFEST, PART_BYTES, REJECTS, VERSION, WITH_JUDGED, RawFile, part_name

MAX_PARTS = 100_000
"""Names have five digits, and parts are read in the order of their paths."""
REJECTS_FRAME_BYTES = 4 * 1024 * 1024
ZSTD_LEVEL = 3
_LOST = "a record was lost or made up on the way, which is a fault of this program: report it with these words"
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_quoted = json.encoder.encode_basestring
"""A string as JSON, as `_to_json` writes it; making an encoder takes longer than writing a short document does."""


class RawSetWriter:
    """Writes one raw set into an empty folder, document after document; `finish` writes the manifest, then the lock."""

    def __init__(self, folder: Path, source_id: str, ledger_row_digest: str, extractor: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        durable.write_file(folder / REJECTS, b"")
        self._folder = folder
        self._head = {"source_id": source_id, "ledger_row_digest": ledger_row_digest, "extractor": extractor}
        self._files: list[RawFile] = []
        self._parts: list[dict[str, Any]] = []
        self._reasons: Counter[str] = Counter()
        self._part, self._rejects = bytearray(), bytearray()
        self._rejects_bytes, self._rejects_hasher = 0, hashlib.sha256()
        self._part_documents = self._documents = self._file_rejects = self._first_k = 0
        self._judged = JudgedWriter(folder)

    def add_document(
        self, url: str, fetched_at: str, license_spdx: str, text: str, judged: Judgement | None = None
    ) -> None:
        """A user and a password in the url are left out; `judged` is what its extractor expects. Raises
        UnicodeEncodeError, and adds nothing, when a value holds a lone surrogate.
        """
        line = (
            f'{{"url":{_quoted(userinfo.without(url))},"fetched_at":{_quoted(fetched_at)},"license_spdx":{_quoted(license_spdx)},'
            f'"text":{_quoted(text)}}}\n'
        ).encode()
        if self._part and len(self._part) + len(line) > PART_BYTES:
            self._write_part()
        self._part += line
        self._part_documents += 1
        if judged:
            self._judged.add(self._documents, judged)
        self._documents += 1

    def add_reject(self, url: str, position: int, reason: str) -> None:
        """`position` is the record's place in its file: line, row, member or byte, as the file's kind counts. A user
        and a password in the url are left out.
        """
        line = (_to_json({"url": userinfo.without(url), "position": position, "reason": reason}) + "\n").encode("utf-8")
        if self._rejects and len(self._rejects) + len(line) > REJECTS_FRAME_BYTES:
            self._write_rejects()
        self._rejects += line
        self._reasons[reason] += 1
        self._file_rejects += 1

    def end_file(self, url: str, sha256: str, num_bytes: int, decompressed_bytes: int, records: int) -> RawFile:
        """What was added since the last call came from this file, in which its reader found so many records. Raises
        CorruptDataError where these are not as many.
        """
        documents, rejects = self._documents - self._first_k, self._file_rejects
        if records != documents + rejects:
            found = f"{documents} documents and {rejects} rejects"
            raise CorruptDataError(url, "records", f"{records}, which its reader found", found, _LOST)
        file = RawFile(url, sha256, num_bytes, decompressed_bytes, records, documents, rejects, self._first_k)
        self._files.append(file)
        self._first_k, self._file_rejects = self._documents, 0
        return file

    def finish(self) -> None:
        """Write what is held, the manifest and the lock."""
        if self._part:
            self._write_part()
        self._write_rejects()
        num_rejects, judged = sum(self._reasons.values()), self._judged.finish()
        manifest = {
            "format": "raw_set",
            "version": WITH_JUDGED if judged else VERSION,
            **self._head,
            "files": [asdict(file) for file in self._files],
            "parts": self._parts,
            "rejects": {
                "name": REJECTS,
                "rejects": num_rejects,
                "bytes": self._rejects_bytes,
                "sha256": self._rejects_hasher.hexdigest(),
                "reasons": dict(sorted(self._reasons.items())),
            },
            "totals": {
                "records": self._documents + num_rejects,
                "documents": self._documents,
                "rejects": num_rejects,
                "bytes": sum(file.bytes for file in self._files),
                "decompressed_bytes": sum(file.decompressed_bytes for file in self._files),
            },
        } | ({"judged": judged} if judged else {})
        data = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
        durable.write_file(self._folder / MANIFEST, data)
        durable.write_digest(self._folder / LOCK, hashlib.sha256(data).hexdigest())

    def _write_part(self) -> None:
        if len(self._parts) == MAX_PARTS:
            raise ConfigError(f"{self._folder}: more than {MAX_PARTS} parts; split the source into several")
        name, data = part_name(len(self._parts)), _compressed(self._part)
        durable.write_file(self._folder / name, data)
        self._parts.append(
            {
                "name": name,
                "documents": self._part_documents,
                "bytes": len(data),
                "line_bytes": len(self._part),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        )
        self._part, self._part_documents = bytearray(), 0

    def _write_rejects(self) -> None:
        path, data = self._folder / REJECTS, _compressed(self._rejects)
        with durable.naming(path), open(path, "ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._rejects_bytes += len(data)
        self._rejects_hasher.update(data)
        self._rejects = bytearray()


def _compressed(data: bytearray) -> bytes:
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress(data)
