"""Ledger: one row a source, with its files, their checksums, and the licence they are used under. Spec: ledger.md.

What one row may hold is checked here, its line in ledger_lines; SPDX expressions and the JSON Schema are checked in
`corpus_assets.validation.ledger`, which needs libraries that a consumer of the corpus does not.
"""

import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar

from formats import canonical, durable, ledger_lines
from formats.errors import ConfigError
from formats.json_fields import Choice, Problem, SetOf, Text, Whole, first_problems
from formats.json_kinds import HEX_SHA256, name_of
from formats.json_tables import Key, table
from formats.json_words import described, shown_key
from formats.ledger_urls import wrong_url, wrong_words
from formats.reasons import PROFILES

KINDS = ("warc", "wet", "html", "jsonl", "parquet", "text", "markdown")
MAPPED_KINDS = ("jsonl", "parquet")
CONTAINERS = ("tar", "zip")
MAX_VIOLATIONS = 1_000
"""So many of one ledger are named; a person mends these first."""


def _wrong_date(text: str) -> str | None:
    try:
        date.fromisoformat(text)
    except ValueError:
        return f"{text} is not a day of the calendar"
    return None


@dataclass(frozen=True)
class LedgerFile:
    """One file as served. `url` names it for ever: documents' urls begin with it."""

    url: Annotated[str, Text(says="a URL or a path", check=wrong_url)]
    sha256: Annotated[str, HEX_SHA256]
    num_bytes: Annotated[int, Whole(0), Key("bytes")]


@dataclass(frozen=True)
class FieldMapping:
    """Which field (jsonl) or column (Parquet) of a record holds what; `a.b` is field b of the object in field a.
    `license` only gates: a record whose own licence is none that the row allows becomes a reject.
    """

    text: Annotated[str, Text(says="the name of a field")] = "text"
    url: Annotated[str | None, Text(says="the name of a field")] = None
    date: Annotated[str | None, Text(says="the name of a field")] = None
    license: Annotated[str | None, Text(says="the name of a field")] = None


