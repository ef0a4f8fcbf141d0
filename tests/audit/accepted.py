"""Accepted: advisories that somebody looked at and lives with, each with a reason and a last day (accepted.toml)."""

import tomllib
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from packaging.utils import canonicalize_name

FILE = Path(__file__).with_name("accepted.toml")
_FIELDS = {"id", "package", "reason", "until"}


class BadAcceptanceError(ValueError):
    """The file of accepted advisories is not as it must be; the words say where."""


@dataclass(frozen=True)
class Accepted:
    """One advisory (its id or an alias) of one package, up to and with the day `until`."""

    id: str
    package: str
    reason: str
    until: date

    def covers(self, package: str, ids: tuple[str, ...]) -> bool:
        return self.package == package and self.id in ids


def read(path: Path = FILE) -> list[Accepted]:
    """Every entry of the file. Raises BadAcceptanceError."""
    try:
        entries = tomllib.loads(path.read_text("utf-8")).get("accepted", [])
    except (OSError, ValueError) as error:
        raise BadAcceptanceError(f"{path}: {error}") from None
    return [_entry(path, number, entry) for number, entry in enumerate(entries, 1)]


def _entry(path: Path, number: int, entry: object) -> Accepted:
    where = f"{path}: entry {number}"
    if not isinstance(entry, dict) or entry.keys() != _FIELDS:
        raise BadAcceptanceError(f"{where}: expected exactly the fields {', '.join(sorted(_FIELDS))}, found {entry!r}")
    for name in ("id", "package", "reason"):
        if not isinstance(entry[name], str) or not entry[name].strip():
            raise BadAcceptanceError(f"{where}: {name} is {entry[name]!r}, expected a text that says something")
    until = entry["until"]
    if not isinstance(until, date) or isinstance(until, datetime):
        raise BadAcceptanceError(f"{where}: until is {until!r}, expected a day such as 2027-03-01 without quotes")
    return Accepted(entry["id"].strip(), canonicalize_name(entry["package"]), entry["reason"].strip(), until)
