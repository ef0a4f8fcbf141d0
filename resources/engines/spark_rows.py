"""Rows as Spark can carry them: every value keeps its bits, every key its order.

Spark has no unsigned types (Parquet's uint64 becomes a decimal), names columns without regard to case, and knows one
width of string and of binary. So columns travel by place, as `c0`, `c1`, …: unsigned integers and floats as signed
integers of the same bits, the rest as Spark's own type; and come back as they left.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from formats.errors import ConfigError
from resources.engines.contract import Batches

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_SAME_BITS = {
    pa.uint8(): pa.int8(),
    pa.uint16(): pa.int16(),
    pa.uint32(): pa.int32(),
    pa.uint64(): pa.int64(),
    pa.float32(): pa.int32(),
    pa.float64(): pa.int64(),
}
"""Floats, too: a NaN's bits are data here, and Spark may make them another NaN's."""
_BY_VALUE = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
_AS_THEY_ARE = (pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.string(), pa.binary())


def _carried(name: str, kind: pa.DataType) -> pa.DataType:
    if kind in _AS_THEY_ARE:
        return kind
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    found = _SAME_BITS.get(kind) or _BY_VALUE.get(kind)
    if found is None:
        raise ConfigError(
            f"sort_reduce on Spark: column {name!r} is {kind}; expected integers, floats, bool, strings or binaries"
        )
    return found


def carried_schema(schema: pa.Schema) -> pa.Schema:
    """The columns as they travel. Raises ConfigError for a type that has no form there."""
    return pa.schema([(f"c{i}", _carried(field.name, field.type)) for i, field in enumerate(schema)])


def place(schema: pa.Schema, name: str) -> str:
    """The name that a column travels under."""
    return f"c{schema.get_field_index(name)}"


def to_carry(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Batches:
    """Rows of `schema` in the form of `carried_schema`."""
    carried = carried_schema(schema)
    for batch in batches:
        columns = [_as(column, kind) for column, kind in zip(batch.columns, carried.types, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=carried)


def back(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Batches:
    """What `to_carry` made, as it was."""
    for batch in batches:
        columns = [_as(column, kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same bits for numbers of one width, else the same value."""
    if column.type == kind:
        return column
    if _SAME_BITS.get(kind) == column.type or _SAME_BITS.get(column.type) == kind:
        return column.view(kind)
    return column.cast(kind)


def spark_schema(carried: pa.Schema) -> "StructType":
    """The same for Spark."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, _spark_type(field.type)) for field in carried])


def _spark_type(kind: pa.DataType) -> "DataType":
    from pyspark.sql import types

    return {
        pa.bool_(): types.BooleanType,
        pa.int8(): types.ByteType,
        pa.int16(): types.ShortType,
        pa.int32(): types.IntegerType,
        pa.int64(): types.LongType,
        pa.string(): types.StringType,
        pa.binary(): types.BinaryType,
    }[kind]()


def order_of(schema: pa.Schema, bucket: str, keys: Sequence[str]) -> list[str]:
    """The columns to sort by, under the names they travel under."""
    return [place(schema, name) for name in dict.fromkeys((bucket, *keys))]
