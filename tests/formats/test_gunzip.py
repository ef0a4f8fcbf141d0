"""gzip members, the padding behind them, and where a file is broken."""

import bz2
import gzip
import io
import re

import pytest

from formats.compressed import open_stream
from formats.errors import CorruptDataError

FIRST, SECOND = b"Tom has a red ball.\n" * 5_000, b"Mia naps.\n" * 7


def opened(data: bytes):
    return open_stream(io.BytesIO(data), "tale")


def pack(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


@pytest.mark.parametrize("size", [1, 1_000, 1 << 20])
@pytest.mark.parametrize("num_zeros", [0, 1, 7, 512, 200_000])
def test_zeros_after_the_last_member_are_padding(num_zeros, size):
    stream = opened(pack(SECOND) + pack(b"") + pack(SECOND) + bytes(num_zeros))
    assert b"".join(iter(lambda: stream.read(size), b"")) == SECOND * 2
    assert stream.read(size) == b""


@pytest.mark.parametrize(
    "tail", [b"x", b"and more", b"\x1fand more", bytes(9) + b"x", bytes(100_000) + pack(SECOND), b"\n"]
)
def test_anything_else_after_the_last_member_is_an_error_that_says_so(tail):
    with pytest.raises(CorruptDataError, match="neither another member nor zeros"):
        opened(pack(FIRST) + tail).read()


@pytest.mark.parametrize("tail", [b"\x1f", b"\x1f\x8b\x08"])
def test_a_member_that_has_only_begun_is_cut(tail):
    with pytest.raises(CorruptDataError, match="Truncated"):
        opened(pack(FIRST) + tail).read()


@pytest.mark.parametrize("codec", [pack, bz2.compress])
@pytest.mark.parametrize("keep", ["cut", "changed"])
def test_an_error_names_the_member_that_is_broken_and_what_is_whole_before_it(codec, keep):
    before, broken = codec(FIRST) + codec(SECOND), codec(FIRST)
    half = len(broken) // 2
    damaged = broken[:half] if keep == "cut" else broken[:half] + bytes([broken[half] ^ 0xFF]) + broken[half + 1 :]
    with pytest.raises(CorruptDataError) as caught:
        opened(before + damaged).read()
    assert f"in the member that begins at compressed byte {len(before)} " in str(caught.value)
    assert f"the {len(FIRST + SECOND)} bytes decompressed before it are whole, " in str(caught.value)
    assert int(re.findall(r"(\d+) were read", str(caught.value))[0]) >= len(FIRST + SECOND)
