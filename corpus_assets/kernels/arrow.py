"""The only place that unpacks Arrow buffers: kernels get flat numpy arrays, without a copy."""

import numpy as np
import pyarrow as pa

Buffers = tuple[np.ndarray, np.ndarray]


def string_buffers(column: pa.Array) -> Buffers:
    """(offsets int64 of n + 1, bytes uint8) of a large_string or large_binary column.

    Row i is data[offsets[i]:offsets[i + 1]]. Respects slices; a null row is an empty one.
    Raises TypeError for other types (cast 32-bit offsets at read).
    """
    if not (pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)):
        raise TypeError(f"expected large_string or large_binary, found {column.type}; cast the column at read")
    _, offsets, data = column.buffers()
    if offsets is None or len(column) == 0:
        return np.zeros(len(column) + 1, np.int64), np.zeros(0, np.uint8)
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    flat = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    return bounds, flat


def large_strings(offsets: np.ndarray, data: np.ndarray) -> pa.Array:
    """A large_string column over the given buffers (valid UTF-8, no nulls)."""
    buffers = [
        None,
        pa.py_buffer(np.ascontiguousarray(offsets, np.int64)),
        pa.py_buffer(np.ascontiguousarray(data, np.uint8)),
    ]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


def large_binaries(offsets: np.ndarray, data: np.ndarray) -> pa.Array:
    """A large_binary column over the given buffers (no nulls)."""
    buffers = [
        None,
        pa.py_buffer(np.ascontiguousarray(offsets, np.int64)),
        pa.py_buffer(np.ascontiguousarray(data).view(np.uint8)),
    ]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def fixed_binaries(rows: np.ndarray) -> pa.Array:
    """A fixed_size_binary column of a C-contiguous 2-D array: one row of bytes each."""
    width = rows.shape[1] * rows.itemsize
    return pa.Array.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows))])


def fixed_rows(column: pa.Array, dtype: type[np.generic]) -> np.ndarray:
    """A fixed_size_binary column as a 2-D array of `dtype`, one row each, without a copy. Respects slices.

    Raises TypeError for other types; a null row is whatever bytes lie there.
    """
    if not pa.types.is_fixed_size_binary(column.type) or column.type.byte_width % np.dtype(dtype).itemsize:
        raise TypeError(f"expected fixed_size_binary of whole {np.dtype(dtype)} values, found {column.type}")
    width = column.type.byte_width
    data = column.buffers()[1]
    if data is None or len(column) == 0:
        return np.zeros((0, width), np.uint8).view(dtype)
    flat = np.frombuffer(data, np.uint8)[column.offset * width : (column.offset + len(column)) * width]
    return flat.reshape(len(column), width).view(dtype)
