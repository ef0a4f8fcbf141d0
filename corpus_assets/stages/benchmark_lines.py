"""A benchmark's file cut into its items, byte for byte: so that some can be left out and the others stay as they are.

Items are numbered as those of `eval_items.read_rows`; what a person is told is the line of the file, counted from 1.
"""

import codecs
import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from formats.errors import ConfigError

Piece = tuple[int | None, bytes]
"""The item, by its number, and its bytes with their line end; None for what is of no item: header, blank lines."""
_NEVER_CLOSED = "unexpected end of data"
"""How the csv module says that a quoted cell goes on to the end of the file."""


@dataclass(frozen=True)
class Item:
    """One item: `number` as eval sets count (lines of JSON, rows below the header of CSV; from 0), `line` is the line
    of the file in which it begins, from 1.
    """

    number: int
    line: int
    row: dict[str, Any]


def items(data: bytes, format: str, name: str) -> Iterator[Item]:
    """The items of a file (not compressed) in order. Raises ConfigError, which says the line, for what is none."""
    return _json_items(data, name) if format == "jsonl" else _csv_items(data, name)


def pieces(data: bytes, format: str) -> Iterator[Piece]:
    """The file (not compressed), which `items` took, in order; joined, the pieces are `data`."""
    return _json_pieces(data) if format == "jsonl" else _csv_pieces(data)


def without(data: bytes, format: str, is_out: Callable[[int], bool]) -> bytes:
    """The file without the items that are out; every other byte stays."""
    return b"".join(piece for item, piece in pieces(data, format) if item is None or not is_out(item))


def _json_lines(data: bytes) -> Iterator[tuple[int, bytes, str]]:
    for number, line in enumerate(io.BytesIO(data)):  # cut after each newline byte alone, others may be in a line
        yield number, line, "utf-8-sig" if number == 0 else "utf-8"


def _json_pieces(data: bytes) -> Iterator[Piece]:
    for number, line, encoding in _json_lines(data):
        yield number if line.decode(encoding).strip() else None, line


def _json_items(data: bytes, name: str) -> Iterator[Item]:
    for number, line, encoding in _json_lines(data):
        where = _where(name, number)
        try:
            text = line.decode(encoding).rstrip("\r\n")
            if not text.strip():
                continue
            row = json.loads(text)
        except UnicodeDecodeError as error:
            raise ConfigError(f"{where}: is not UTF-8 from its byte {error.start + 1} on; save it as UTF-8") from None
        except json.JSONDecodeError as error:
            what = f"{error.msg} at its character {error.pos + 1}"
            raise ConfigError(f"{where}: is no JSON ({what}); expected one JSON object a line, mend it") from None
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{where}: cannot be read as JSON ({str(error)[:100]}); mend it") from None
        if not isinstance(row, dict):
            raise ConfigError(f"{where}: expected a JSON object, found {type(row).__name__}; mend it")
        yield Item(number, number + 1, row)


def _csv_rows(lines: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """(its first line, the line behind it, its cells) of each row: one may span lines, a blank line has no cells."""
    limit = csv.field_size_limit(max(sum(map(len, lines)), 1 << 17))
    try:
        reader, taken = csv.reader(iter(lines), strict=True), 0
        for row in reader:
            yield taken, reader.line_num, row
            taken = reader.line_num
    finally:
        csv.field_size_limit(limit)


def _csv_pieces(data: bytes) -> Iterator[Piece]:
    if data.startswith(codecs.BOM_UTF8):
        yield None, codecs.BOM_UTF8
        data = data[len(codecs.BOM_UTF8) :]
    lines = [*io.StringIO(data.decode("utf-8"), newline="")]
    taken, number = 0, -1  # -1: the header
    for first, taken, row in _csv_rows(lines):
        number += bool(row)
        yield number - 1 if row and number > 0 else None, "".join(lines[first:taken]).encode("utf-8")
    if rest := "".join(lines[taken:]).encode("utf-8"):
        yield None, rest


def _csv_items(data: bytes, name: str) -> Iterator[Item]:
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        lines = [*io.StringIO(data.decode("utf-8"), newline="")]
    except UnicodeDecodeError as error:
        where = _where(name, data.count(b"\n", 0, error.start))
        raise ConfigError(f"{where}: is not UTF-8; save the file as UTF-8") from None
    header, number, behind = None, 0, 0
    try:
        for first, end, row in _csv_rows(lines):
            behind = end
            if not row:
                continue
            if header is None:
                header = _header(row, _where(name, first))
                continue
            if len(row) != len(header):
                found = f"the row that begins here has {len(row)} cells"
                raise ConfigError(f"{_where(name, first)}: {found}, expected {len(header)} as in the header; mend it")
            yield Item(number, first + 1, dict(zip(header, row, strict=True)))
            number += 1
    except csv.Error as error:
        never_closed = "a cell of the row that begins here opens with a quote that is never closed"
        what = never_closed if str(error) == _NEVER_CLOSED else f"the row that begins here is no CSV: {error}"
        raise ConfigError(f"{_where(name, behind)}: {what}; mend it") from None


def _header(row: list[str], where: str) -> list[str]:
    if repeated := sorted(column for column, times in Counter(row).items() if times > 1):
        raise ConfigError(f"{where}: the header has {', '.join(repeated)} more than once; rename the columns")
    return row


def _where(name: str, index: int) -> str:
    return f"{name}: line {index + 1} (counted from 1)"
