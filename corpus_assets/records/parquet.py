"""Parquet: one record a row, named by its url column, else `url#<row>`, rows counted from 0. Only the mapped columns
are read.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.records.fields import FieldReader
from corpus_assets.records.record import Limits, Record, Reject, RejectReason, Tally
from formats.errors import CorruptDataError, SchemaMismatchError
from formats.ledger import FieldMapping

CODE_VERSION = "2"
_BATCH_ROWS = 256
_TODO = "fetch the file again, or correct the row's files and fields in the ledger"


def read_parquet(
    path: Path, url: str, mapping: FieldMapping, fields: FieldReader, limits: Limits, tally: Tally
) -> Iterator[Record | Reject]:
    """The records of one file, in order; the tally counts the bytes of all columns. Raises CorruptDataError, and
    SchemaMismatchError where a mapped column is missing or the text is no string.
    """
    columns = [name for name in (mapping.text, mapping.url, mapping.date, mapping.license) if name is not None]
    row = 0
    try:
        with pq.ParquetFile(path) as file:
            tally.decompressed_bytes = _checked_size(path, file.metadata, limits)
            _check_columns(path, file.schema_arrow, mapping.text, columns)
            for batch in file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False):
                for value in _rows(batch):
                    place = f"{url}#{row}"
                    if isinstance(value, _NotUtf8):
                        yield Reject(fields.url(value.columns) or place, row, RejectReason.INVALID_UTF8)
                    else:
                        yield fields.read(value, place, row)
                    row += 1
    except (pa.ArrowException, OSError) as error:
        raise CorruptDataError(path, f"Parquet from row {row}", "readable", str(error), _TODO) from None


def _checked_size(path: Path, metadata: Any, limits: Limits) -> int:
    budget = limits.file_budget
    num_bytes = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    limit = min(budget.max_bytes, max(budget.min_bytes, path.stat().st_size * budget.max_ratio))
    if num_bytes > limit:
        raise CorruptDataError(path, "uncompressed bytes", f"at most {limit}", num_bytes, "look at the file; split it")
    return num_bytes


def _check_columns(path: Path, schema: pa.Schema, text: str, columns: list[str]) -> None:
    for name in columns:
        kind: Any = None
        names = name.split(".")
        if names[0] in schema.names:
            kind = schema.field(names[0]).type
            for part in names[1:]:
                kind = kind.field(part).type if pa.types.is_struct(kind) and kind.get_field_index(part) >= 0 else None
        if kind is None:
            raise SchemaMismatchError(path, "columns", f"a column {name}", ", ".join(schema.names), _TODO)
        if name == text and not _is_text(kind):
            raise SchemaMismatchError(path, f"column {name}", "a string", kind, _TODO)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


@dataclass(frozen=True)
class _NotUtf8:
    """A row that holds bytes that are not UTF-8; `columns` are those that could be read."""

    columns: dict[str, Any]


def _rows(batch: pa.RecordBatch) -> list[Any]:
    """Each row as a dict, or as _NotUtf8."""
    try:
        return batch.to_pylist()
    except UnicodeDecodeError:
        return [_row(batch.slice(i, 1)) for i in range(batch.num_rows)]


def _row(batch: pa.RecordBatch) -> Any:
    columns = {}
    for name in batch.schema.names:
        with suppress(UnicodeDecodeError):
            columns[name] = batch.column(name)[0].as_py()
    return columns if len(columns) == batch.num_columns else _NotUtf8(columns)
