"""Mapped columns of a Parquet file as flat values, whatever they lie in: columns of their own (whose names may hold
dots), or fields of structs. Strings, binaries that hold UTF-8, and dictionaries of both give strings; lists of strings
stay lists; dates and times give datetimes in UTC.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from formats.errors import SchemaMismatchError

_TODO = "correct the row's fields in the ledger, or its files"
_EPOCH = datetime(1970, 1, 1)
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_MAX_LISTED = 60


class MappedColumn:
    """The column that `path` names: the one of exactly that name, else field b of the struct a for `a.b`."""

    def __init__(self, file: Path, schema: pa.Schema, path: str, holds: str) -> None:
        """`holds` is the field of the mapping that names it. Raises SchemaMismatchError where there is none, or more
        than one.
        """
        self.path, self._file = path, file
        self._names = [path] if path in schema.names else path.split(".")
        kind: Any = schema
        for name in self._names:
            indices = kind.get_all_field_indices(name) if isinstance(kind, pa.Schema | pa.StructType) else []
            if len(indices) != 1:
                if indices:
                    raise SchemaMismatchError(file, f"number of columns named {path}", 1, len(indices), _TODO)
                todo = f"say which holds the {holds}: fields.{holds} of the row, --{holds}-field of `corpus ledger add`"
                raise SchemaMismatchError(file, "list of columns", f"one named {path}", _listed(schema), todo)
            kind = kind.field(indices[0]).type
        self.kind = kind

    def require(self, fits: bool, expected: str) -> None:
        """Raises SchemaMismatchError where the column's type does not fit."""
        if not fits:
            raise SchemaMismatchError(self._file, f"column {self.path}", expected, self.kind, _TODO)

    def values(self, batch: pa.RecordBatch) -> list[Any]:
        """A value a row, None for null. Raises UnicodeDecodeError where one is not UTF-8."""
        array = batch.column(self._names[0])
        if len(self._names) > 1:
            array = pc.struct_field(array, self._names[1:])
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if _is_binary(array.type):
            array = array.view(pa.large_string() if pa.types.is_large_binary(array.type) else pa.string())
        if pa.types.is_date(array.type):
            array = array.cast(pa.timestamp("s" if pa.types.is_date32(array.type) else "ms"))
        return _times(array) if pa.types.is_timestamp(array.type) else array.to_pylist()


def is_text(kind: pa.DataType) -> bool:
    """Whether values of this type are strings, or may be."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return _is_string(kind) or _is_binary(kind) or pa.types.is_null(kind)


def is_list_of_text(kind: pa.DataType) -> bool:
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return lists and _is_string(kind.value_type)


def is_time(kind: pa.DataType) -> bool:
    """Whether values of this type are dates or times of a day, or strings that may say one."""
    return is_text(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def _is_string(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _times(array: Any) -> list[Any]:
    """Datetimes in UTC without zone, cut to seconds; what no calendar has stays a number."""
    per_second = _PER_SECOND[array.type.unit]
    return [None if value is None else _time(value // per_second) for value in array.cast(pa.int64()).to_pylist()]


def _time(seconds: int) -> datetime | int:
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return seconds


def _listed(schema: pa.Schema) -> str:
    """What is there, in words: names with dots for fields of structs."""
    names = [name for field in schema for name in _names(field.name, field.type)]
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return (", ".join(names[:_MAX_LISTED]) or "no column") + more


def _names(name: str, kind: pa.DataType) -> Iterator[str]:
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            yield from _names(f"{name}.{kind.field(i).name}", kind.field(i).type)
    else:
        yield name
