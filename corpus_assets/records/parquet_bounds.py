"""What the metadata of a Parquet file is held to: how many rows may be decoded at once, and, when all are read, that
they are all that the file holds. A dictionary page of some kilobytes can stand for one text of gigabytes a row, and
prefix coding can do the same, so the largest value that is possible decides.
"""

import io
from pathlib import Path
from typing import Any, BinaryIO

from formats.errors import CorruptDataError

_MAGIC = b"PAR1"
_SEARCHED_BYTES = 1 << 20
_TODO = "fetch the file again, or correct the row's files in the ledger"
_MAX_ROWS = 256
_BATCH_BYTES = 256 << 20
_HEADER_BYTES = 24
_I32 = 0x15
"""Thrift compact protocol: the next field, a 32-bit number."""


def check_whole(source: Path | bytes, file: Any, columns: list[str], rows: int, name: object = None) -> None:
    """For a file, or the bytes of one, whose `rows` were all read; `name` goes into errors where it is no path.

    Raises CorruptDataError where it has others, or where another file stands before it: the metadata at the end is the
    last one's, and its places were looked up in the first one.
    """
    metadata, path = file.metadata, name or source
    if rows != metadata.num_rows:
        raise CorruptDataError(path, "rows", metadata.num_rows, rows, _TODO)
    end = 0
    for group in range(metadata.num_row_groups):
        for i in _leaves(file, columns):
            end = max(end, _end(metadata.row_group(group).column(i)))
    with _opened(source) as raw:
        if _holds(raw, _MAGIC * 2, end, raw.seek(0, io.SEEK_END) - metadata.serialized_size):
            todo = "put each of the files that were joined into the ledger row"
            raise CorruptDataError(path, "what comes before the metadata", "one file", "the end of another", todo)


def _opened(source: Path | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb")


def _leaves(file: Any, columns: list[str]) -> list[int]:
    """The leaves of the mapped columns; those of others were not read, and asking for theirs may end the process."""
    paths = [leaf.path for leaf in file.schema]
    return [i for i, path in enumerate(paths) if any(path == name or path.startswith(f"{name}.") for name in columns)]


def _end(chunk: Any) -> int:
    begins = [at for at in (chunk.dictionary_page_offset, chunk.data_page_offset) if at is not None]
    return min(begins) + chunk.total_compressed_size


def _holds(file: BinaryIO, words: bytes, begin: int, end: int) -> bool:
    """Whether these bytes stand between two places; indexes of pages and filters, some KiB, mostly do."""
    file.seek(max(0, begin))
    kept = b""
    while (wanted := min(_SEARCHED_BYTES, end - file.tell())) > 0 and (data := file.read(wanted)):
        if words in kept + data:
            return True
        kept = data[-len(words) :]
    return False


def rows_at_once(source: Path | bytes, file: Any, group: int, columns: list[str]) -> int:
    """So many rows of a row group of `file` (a ParquetFile) that their decoded values stay within some 256 MiB, but at
    least one. Raises ArrowException, OSError where the group cannot be read.
    """
    # Where the group is broken this raises, while its metadata, asked first, would end the process.
    next(file.iter_batches(1, row_groups=[group], columns=columns, use_threads=False), None)
    about, largest = file.metadata.row_group(group), 1
    with _opened(source) as raw:
        for i in _leaves(file, columns):
            largest = max(largest, _largest_value(raw, about.column(i)))
    return max(1, min(_MAX_ROWS, _BATCH_BYTES // largest))


def _largest_value(file: BinaryIO, chunk: Any) -> int:
    """A bound for values that are not stored once each; 0 where all are."""
    if "DELTA_BYTE_ARRAY" in chunk.encodings:
        return chunk.total_uncompressed_size
    if not any("DICTIONARY" in encoding for encoding in chunk.encodings):
        return 0
    file.seek(max(0, chunk.dictionary_page_offset or chunk.data_page_offset))
    size = _uncompressed_page_size(file.read(_HEADER_BYTES))
    return chunk.total_uncompressed_size if size is None else size


def _uncompressed_page_size(header: bytes) -> int | None:
    """Of a page header: field 1 is its type, field 2 its uncompressed size. None where it begins otherwise."""
    numbers: list[int] = []
    at = 0
    while len(numbers) < 2:
        if header[at : at + 1] != bytes([_I32]):
            return None
        value = shift = 0
        while True:
            at += 1
            if at >= len(header):
                return None
            value |= (header[at] & 0x7F) << shift
            shift += 7
            if not header[at] & 0x80:
                break
        numbers.append(value >> 1 ^ -(value & 1))
        at += 1
    return numbers[1] if numbers[1] >= 0 else None
