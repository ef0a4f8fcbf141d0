"""Raw set: the documents of one source as they were extracted, before any rule. Spec: raw_set.md.

`part-<nnnnn>.jsonl.zst`, `rejects.jsonl.zst`, `manifest.json` and its lock. Immutable, and the same bytes for the same
input: no clock, one thread, each zstd frame compressed in one call. A part is held in memory while it is made or read.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json
import zstandard

from formats import canonical, compressed, durable, judged_pages, parquet_file, userinfo
from formats.dataset import Dataset
from formats.errors import ConfigError, CorruptDataError
from formats.json_fields import MAX_WHOLE
from formats.judged_pages import JudgedWriter, Judgement
from formats.numbered_lines import numbered_lines
from formats.parquet_file import Shard
from formats.stage_tables import RAW

VERSION = 1
WITH_JUDGED = 2
"""The version of a set that has judged pages: VERSION and one key more."""
MANIFEST, LOCK, REJECTS = "manifest.json", "manifest.json.lock", "rejects.jsonl.zst"
PART_BYTES = 8 * 1024 * 1024
"""A part is cut before the line that would take it beyond this many uncompressed bytes. Workers share parts and hold
one each, so a source of some tens of megabytes has several.
"""
MAX_PARTS = 100_000
"""Names have five digits, and parts are read in the order of their paths."""
_MAX_LINE_BYTES = 1 << 30
"""Of one document or reject. A record has at most 128 MiB (`records.record.Limits`), JSON writes a character in six."""
_HEAD = {"source_id": str, "ledger_row_digest": str, "extractor": dict}
REJECTS_FRAME_BYTES = 4 * 1024 * 1024
ZSTD_LEVEL = 3
_BLOCK_BYTES = 4 * 1024 * 1024
_TODO = "delete the raw set's folder and materialize raw_fetch again"
_LINE_SCHEMA = pa.schema([field for field in RAW if field.name != "raw_line"])
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_quoted = json.encoder.encode_basestring
"""A string as JSON, as `_to_json` writes it; making an encoder takes longer than writing a short document does."""


@dataclass(frozen=True)
class RawFile:
    """What came of one fetched file: records = documents + rejects; its documents are k = first_k, first_k + 1, …"""

    url: str
    sha256: str
    bytes: int
    decompressed_bytes: int
    records: int
    documents: int
    rejects: int
    first_k: int


@dataclass(frozen=True)
class RawSet:
    """A raw set whose lock was checked. `parts[i]` is part i; the rows of a set, part after part, are k = 0, 1, 2, …"""

    folder: Path
    source_id: str
    ledger_row_digest: str
    extractor: dict[str, Any]
    files: tuple[RawFile, ...]
    parts: tuple[Shard, ...]
    rejects: dict[str, int]
    """How many records became no document, by reason."""
    rejects_shard: Shard
    digest: str
    """SHA-256 of manifest.json: names every byte of the set."""
    judged: Shard | None = None
    """The judged pages, where there are any (formats.judged_pages)."""

    @property
    def shards(self) -> tuple[Shard, ...]:
        """Every file beside manifest and lock."""
        return (*self.parts, self.rejects_shard, *((self.judged,) if self.judged else ()))

    @property
    def documents(self) -> int:
        return sum(part.rows for part in self.parts)

    def as_dataset(self) -> Dataset:
        """The parts as a dataset that engines read; shard i is part i."""
        return Dataset(RAW, self.parts, reader="formats.raw_set:read_part")

    @property
    def identity(self) -> str:
        return identity_of(self.ledger_row_digest, self.extractor)

    def first_k(self, part: int) -> int:
        """k of the first document of a part."""
        return sum(shard.rows for shard in self.parts[:part])


def identity_of(ledger_row_digest: str, extractor: dict[str, Any]) -> str:
    """What decides the bytes of a raw set: equal identity, equal set."""
    return canonical.digest({"ledger_row_digest": ledger_row_digest, "extractor": extractor})


def part_name(number: int) -> str:
    return f"part-{number:05d}.jsonl.zst"


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

    def end_file(self, url: str, sha256: str, num_bytes: int, decompressed_bytes: int) -> RawFile:
        """What was added since the last call came from this file."""
        documents, rejects = self._documents - self._first_k, self._file_rejects
        records = documents + rejects
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


def open_set(folder: Path) -> RawSet:
    """The raw set in `folder`, once its manifest has the digest of its lock. Parts are checked when they are read.
    Raises CorruptDataError.
    """
    path = folder / MANIFEST
    data, digest = durable.read_locked(folder / LOCK, path, _TODO)
    try:
        manifest = durable.json_value(data)
        form = (manifest["format"], manifest["version"])
        has_judged = form == ("raw_set", WITH_JUDGED)
        judged = _shard(folder, 0, manifest["judged"], "documents", judged_pages.NAME) if has_judged else None
        parts = tuple(_shard(folder, i, part, "documents", part_name(i)) for i, part in enumerate(manifest["parts"]))
        rejects = _shard(folder, 0, manifest["rejects"], "rejects", REJECTS)
        files = tuple(_file(file) for file in manifest["files"])
        head = {name: _of(kind, manifest[name]) for name, kind in _HEAD.items()}
        reasons = {_of(str, reason): _of(int, n) for reason, n in manifest["rejects"]["reasons"].items()}
        identity_of(head["ledger_row_digest"], head["extractor"])  # half a surrogate pair has none
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptDataError(path, "manifest", "a raw set's manifest", durable.why_no_json(error), _TODO) from None
    if form != ("raw_set", VERSION) and not has_judged:
        raise CorruptDataError(
            path, "format", f"raw_set {VERSION} or {WITH_JUDGED}", f"{form!r:.200}", "use the release that made it"
        )
    return RawSet(
        folder, **head, files=files, parts=parts, rejects=reasons, rejects_shard=rejects, digest=digest, judged=judged
    )


def read_part(
    part: Shard, *, columns: Sequence[str] | None = None, batch_rows: int = parquet_file.BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The part's rows in order, in the schema RAW (or these columns of it), after length and hash were checked;
    `raw_line` counts from 0. Raises CorruptDataError naming part and line.
    """
    data = _decompress(parquet_file.verified_bytes(part), part.path)
    line = start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + _BLOCK_BYTES) + 1 or data.find(b"\n", start) + 1 or len(data)
        table = _parse(data[start:end], part, line)
        numbers = pa.array(np.arange(line, line + table.num_rows))
        rows = pa.Table.from_arrays([numbers, *table.columns], schema=RAW)
        yield from (rows if columns is None else rows.select(columns)).to_batches(max_chunksize=batch_rows)
        line += table.num_rows
        start = end
    if line != part.rows:
        raise CorruptDataError(part.path, "documents", part.rows, line, _TODO)


