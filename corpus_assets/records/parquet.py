"""Parquet: one record a row, named by its url column, else `url#<row>`, rows counted from 0. Only the mapped columns
are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.records.fields import FieldReader
from corpus_assets.records.parquet_bounds import check_whole, rows_at_once
from corpus_assets.records.parquet_columns import MappedColumn, is_list_of_text, is_text, is_time
from corpus_assets.records.record import Limits, Record, Reject, RejectReason, Tally
from formats.errors import CorruptDataError
from formats.ledger import FieldMapping

CODE_VERSION = "4"
_TODO = "fetch the file again, or correct the row's files and fields in the ledger"
_TOO_MUCH = "look at the file; if it is right, split it"


def read_parquet(
    path: Path, url: str, mapping: FieldMapping, fields: FieldReader, limits: Limits, tally: Tally
) -> Iterator[Record | Reject]:
    """The records of one file, in order; the tally counts the bytes of all columns. Raises CorruptDataError, and
    SchemaMismatchError where a mapped column is missing or holds something else.
    """
    row, decoded_bytes = 0, 0
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            limit = limits.file_budget.limit(path.stat().st_size)
            tally.decompressed_bytes = _size(file.metadata)
            _hold(path, "uncompressed bytes", tally.decompressed_bytes, limit)
            columns = _columns(path, file.schema_arrow, mapping)
            names = [column.path for column in columns]
            for batch in _batches(path, file, names):
                decoded_bytes += batch.nbytes
                _hold(path, "decoded bytes", decoded_bytes, limit)
                for value in _rows(batch, columns):
                    place = f"{url}#{row}"
                    if isinstance(value, _NotUtf8):
                        yield Reject(fields.url(value.columns) or place, row, RejectReason.INVALID_UTF8)
                    else:
                        yield _held(fields.read(value, place, row), limits)
                    row += 1
            check_whole(path, file, names, row)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last of names of columns
        raise CorruptDataError(path, f"Parquet file from row {row} on", "whole", f"broken ({error})", _TODO) from None


def _batches(path: Path, file: pq.ParquetFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    for group in range(file.metadata.num_row_groups):
        rows = rows_at_once(path, file, group, columns)
        yield from file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False)


def _size(metadata: Any) -> int:
    return sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))


def _hold(path: Path, what: str, num_bytes: int, limit: int) -> None:
    if num_bytes > limit:
        raise CorruptDataError(path, what, f"at most {limit}", num_bytes, _TOO_MUCH)


def _held(record: Record | Reject, limits: Limits) -> Record | Reject:
    if isinstance(record, Record) and len(record.content) > limits.max_record_bytes:
        return Reject(record.url, record.position, RejectReason.RECORD_TOO_LARGE)
    return record


def _columns(path: Path, schema: pa.Schema, mapping: FieldMapping) -> list[MappedColumn]:
    """The mapped columns, each of a type that can hold what it is mapped to."""
    text = MappedColumn(path, schema, mapping.text, "text")
    text.require(is_text(text.kind) or is_list_of_text(text.kind), "a string, or a list of strings")
    found = {text.path: text}
    for holds, name in (("url", mapping.url), ("license", mapping.license)):
        if name is not None:
            column = found.setdefault(name, MappedColumn(path, schema, name, holds))
            column.require(is_text(column.kind), "a string")
    if mapping.date is not None:
        column = found.setdefault(mapping.date, MappedColumn(path, schema, mapping.date, "date"))
        column.require(is_time(column.kind), "a date, a time, or a string")
    return list(found.values())


@dataclass(frozen=True)
class _NotUtf8:
    """A row that holds bytes that are not UTF-8; `columns` are those that could be read."""

    columns: dict[str, Any]


def _rows(batch: pa.RecordBatch, columns: list[MappedColumn]) -> Iterator[Any]:
    """Each row as a dict by the mapped names, or as _NotUtf8."""
    names = [column.path for column in columns]
    try:
        values = [column.values(batch) for column in columns]
    except UnicodeDecodeError:
        for i in range(batch.num_rows):
            yield _row(batch.slice(i, 1), columns)
        return
    for row in zip(*values, strict=True):
        yield dict(zip(names, row, strict=True))


def _row(batch: pa.RecordBatch, columns: list[MappedColumn]) -> Any:
    found = {}
    for column in columns:
        try:
            found[column.path] = column.values(batch)[0]
        except UnicodeDecodeError:
            continue
    return found if len(found) == len(columns) else _NotUtf8(found)
