"""The lines of a stream with their numbers; of a run of blank lines only the first, since a few hundred kilobytes of
gzip can hold half a billion newlines, each of which would be a step and a reject.
"""

import re
from collections.abc import Iterator

from formats.compressed import CHUNK_BYTES, Readable

_NOT_BLANK = re.compile(rb"\S")
_DENSE_BYTES = 8
"""A chunk with a newline every so many bytes is searched for what is not blank instead of being split."""
_SAMPLE_BYTES = 1 << 12
"""So many of a chunk's first bytes tell."""


def numbered_lines(stream: Readable, max_line_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """(number from 0, line without its newline); None stands for a line longer than `max_line_bytes`, which is not
    held. A run of lines of nothing but white space is one line of white space with the number of the first.
    """
    is_run = False
    for number, line in _all_lines(stream, max_line_bytes):
        is_blank = line is not None and (not line or line.isspace())
        if not (is_blank and is_run):
            yield number, line
        is_run = is_blank


def _all_lines(stream: Readable, max_line_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """As `numbered_lines`, but a run may come in several pieces."""
    held: list[bytes] = []
    held_bytes = number = 0
    while chunk := stream.read(CHUNK_BYTES):
        end = chunk.find(b"\n")
        first = chunk[:end] if end >= 0 else chunk
        held_bytes += len(first)
        if held_bytes <= max_line_bytes:
            held.append(first)
        if end < 0:
            continue
        yield number, b"".join(held) if held_bytes <= max_line_bytes else None
        number += 1
        last = chunk.rfind(b"\n")
        if last > end:
            inner = chunk[end + 1 : last]
            if _is_dense(inner) and len(inner) <= max_line_bytes:
                yield from _dense_lines(inner, number)
                number += inner.count(b"\n") + 1
            else:
                for line in inner.split(b"\n"):
                    yield number, line if len(line) <= max_line_bytes else None
                    number += 1
        held, held_bytes = [chunk[last + 1 :]], len(chunk) - last - 1
    if held_bytes:
        yield number, b"".join(held) if held_bytes <= max_line_bytes else None


def _is_dense(data: bytes) -> bool:
    sample = data[:_SAMPLE_BYTES]  # counting costs as much as splitting
    return sample.count(b"\n") * _DENSE_BYTES > len(sample)


def _dense_lines(data: bytes, number: int) -> Iterator[tuple[int, bytes]]:
    """The lines of `data`, which count from `number`; b"" for a run of blank ones, which takes no step a line."""
    at = 0
    while found := _NOT_BLANK.search(data, at):
        begin = max(at, data.rfind(b"\n", at, found.start()) + 1)
        if begin > at:
            yield number, b""
            number += data.count(b"\n", at, begin)
        end = data.find(b"\n", found.start())
        if end < 0:
            yield number, data[begin:]
            return
        yield number, data[begin:end]
        number, at = number + 1, end + 1
    yield number, b""
