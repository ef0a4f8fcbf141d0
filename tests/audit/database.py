"""Database: advisories as files, in a folder or in a git repository, bare or not (its HEAD is read, no work tree).

That is how PyPA's advisory database and GitHub's are kept, and how osv.dev's export of PyPI unpacks. What is YAML is
read with a loader that makes texts of all scalars: it builds no objects, and version 1.10 stays apart from 1.1.
"""

import json
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.audit.advisory import Advisory, BadAdvisoryError, from_osv

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 8 << 20
"""Of one record: the longest that are known list some thousand versions in some hundred KB."""
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class NoDatabaseError(Exception):
    """There is nothing to audit with; the words say what is wrong with what was named."""


@dataclass
class Database:
    """Advisories about some packages. `records` counts all that were read, `others` the files that are none, and
    `unreadable` says in words which could not be judged.
    """

    advisories: list[Advisory] = field(default_factory=list)
    records: int = 0
    withdrawn: int = 0
    others: int = 0
    newest: str = ""
    unreadable: list[str] = field(default_factory=list)


def read(place: Path, packages: Iterable[str]) -> Database:
    """The advisories about these packages (canonical names). Raises NoDatabaseError where there are none at all."""
    wanted, found = frozenset(packages), Database()
    for name, data in _files(place):
        try:
            record = _decoded(name, data)
        except BadAdvisoryError as error:
            found.unreadable.append(f"{name}: {error}")
            continue
        if not isinstance(record, Mapping) or not {"id", "modified"} <= record.keys():
            found.others += 1
            continue
        _take(found, name, record, wanted)
    if not (found.records or found.unreadable):
        raise NoDatabaseError(f"{place} holds no record of the OSV schema ({found.others} other files)")
    return found


def _take(found: Database, name: str, record: Mapping[str, Any], wanted: frozenset[str]) -> None:
    try:
        advisory = from_osv(record, wanted)
    except BadAdvisoryError as error:
        found.unreadable.append(f"{name}: {error}")
        return
    found.records += 1
    found.newest = max(found.newest, advisory.modified)
    if advisory.withdrawn:
        found.withdrawn += 1
    elif advisory.affected:
        found.advisories.append(advisory)


def _decoded(name: str, data: bytes) -> Any:
    if len(data) > MAX_BYTES:
        raise BadAdvisoryError(f"{len(data)} bytes, expected at most {MAX_BYTES}")
    try:
        return json.loads(data) if name.endswith(".json") else yaml.load(data, Loader=_LOADER)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise BadAdvisoryError(f"neither YAML nor JSON ({str(error).splitlines()[0]})") from None


def _files(place: Path) -> Iterator[tuple[str, bytes]]:
    if not place.is_dir():
        raise NoDatabaseError(f"{place} is no folder")
    if (place / "HEAD").is_file() and (place / "objects").is_dir():
        yield from _of_git(place)
        return
    for path in sorted(place.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and not any(part.startswith(".") for part in _inner(path, place)):
            yield path.relative_to(place).as_posix(), path.read_bytes()


def _inner(path: Path, place: Path) -> tuple[str, ...]:
    return path.relative_to(place).parts


def _of_git(place: Path) -> Iterator[tuple[str, bytes]]:
    """Files of HEAD as git packs them; nothing is written anywhere."""
    command = ["git", "--git-dir", str(place), "archive", "--format=tar", "HEAD"]
    try:
        packed = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise NoDatabaseError(f"{place} is a git repository, and there is no git to read it") from None
    with packed:
        assert packed.stdout is not None
        assert packed.stderr is not None
        try:
            with tarfile.open(fileobj=packed.stdout, mode="r|") as tar:
                for member in tar:
                    hidden = any(part.startswith(".") for part in Path(member.name).parts)
                    if member.isfile() and not hidden and member.name.endswith(SUFFIXES):
                        inner = tar.extractfile(member)
                        yield member.name, inner.read() if inner else b""
        except tarfile.TarError as error:
            said = packed.stderr.read().decode("utf-8", "replace").strip()
            raise NoDatabaseError(f"{place}: git gave no files of HEAD ({said or error})") from None
    if packed.returncode:
        raise NoDatabaseError(f"{place}: git ended with {packed.returncode}, and may not have given every file")
