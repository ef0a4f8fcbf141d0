"""Judged pages: of which documents of a raw set the block extractor said how much it expects to get wrong.

A file of the raw set, where there are such documents. Spec: raw_set.md.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import zstandard

from formats import compressed, durable, parquet_file
from formats.errors import CorruptDataError
from formats.numbered_lines import numbered_lines
from formats.parquet_file import Shard

NAME = "judged.jsonl.zst"
BLOCKS, RESILIPARSE, TRAFILATURA = "blocks", "resiliparse", "trafilatura"
EXTRACTORS = (BLOCKS, RESILIPARSE, TRAFILATURA)
MAX_ERROR = 1000
SCHEMA = pa.schema([
    pa.field("k", pa.int64(), nullable=False),
    pa.field("expected_error", pa.int32(), nullable=False),
    pa.field("extractor", pa.large_string(), nullable=False),
])  # fmt: skip
_FRAME_BYTES = 4 * 1024 * 1024
_MAX_LINE_BYTES = 200
_BATCH_ROWS = 1 << 16
_LEVEL = 3
_TODO = "delete the raw set's folder and materialize raw_fetch again"


class Judgement(NamedTuple):
    """`error`: the share of its main text that the model expects wrong, in thousandths, at most MAX_ERROR; `extractor`:
    whose text was taken, BLOCKS or, where that seemed too much, the second opinion: one of EXTRACTORS.
    """

    error: int
    extractor: str


class JudgedWriter:
    """Writes the file as documents come; nothing where none does."""

    def __init__(self, folder: Path) -> None:
        self._path, self._held = folder / NAME, bytearray()
        self._rows = self._num_bytes = 0
        self._hasher = hashlib.sha256()

    def add(self, k: int, judged: Judgement) -> None:
        self._held += f'{{"k":{k},"error":{judged.error},"extractor":"{judged.extractor}"}}\n'.encode()
        self._rows += 1
        if len(self._held) > _FRAME_BYTES:
            self._write()

    def finish(self) -> dict[str, Any] | None:
        """What the manifest says of the file; None where there is none."""
        if self._held:
            self._write()
        if not self._rows:
            return None
        digest = self._hasher.hexdigest()
        return {"name": NAME, "documents": self._rows, "bytes": self._num_bytes, "sha256": digest}

    def _write(self) -> None:
        data = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(self._held)
        with durable.naming(self._path), open(self._path, "ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._num_bytes += len(data)
        self._hasher.update(data)
        self._held = bytearray()


def read(shard: Shard, documents: int) -> Iterator[pa.RecordBatch]:
    """SCHEMA rows in ascending k, after length and hash were checked; `documents` is how many the raw set has. Raises
    CorruptDataError naming the line that is none.
    """
    path = parquet_file.verified(shard)
    rows: list[dict[str, Any]] = []
    last, n = -1, 0
    with compressed.open_file(path) as stream:
        for number, line in numbered_lines(stream, _MAX_LINE_BYTES):
            try:
                row = _row(durable.json_value(line or b""))
                if not last < row["k"] < documents:
                    raise ValueError("k out of order")
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                expected = f"k, error (0 to {MAX_ERROR}) and extractor of a document"
                raise CorruptDataError(path, f"line {number}", expected, repr(error)[:200], _TODO) from None
            last, n = row["k"], n + 1
            rows.append(row)
            if len(rows) == _BATCH_ROWS:
                yield pa.RecordBatch.from_pylist(rows, SCHEMA)
                rows = []
    if n != shard.rows:
        raise CorruptDataError(path, "documents", shard.rows, n, _TODO)
    if rows:
        yield pa.RecordBatch.from_pylist(rows, SCHEMA)


def _row(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != {"k", "error", "extractor"}:
        raise ValueError("other keys")
    if type(value["k"]) is not int or type(value["error"]) is not int or not 0 <= value["error"] <= MAX_ERROR:
        raise ValueError("another number")
    if value["extractor"] not in EXTRACTORS:
        raise ValueError("another extractor")
    return {"k": value["k"], "expected_error": value["error"], "extractor": value["extractor"]}
