from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.kernels.arrow import fixed_binaries, fixed_rows, large_binaries, large_strings, string_buffers


def test_buffers_of_a_slice_are_those_of_its_rows():
    column = pa.array(["ab", None, "", "cdé"], pa.large_string())[1:]
    offsets, data = string_buffers(column)
    assert [data[i:j].tobytes() for i, j in pairwise(offsets)] == [b"", b"", "cdé".encode()]


@pytest.mark.parametrize("column", [pa.array([], pa.large_string()), pa.array([None], pa.large_string())])
def test_a_column_without_text_has_empty_rows(column):
    offsets, data = string_buffers(column)
    assert np.diff(offsets).tolist() == [0] * len(column)
    assert data.size == 0


def test_columns_are_made_over_buffers():
    offsets, data = np.array([0, 2, 2, 3]), np.frombuffer(b"abc", np.uint8)
    assert large_strings(offsets, data).to_pylist() == ["ab", "", "c"]
    assert large_binaries(offsets, data).to_pylist() == [b"ab", b"", b"c"]


def test_fixed_rows_gives_back_what_fixed_binaries_took():
    rows = np.arange(12, dtype=np.uint32).reshape(4, 3)
    column = fixed_binaries(rows)
    assert column.type == pa.binary(12)
    assert np.array_equal(fixed_rows(column, np.uint32), rows)
    assert np.array_equal(fixed_rows(column[1:3], np.uint32), rows[1:3])
    assert fixed_rows(column[:0], np.uint32).shape == (0, 3)


@pytest.mark.parametrize("column", [pa.array([b"abc"], pa.binary(3)), pa.array([b"abcd"], pa.large_binary())])
def test_fixed_rows_refuses_columns_without_whole_values(column):
    with pytest.raises(TypeError, match="fixed_size_binary"):
        fixed_rows(column, np.uint32)
