"""Row groups: how rows are cut into those of a Parquet file, by the bytes of the rows alone.

How rows came cut into batches, which depends on workers and memory, therefore never shows in a file.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from formats.errors import ConfigError, SchemaMismatchError

MAX_STRING_BYTES = 2**31 - 1
"""What a string or binary column holds at most in one piece: its offsets have 32 bits."""
_VARIABLE_WIDTH = (pa.large_string(), pa.large_binary(), pa.string(), pa.binary())


def row_sizes(batch: pa.RecordBatch) -> np.ndarray:
    """Bytes each row takes in memory: 8 for a fixed-width column, the length of a string or binary."""
    sizes = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        kind = column.type
        if kind in _VARIABLE_WIDTH:
            lengths = pc.binary_length(column)
            sizes += (pc.fill_null(lengths, 0) if lengths.null_count else lengths).to_numpy()
        elif pa.types.is_fixed_size_binary(kind):
            sizes += kind.byte_width
        else:
            sizes += 8
    return sizes


def cut_row_groups(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    row_group_bytes: int,
    sizes: Callable[[pa.RecordBatch], np.ndarray] = row_sizes,
) -> Iterator[pa.Table]:
    """Consecutive rows as tables of at most `row_group_bytes` (by `sizes`); a longer row is a table of its own.

    Each table is one chunk a column: Parquet pages are cut at chunk borders, so chunks would show in the bytes.
    """
    held: list[pa.RecordBatch] = []
    room = row_group_bytes
    for batch in batches:
        ends = np.cumsum(sizes(batch))
        start, taken = 0, 0
        while start < batch.num_rows:
            stop = int(np.searchsorted(ends, taken + room, side="right"))
            stop = max(stop, start if held else start + 1)
            if stop > start:
                held.append(batch.slice(start, stop - start))
                room -= int(ends[stop - 1]) - taken
                start, taken = stop, int(ends[stop - 1])
            if start < batch.num_rows:
                group = _one_chunk(held, schema)
                held, room = [], row_group_bytes  # let go before the group is written, which takes memory of its own
                yield group
                del group
    if held:
        yield _one_chunk(held, schema)


def _one_chunk(held: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The slices as one table of `schema`. Columns are joined before the cast: joining copies a slice to the start of
    its own buffer, so that large_string fits string however far into a long batch the slice lay. Raises ConfigError
    where a column does not fit 32-bit offsets.
    """
    todo = "hand over rows of the shard's schema"
    if (found := held[0].schema.names) != schema.names:
        raise SchemaMismatchError("rows to write", "columns", schema.names, found, todo)
    columns = []
    for i, field_ in enumerate(schema):
        parts = [batch.column(i) for batch in held]
        try:
            if field_.type in (pa.string(), pa.binary()):
                _check_fits(field_.name, parts)
            columns.append(pa.concat_arrays(parts).cast(field_.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise SchemaMismatchError("rows to write", field_.name, field_.type, error, todo) from None
        if not field_.nullable and (nulls := columns[-1].null_count):
            raise SchemaMismatchError("rows to write", field_.name, "a value in every row", f"null in {nulls}", todo)
    return pa.Table.from_arrays(columns, schema=schema)


def _check_fits(name: str, parts: Sequence[pa.Array]) -> None:
    num_bytes = sum(pc.sum(pc.binary_length(part)).as_py() or 0 for part in parts)
    if num_bytes > MAX_STRING_BYTES:
        raise ConfigError(
            f"column {name}: {sum(map(len, parts))} rows of one row group hold {num_bytes} bytes, expected at most "
            f"{MAX_STRING_BYTES}; make shard_rows smaller"
        )
