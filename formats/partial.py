"""Partial: `<name>.partial.json`, the checkpoint of a download under way. Spec: partial.md.

It is written before the bytes it covers, and holds two pairs (length, SHA-256 of that prefix): the one it announces and
the one before it. Whatever a kill leaves on disk therefore fits one of the two, and at most one interval is lost.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formats import durable
from formats.errors import CorruptDataError

FORMAT, VERSION = "partial", 1
SUFFIX = ".partial.json"
MAX_BYTES = 65_536  # a checkpoint is some hundred bytes; a longer file is none
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_HEX = re.compile(r"[0-9a-f]{64}")
_TODO = "delete it: the download then starts from zero"

_PAIR: dict[str, Any] = {
    "verified_bytes": {"type": "integer", "minimum": 0},
    "sha256_prefix_hex": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Checkpoint of a download under way: <name>.partial.json",
    "type": "object",
    "additionalProperties": False,
    "required": [
        *("format", "version", "url", "etag", "last_modified", "guarded"),
        *("expected_size", "verified_bytes", "sha256_prefix_hex", "previous"),
    ],
    "properties": {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "url": {"type": "string", "minLength": 1, "description": "where the bytes come from, secrets masked"},
        "etag": {"type": ["string", "null"], "description": "of the first answer, as sent"},
        "last_modified": {"type": ["string", "null"], "description": "of the first answer, only where it is strong"},
        "guarded": {"type": "boolean", "description": "every answer that went on had the first one's validator"},
        "expected_size": {"type": "integer", "minimum": 0},
        **_PAIR,
        "previous": {"type": "object", "additionalProperties": False, "required": list(_PAIR), "properties": _PAIR},
    },
}
"""partial.schema.json is this, exported; a test holds the two together."""


@dataclass(frozen=True)
class Pair:
    """The first `verified_bytes` bytes of a file have the SHA-256 `sha256_prefix_hex`."""

    verified_bytes: int
    sha256_prefix_hex: str


START = Pair(0, EMPTY_SHA256)


@dataclass(frozen=True)
class Checkpoint:
    """What is (about to be) on disk of one file. `url` has its secrets masked; `pair` is longer than `previous`."""

    url: str
    etag: str | None
    last_modified: str | None
    guarded: bool
    expected_size: int
    pair: Pair
    previous: Pair


def path_of(partial: Path) -> Path:
    """`x.partial` -> `x.partial.json`."""
    return partial.with_name(partial.name + ".json")


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write it whole or not at all: temporary file, fsync, rename, fsync of the folder."""
    value = {
        "format": FORMAT,
        "version": VERSION,
        "url": checkpoint.url,
        "etag": checkpoint.etag,
        "last_modified": checkpoint.last_modified,
        "guarded": checkpoint.guarded,
        "expected_size": checkpoint.expected_size,
        "verified_bytes": checkpoint.pair.verified_bytes,
        "sha256_prefix_hex": checkpoint.pair.sha256_prefix_hex,
        "previous": {
            "verified_bytes": checkpoint.previous.verified_bytes,
            "sha256_prefix_hex": checkpoint.previous.sha256_prefix_hex,
        },
    }
    validate(value, path)
    durable.write_file(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read(path: Path) -> Checkpoint:
    """The checkpoint in `path`. Raises CorruptDataError for anything that is not exactly one."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CorruptDataError(path, "checkpoint", "a file", "missing", "start the download from zero") from None
    if len(data) > MAX_BYTES:
        raise CorruptDataError(path, "length", f"at most {MAX_BYTES}", "longer", _TODO)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CorruptDataError(path, "checkpoint", "JSON", repr(error), _TODO) from None
    validate(value, path)
    return Checkpoint(
        value["url"],
        value["etag"],
        value["last_modified"],
        value["guarded"],
        value["expected_size"],
        Pair(value["verified_bytes"], value["sha256_prefix_hex"]),
        Pair(value["previous"]["verified_bytes"], value["previous"]["sha256_prefix_hex"]),
    )


def validate(value: Any, path: Path) -> None:
    """Hold a parsed checkpoint to the schema and to what a schema cannot say: 0 <= previous < verified <= expected.

    Raises CorruptDataError naming the first field that is wrong.
    """
    _keys(value, SCHEMA["required"], "checkpoint", path)
    for name, fits, expected in (
        ("format", value["format"] == FORMAT, FORMAT),
        ("version", type(value["version"]) is int and value["version"] == VERSION, VERSION),
        ("url", isinstance(value["url"], str) and value["url"] != "", "a URL"),
        ("etag", value["etag"] is None or isinstance(value["etag"], str), "a string or null"),
        (
            "last_modified",
            value["last_modified"] is None or isinstance(value["last_modified"], str),
            "a string or null",
        ),
        ("guarded", isinstance(value["guarded"], bool), "true or false"),
        ("expected_size", _is_count(value["expected_size"]), "a whole number >= 0"),
    ):
        if not fits:
            raise CorruptDataError(path, name, expected, repr(value[name])[:80], _TODO)
    _keys(value["previous"], list(_PAIR), "previous", path)
    for where, pair in (("", value), ("previous.", value["previous"])):
        if not _is_count(found := pair["verified_bytes"]):
            raise CorruptDataError(path, f"{where}verified_bytes", "a whole number >= 0", repr(found)[:80], _TODO)
        found = pair["sha256_prefix_hex"]
        if not isinstance(found, str) or not _HEX.fullmatch(found):
            raise CorruptDataError(path, f"{where}sha256_prefix_hex", "64 hex digits", repr(found)[:80], _TODO)
    size, new, old = value["expected_size"], value["verified_bytes"], value["previous"]["verified_bytes"]
    if not new <= size:
        raise CorruptDataError(path, "verified_bytes", f"at most expected_size ({size})", new, _TODO)
    if not old < new:
        raise CorruptDataError(path, "previous.verified_bytes", f"less than verified_bytes ({new})", old, _TODO)


def _keys(value: Any, names: list[str], what: str, path: Path) -> None:
    if not isinstance(value, dict) or set(value) != set(names):
        found = sorted(value) if isinstance(value, dict) else type(value).__name__
        raise CorruptDataError(path, what, f"exactly the keys {sorted(names)}", found, _TODO)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0
