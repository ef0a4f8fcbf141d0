"""Lines with their numbers: those of split, but one for a run of blank ones."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.compressed import CHUNK_BYTES
from formats.numbered_lines import numbered_lines

MIB = 1 << 20


def found(data: bytes, longest: int = MIB) -> list[tuple[int, bytes | None]]:
    return list(numbered_lines(io.BytesIO(data), longest))


def by_split(data: bytes, longest: int) -> list[tuple[int, bytes | None]]:
    """The naive twin."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    blank = [not line.strip() and len(line) <= longest for line in lines]
    return [
        (number, line if len(line) <= longest else None)
        for number, line in enumerate(lines)
        if not (blank[number] and number and blank[number - 1])
    ]


def stripped(lines: list[tuple[int, bytes | None]]) -> list[tuple[int, bytes | None]]:
    """What is white space in a blank line is nobody's business."""
    return [(number, line if line is None or line.strip() else b"") for number, line in lines]


@given(
    st.lists(st.sampled_from([b"", b"", b" ", b"\t\r", b"a", b" b ", b"long line"]), max_size=40), st.integers(0, 12)
)
def test_lines_are_those_of_split_and_long_ones_are_none(lines, longest):
    data = b"\n".join(lines)
    assert stripped(found(data, longest)) == stripped(by_split(data, longest))


@given(
    st.lists(st.sampled_from([b"", b"", b" ", b"\t\r", b"a", b" b ", b"long line"]), max_size=40), st.integers(0, 40)
)
def test_lines_of_mostly_blank_chunks_are_those_of_split(lines, before):
    data = b"\n" * (CHUNK_BYTES - before) + b"\n".join(lines) + b"\n" * 9 + b"\n".join(lines)
    assert stripped(found(data)) == stripped(by_split(data, MIB))


@pytest.mark.parametrize("blank", [b"\n", b" \n", b"\r\n", b"\t \x0b\x0c\r\n"])
def test_a_run_of_blank_lines_over_many_chunks_is_one_line_and_later_ones_keep_their_numbers(blank):
    count = 3 * CHUNK_BYTES // len(blank) + 5
    lines = found(b"{}\n" + blank * count + b"a\n" + blank + b"b")
    assert stripped(lines) == [(0, b"{}"), (1, b""), (count + 1, b"a"), (count + 2, b""), (count + 3, b"b")]


def test_a_line_over_many_chunks_is_one_line():
    long = b"x" * 3_000_000
    data = b"a\n" + long + b"\nb\n" + long
    assert found(data, len(long)) == [(0, b"a"), (1, long), (2, b"b"), (3, long)]
    assert found(data, len(long) - 1) == [(0, b"a"), (1, None), (2, b"b"), (3, None)]