def read_rejects(raw: RawSet) -> Iterator[dict[str, Any]]:
    """The rejects in order: url, position, reason; after length and hash were checked. Raises CorruptDataError naming
    the line that is none.
    """
    path = parquet_file.verified(raw.rejects_shard)
    with compressed.open_file(path) as stream:
        for number, line in numbered_lines(stream, _MAX_LINE_BYTES):
            try:
                value = durable.json_value(line or b"")
                if not isinstance(value, dict) or set(value) != {"url", "position", "reason"}:
                    raise ValueError("other keys")
                _of(str, value["url"]), _of(int, value["position"]), _of(str, value["reason"])
            except (ValueError, TypeError, RecursionError) as error:
                found = "longer than any" if line is None else repr(error)[:200]
                raise CorruptDataError(
                    path, f"line {number}", "an object of url, position, reason", found, _TODO
                ) from None
            yield value


def _compressed(data: bytearray) -> bytes:
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress(data)


def _decompress(data: bytes, path: str) -> bytes:
    try:
        size: Any = zstandard.frame_content_size(data)
        if size > _MAX_LINE_BYTES + PART_BYTES:  # it would be made room for before a byte is decompressed
            raise zstandard.ZstdError(f"{size} bytes, at most {_MAX_LINE_BYTES + PART_BYTES} are read")
        return zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptDataError(path, "compression", "one zstd frame that states its size", error, _TODO) from None


def _shard(folder: Path, number: int, entry: dict[str, Any], rows: str, name: str) -> Shard:
    """An entry of the manifest as a shard. Raises ValueError for a name that is not the one its place gives it."""
    if entry["name"] != name:
        raise ValueError(f"{entry['name']!r} where {name} belongs")
    return Shard(number, str(folder / name), _of(int, entry[rows]), _of(int, entry["bytes"]), _of(str, entry["sha256"]))


def _file(entry: dict[str, Any]) -> RawFile:
    """An entry of the manifest's `files`. Raises TypeError or ValueError where it is none."""
    return RawFile(**{name: _of(str if name in ("url", "sha256") else int, value) for name, value in entry.items()})


def _of(kind: type, value: Any) -> Any:
    """The value. Raises TypeError where it is of another kind, ValueError where it is a number below 0 or too large."""
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__} where a {kind.__name__} belongs")
    if isinstance(value, int) and not 0 <= value <= MAX_WHOLE:
        raise ValueError("a number that counts nothing")
    return value


def _parse(block: bytes, part: Shard, first_line: int) -> pa.Table:
    """One block of whole lines as a table. Where the fast parser finds fault, each line is looked at to name it."""
    num_lines = block.count(b"\n")
    # No value is an object, so a line that begins with { begins a row: one row a line, not two here and none there.
    num_begun = block.startswith(b"{") + block.count(b"\n{")
    # Before it is parsed: a null that comes first takes Arrow's parser down, and the process with it.
    if num_begun != num_lines or not block.endswith(b"\n"):
        found = f"{num_lines} line ends, {num_begun} lines that begin an object"
        raise _wrong_line(block, part, first_line, found)
    try:
        table = pa.json.read_json(
            pa.BufferReader(block),
            read_options=pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pa.json.ParseOptions(explicit_schema=_LINE_SCHEMA, unexpected_field_behavior="error"),
        )
        table.validate(full=True)  # UTF-8
        found = f"{table.num_rows} objects without a null on {num_lines} lines"
        good = table.num_rows == num_lines and not any(column.null_count for column in table.columns)
    except pa.ArrowInvalid as error:
        found, good = str(error), False
    if not good:
        raise _wrong_line(block, part, first_line, found)
    return table


def _wrong_line(block: bytes, part: Shard, first_line: int, found: str) -> CorruptDataError:
    names = set(_LINE_SCHEMA.names)
    lines = block.split(b"\n")
    for number, line in enumerate(lines[:-1] if lines[-1] == b"" else lines, start=first_line):
        try:
            value = json.loads(line.decode("utf-8"))
            if isinstance(value, dict) and set(value) == names and all(isinstance(v, str) for v in value.values()):
                continue
            wrong = f"a {type(value).__name__} of other keys or values"
        except (ValueError, RecursionError) as error:
            wrong = str(error)[:200]
        return CorruptDataError(
            part.path, f"line {number}", f"an object of {', '.join(_LINE_SCHEMA.names)}", wrong, _TODO
        )
    return CorruptDataError(part.path, f"lines from {first_line}", "one JSON object a line", found, _TODO)
