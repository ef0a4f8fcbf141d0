"""The documents of a raw set as rows, and its rejects: read after length and hash were checked. Spec: raw_set.md.

A part is held in memory while it is read.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json
import zstandard

from formats import compressed, durable, parquet_file
from formats.errors import CorruptDataError
from formats.numbered_lines import numbered_lines
from formats.parquet_file import Shard
from formats.raw_set import PART_BYTES, REMAKE, RawSet, of_kind
from formats.stage_tables import RAW

_MAX_LINE_BYTES = 1 << 30
"""Of one document or reject. A record has at most 128 MiB (`records.record.Limits`), JSON writes a character in six."""
_BLOCK_BYTES = 4 * 1024 * 1024
_LINE_SCHEMA = pa.schema([field for field in RAW if field.name != "raw_line"])


def read_part(
    part: Shard, *, columns: Sequence[str] | None = None, batch_rows: int = parquet_file.BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The part's rows in order, in the schema RAW (or these columns of it), after length and hash were checked;
    `raw_line` counts from 0. Raises CorruptDataError naming part and line.
    """
    data = _decompress(parquet_file.verified_bytes(part), part.path)
    line = start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + _BLOCK_BYTES) + 1 or data.find(b"\n", start) + 1 or len(data)
        table = _parse(data[start:end], part, line)
        numbers = pa.array(np.arange(line, line + table.num_rows))
        rows = pa.Table.from_arrays([numbers, *table.columns], schema=RAW)
        yield from (rows if columns is None else rows.select(columns)).to_batches(max_chunksize=batch_rows)
        line += table.num_rows
        start = end
    if line != part.rows:
        raise CorruptDataError(part.path, "documents", part.rows, line, REMAKE)


def read_rejects(raw: RawSet) -> Iterator[dict[str, Any]]:
    """The rejects in order: url, position, reason; after length and hash were checked. Raises CorruptDataError naming
    the line that is none.
    """
    path = parquet_file.verified(raw.rejects_shard)
    with compressed.open_file(path) as stream:
        for number, line in numbered_lines(stream, _MAX_LINE_BYTES):
            try:
                value = durable.json_value(line or b"")
                if not isinstance(value, dict) or set(value) != {"url", "position", "reason"}:
                    raise ValueError("other keys")
                of_kind(str, value["url"]), of_kind(int, value["position"]), of_kind(str, value["reason"])
            except (ValueError, TypeError, RecursionError) as error:
                found = "longer than any" if line is None else repr(error)[:200]
                raise CorruptDataError(
                    path, f"line {number}", "an object of url, position, reason", found, REMAKE
                ) from None
            yield value


def _decompress(data: bytes, path: str) -> bytes:
    try:
        size: Any = zstandard.frame_content_size(data)
        if size > _MAX_LINE_BYTES + PART_BYTES:  # it would be made room for before a byte is decompressed
            raise zstandard.ZstdError(f"{size} bytes, at most {_MAX_LINE_BYTES + PART_BYTES} are read")
        return zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptDataError(path, "compression", "one zstd frame that states its size", error, REMAKE) from None


def _parse(block: bytes, part: Shard, first_line: int) -> pa.Table:
    """One block of whole lines as a table. Where the fast parser finds fault, each line is looked at to name it."""
    num_lines = block.count(b"\n")
    # No value is an object, so a line that begins with { begins a row: one row a line, not two here and none there.
    num_begun = block.startswith(b"{") + block.count(b"\n{")
    # Before it is parsed: a null that comes first takes Arrow's parser down, and the process with it.
    if num_begun != num_lines or not block.endswith(b"\n"):
        found = f"{num_lines} line ends, {num_begun} lines that begin an object"
        raise _wrong_line(block, part, first_line, found)
    try:
        table = pa.json.read_json(
            pa.BufferReader(block),
            read_options=pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pa.json.ParseOptions(explicit_schema=_LINE_SCHEMA, unexpected_field_behavior="error"),
        )
        table.validate(full=True)  # UTF-8
        found = f"{table.num_rows} objects without a null on {num_lines} lines"
        good = table.num_rows == num_lines and not any(column.null_count for column in table.columns)
    except pa.ArrowInvalid as error:
        found, good = str(error), False
    if not good:
        raise _wrong_line(block, part, first_line, found)
    return table


def _wrong_line(block: bytes, part: Shard, first_line: int, found: str) -> CorruptDataError:
    names = set(_LINE_SCHEMA.names)
    lines = block.split(b"\n")
    for number, line in enumerate(lines[:-1] if lines[-1] == b"" else lines, start=first_line):
        try:
            value = json.loads(line.decode("utf-8"))
            if isinstance(value, dict) and set(value) == names and all(isinstance(v, str) for v in value.values()):
                continue
            wrong = f"a {type(value).__name__} of other keys or values"
        except (ValueError, RecursionError) as error:
            wrong = str(error)[:200]
        return CorruptDataError(
            part.path, f"line {number}", f"an object of {', '.join(_LINE_SCHEMA.names)}", wrong, REMAKE
        )
    return CorruptDataError(part.path, f"lines from {first_line}", "one JSON object a line", found, REMAKE)
