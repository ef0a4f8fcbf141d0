"""What names the program that runs: its own sources, the interpreter, and the versions of its libraries.

A check says something about stored bytes and about the rules as this program holds them; what another program found is
looked at again.
"""

import hashlib
import importlib.util
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from formats import canonical

PACKAGES = ("formats", "resources", "corpus_assets")
_CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"


@cache
def digest() -> str:
    """SHA-256 over the files of the packages, as they lie on disk, and over versions. Some 30 ms, once a process."""
    named = {name: file for package in PACKAGES for name, file in _files(package)}
    sources = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in sorted(named.items())}
    return canonical.digest({"sources": sources, "python": list(sys.version_info[:3]), "libraries": _libraries()})


def _files(package: str) -> list[tuple[str, Path]]:
    spec = importlib.util.find_spec(package)
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    return [
        (f"{package}/{file.relative_to(folder).as_posix()}", file)
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]


def _libraries() -> dict[str, str]:
    """Name -> installed version of every pinned library that is installed; another one than pinned is told as it is."""
    names = [line.partition("==")[0] for line in _CONSTRAINTS.read_text("utf-8").splitlines() if "==" in line]
    return {name: found for name in names if (found := _installed(name))}


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