@dataclass(frozen=True)
class LedgerRow:
    """One source. Files are always in the order of their urls."""

    source_id: Annotated[str, name_of("source")]
    title: Annotated[str, Text(check=wrong_words)]
    kind: Annotated[str, Choice(KINDS)]
    files: Annotated[tuple[LedgerFile, ...], SetOf(table(LedgerFile), min_items=1, key="url")]
    license_spdx: Annotated[str, Text(r"[A-Za-z0-9.+()\x20:-]+", "an SPDX licence expression")]
    license_evidence: Annotated[str, Text(check=wrong_words)]
    attribution: Annotated[str, Text(check=wrong_words)]
    retrieved: Annotated[str, Text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date YYYY-MM-DD", check=_wrong_date)]
    bucket: Annotated[str, name_of("bucket")]
    profile: Annotated[str, Choice(PROFILES)]
    source_rank: Annotated[int, Whole(0, 1_000_000)] = 100
    container: Annotated[str | None, Choice(CONTAINERS)] = None
    fields: FieldMapping = FieldMapping()

    SCHEMA_RULES: ClassVar[dict[str, Any]] = {
        "if": {"properties": {"kind": {"enum": list(MAPPED_KINDS)}}},
        "else": {"properties": {"fields": False}},
    }

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", tuple(sorted(self.files, key=lambda file: file.url)))

    def rules(self) -> Iterator[Problem]:
        if self.kind not in MAPPED_KINDS and self.fields != FieldMapping():
            yield "fields", f"only {' and '.join(MAPPED_KINDS)} have fields, kind is {self.kind}; leave it out"

    @property
    def digest(self) -> str:
        """Names what the row says: SHA-256 of its canonical JSON. Order of files and white space do not matter."""
        return canonical.digest(to_json(self))

    @property
    def num_bytes(self) -> int:
        return sum(file.num_bytes for file in self.files)


@dataclass(frozen=True, order=True)
class Violation:
    """One thing wrong in a ledger. Lines count from 1; line 0 is the file as a whole, field '' the line as a whole."""

    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = [f"line {self.line}"] if self.line else []
        place += [f"field {self.field}"] if self.field else []
        return ": ".join([*place, self.message])


def to_json(row: LedgerRow) -> dict[str, Any]:
    """The row as JSON, without the fields that hold their default."""
    return table(LedgerRow).dump_short(row)


def problems(value: Any) -> list[Problem]:
    """Every field that is wrong in one row's JSON value, or the first MAX_PROBLEMS."""
    return first_problems(table(LedgerRow), value)


def problems_of_file(value: Any) -> list[Problem]:
    """Every field that is wrong in the JSON value of one file of a row."""
    return first_problems(table(LedgerFile), value)


def from_json(value: Any) -> LedgerRow:
    """The row of a JSON value. Raises ConfigError that names every field that is wrong."""
    if found := problems(value):
        raise ConfigError("; ".join(f"field {field}: {wrong}" if field else wrong for field, wrong in found))
    return table(LedgerRow).build(value)


def read(path: Path) -> list[LedgerRow]:
    """The rows in the order of the file. Raises ConfigError that names every violation by line and field."""
    rows, found = scan(path)
    if found:
        raise ConfigError("\n".join(f"{path.name} {violation}" for violation in found))
    return [row for _, row in rows]


def violations(path: Path) -> list[Violation]:
    """Everything wrong in the file, by line."""
    return scan(path)[1]


def find(path: Path, source: str) -> dict[str, Any]:
    """The JSON value of a source's row as it stands, which may break rules: the blocking checks say which.

    Raises ConfigError where the ledger has no such row, or two; it also says what is wrong in a ledger without the row,
    since that line may be the damaged one.
    """
    found = ledger_lines.by_source(_data(path)).get(source, ())
    if wrong := not_one_row(path, source, len(found)):
        broken = [f"{path.name} {violation}" for violation in violations(path)] if not found else []
        raise ConfigError("\n".join((wrong, *broken)))
    value: dict[str, Any] = ledger_lines.parse(found[0])[0]
    return value


def count_rows(path: Path) -> Counter[str]:
    """How many rows each source has, right or wrong. Raises ConfigError where the file cannot be read."""
    return Counter({source: len(lines) for source, lines in ledger_lines.by_source(_data(path)).items()})


def not_one_row(path: Path, source: str, rows: int) -> str | None:
    """What to do about a source that has `rows` rows; None when it has one."""
    if rows == 1:
        return None
    todo = "leave one" if rows else f"add it with: corpus ledger add {source} …"
    return f"{path.name}: {rows} rows of source {source}, expected 1; {todo}"


def _data(path: Path) -> bytes:
    data, unreadable = _read_bytes(path)
    if unreadable:
        raise ConfigError(str(unreadable))
    return data


def append(path: Path, row: LedgerRow) -> None:
    """Add one row, whole or not at all; a second writer waits. Raises ConfigError when the row or the ledger is not
    right, or has this source already; then the file is as it was.
    """
    from_json(to_json(row))
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # the folder, since a rename replaces the ledger's own inode
        rows = read(path) if path.exists() else []
        if any(old.source_id == row.source_id for old in rows):
            raise ConfigError(f"{path.name} has a source {row.source_id} already; edit its row or choose another name")
        before = path.read_bytes() if path.exists() else b""
        if before and not before.endswith(b"\n"):
            before += b"\n"
        line = json.dumps(to_json(row), ensure_ascii=False, allow_nan=False)
        durable.write_file(path, before + line.encode("utf-8") + b"\n")
    finally:
        os.close(folder)


def scan(path: Path) -> tuple[list[tuple[int, LedgerRow]], list[Violation]]:
    """The rows that are right, each with its line, and everything that is wrong. Behind MAX_VIOLATIONS nothing is read,
    and the last one says so.
    """
    data, unreadable = _read_bytes(path)
    if unreadable:
        return [], [unreadable]
    rows: list[tuple[int, LedgerRow]] = []
    found: list[Violation] = []
    first_line: dict[str, int] = {}
    for number, line in ledger_lines.numbered(data):
        if len(found) > MAX_VIOLATIONS:
            break
        try:
            value, repeated = ledger_lines.parse(line)
        except ledger_lines.BadLineError as error:
            _add(found, number, [("", str(error))])
            continue
        wrong = [(shown_key(key), "is there twice; leave one out") for key in repeated] + problems(value)
        _add(found, number, wrong)
        source = value.get("source_id") if isinstance(value, dict) else None
        if isinstance(source, str):
            if source in first_line:
                message = (
                    f"{described(source)} is the source of line {first_line[source]} already; a source has one row"
                )
                _add(found, number, [("source_id", message)])
            first_line.setdefault(source, number)
        if not wrong:
            rows.append((number, table(LedgerRow).build(value)))
    return rows, found


def _add(found: list[Violation], line: int, wrong: list[Problem]) -> None:
    """Note what is wrong in a line; beyond MAX_VIOLATIONS only that there is more."""
    room = MAX_VIOLATIONS - len(found)
    found.extend(Violation(line, field, message) for field, message in wrong[: max(0, room)])
    if 0 <= room < len(wrong):
        found.append(Violation(line, "", f"more than {MAX_VIOLATIONS} things are wrong up to here; mend these first"))


def _read_bytes(path: Path) -> tuple[bytes, Violation | None]:
    try:
        return path.read_bytes(), None
    except FileNotFoundError:
        return b"", Violation(0, "", f"{path} is missing; add the first row with `corpus ledger add`")
    except OSError as error:
        return b"", Violation(0, "", f"{path} cannot be read ({error.strerror}); make it readable")
