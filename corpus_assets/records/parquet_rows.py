"""Rows of a Parquet file in memory, as items of benchmarks: what holds text, some rows at a time, and the file without
some of its rows.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.records.parquet_bounds import check_whole, rows_at_once
from corpus_assets.stages.eval_items import MAX_BYTES, Row
from formats.compressed import Budget
from formats.errors import CorruptDataError

_TODO = "mend the file, or correct path, format, fields and sha256 of the eval set"
_GROUP_BYTES = 64 << 20
_WRITTEN_AS = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4", "SNAPPY": "snappy", "GZIP": "gzip", "BROTLI": "brotli"}


def rows(data: bytes, name: str, columns: Sequence[str] = (), also: Sequence[str] = ()) -> Iterator[Row]:
    """The rows with these columns; a null is no field of its row. Without `columns` those that hold text, and `also`.

    Raises CorruptDataError for what is no Parquet file, is broken, grows beyond its bounds or is not UTF-8 (told by its
    row), and for a column that is not there or can hold no text.
    """
    number = 0
    try:
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
            read = _columns(name, file.schema_arrow, columns, also)
            for batch in _batches(data, name, file, read):
                for row in _values(batch, read, number, name):
                    yield number, _where(number), row
                    number += 1
            check_whole(data, file, read, number if read else file.metadata.num_rows, name)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last of names of columns
        raise _broken(name, number, error) from None


def without(data: bytes, name: str, is_out: Callable[[int], bool]) -> bytes:
    """A Parquet file of the same schema, metadata and compression, without the rows that are out."""
    out, number = io.BytesIO(), 0
    try:
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
            names, schema = file.schema_arrow.names, file.schema_arrow
            with pq.ParquetWriter(out, schema, compression=_compression(file)) as writer:
                kept: list[pa.RecordBatch] = []
                for batch in _batches(data, name, file, names):
                    stays = [not is_out(number + i) for i in range(batch.num_rows)]
                    number += batch.num_rows
                    kept.append(batch.filter(pa.array(stays, pa.bool_())))
                    if sum(one.nbytes for one in kept) >= _GROUP_BYTES:
                        writer.write_table(pa.Table.from_batches(kept, schema))
                        kept = []
                if kept:
                    writer.write_table(pa.Table.from_batches(kept, schema))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _broken(name, number, error) from None
    return out.getvalue()


def _broken(name: str, number: int, error: Exception) -> CorruptDataError:
    found = f"broken ({' '.join(str(error).split())[:200]})"
    return CorruptDataError(name, f"Parquet file from row {number + 1} (counted from 1) on", "whole", found, _TODO)


def _where(number: int) -> str:
    return f"row {number + 1} (counted from 1)"


def _batches(data: bytes, name: str, file: pq.ParquetFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    limit, decoded = Budget(max_bytes=MAX_BYTES).limit(len(data)), 0
    for group in range(file.metadata.num_row_groups if columns else 0):
        at_once = rows_at_once(data, file, group, columns)
        for batch in file.iter_batches(at_once, row_groups=[group], columns=columns, use_threads=False):
            decoded += batch.nbytes
            if decoded > limit:
                raise CorruptDataError(name, "decoded bytes", f"at most {limit}", decoded, _TODO)
            yield batch


def _columns(name: str, schema: pa.Schema, columns: Sequence[str], also: Sequence[str]) -> list[str]:
    if twice := sorted(column for column, times in Counter(schema.names).items() if times > 1):
        raise CorruptDataError(name, "columns", "each once", f"{', '.join(twice)} more than once", _TODO)
    if not columns:
        return [field.name for field in schema if _holds_text(field.type) or field.name in also]
    for column in columns:
        if column not in schema.names:
            raise CorruptDataError(name, "columns", column, ", ".join(schema.names) or "none", _TODO)
        kind = schema.field(column).type
        if not (_holds_text(kind) or _is_binary(kind) or pa.types.is_null(kind)):
            raise CorruptDataError(name, f"column {column}", "strings, or lists of strings", kind, _TODO)
    return list(dict.fromkeys(columns))


def _holds_text(kind: pa.DataType) -> bool:
    """Whether values have strings in them, and no bytes: those of pictures are not read."""
    leaves = [*_leaves(kind)]
    return any(map(_is_string, leaves)) and not any(map(_is_binary, leaves))


def _leaves(kind: pa.DataType) -> Iterator[pa.DataType]:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not kind.num_fields:
        yield kind
    for i in range(kind.num_fields):
        yield from _leaves(kind.field(i).type)


def _is_string(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


def _values(batch: pa.RecordBatch, columns: list[str], first: int, name: str) -> Iterator[dict[str, Any]]:
    for i in range(batch.num_rows):
        row = {}
        for column in columns:
            try:
                value = batch.column(column)[i].as_py()
                value = value.decode("utf-8") if isinstance(value, bytes) else value
            except UnicodeDecodeError as error:
                found = f"none from its byte {error.start + 1} on"
                raise CorruptDataError(name, f"{_where(first + i)}, {column}", "UTF-8", found, _TODO) from None
            except (ValueError, OverflowError) as error:  # such as a time that no calendar has, beside a text
                raise CorruptDataError(name, f"{_where(first + i)}, {column}", "text", error, _TODO) from None
            if value is not None:
                row[column] = value
        yield row


def _compression(file: pq.ParquetFile) -> str:
    """The one of its first column; one that is not written any more, and that of a file without rows, is zstd."""
    metadata = file.metadata
    if not (metadata.num_row_groups and metadata.num_columns):
        return "zstd"
    return _WRITTEN_AS.get(metadata.row_group(0).column(0).compression, "zstd")
