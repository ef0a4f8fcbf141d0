"""Subjects: the packages that are audited, as the project pins them and as they are installed here."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tests.audit.advisory import public

ROOT = Path(__file__).resolve().parents[2]
PINNED_IN = ("corpus_assets/constraints.txt", ".ci/run")
"""CI pins some that only tests read exports with, beside the constraints."""
OURS = "corpus-assets"
_PIN = re.compile(r"(?<![\w.=-])([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([A-Za-z0-9][^\s;,'\"#)]*)")


@dataclass(frozen=True)
class Subject:
    """A version of a package (canonical name), and where it is met."""

    package: str
    version: Version
    written: str
    places: tuple[str, ...]


def pins(text: str) -> list[tuple[str, str]]:
    """Every `NAME==VERSION` of a text, comments left out."""
    lines = (line.partition("#")[0] for line in text.splitlines())
    return [match for line in lines for match in _PIN.findall(line)]


def installed() -> list[tuple[str, str]]:
    """Name and version of every distribution that this interpreter sees, ours left out."""
    found = [(str(one.metadata["Name"]), one.version) for one in metadata.distributions()]
    return [(name, version) for name, version in found if canonicalize_name(name) != OURS]


def gathered(by_place: Mapping[str, Iterable[tuple[str, str]]]) -> tuple[list[Subject], list[str]]:
    """Subjects by name and version, and in words what has a version that nothing can be held against."""
    places: dict[tuple[str, Version], list[str]] = {}
    written: dict[tuple[str, Version], str] = {}
    unreadable: list[str] = []
    for place, entries in by_place.items():
        for name, version in entries:
            try:
                key = (canonicalize_name(name), public(version))
            except InvalidVersion:
                unreadable.append(f"{name} {version} ({place}): its version is none of PEP 440")
                continue
            written.setdefault(key, version)
            if place not in places.setdefault(key, []):
                places[key].append(place)
    found = [Subject(name, version, written[name, version], tuple(places[name, version])) for name, version in places]
    return sorted(found, key=lambda one: (one.package, one.version)), unreadable


def of_project(root: Path = ROOT) -> tuple[list[Subject], list[str]]:
    """What the project pins, and what is installed where this runs."""
    pinned = {name: pins((root / name).read_text("utf-8")) for name in PINNED_IN if (root / name).is_file()}
    return gathered({**pinned, "installed": installed()})
