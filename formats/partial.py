"""Partial: `<name>.partial.json`, the checkpoint of a download under way. Spec: partial.md.

It is written before the bytes it covers, and holds two pairs (length, SHA-256 of that prefix): the one it announces and
the one before it. Whatever a kill leaves on disk therefore fits one of the two, and at most one interval is lost.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from formats import durable
from formats.errors import CorruptDataError
from formats.json_fields import Choice, Flag, OrNull, Problem, Text, Whole
from formats.json_kinds import HEX_SHA256
from formats.json_tables import table

FORMAT, VERSION = "partial", 1
MAX_BYTES = 65_536  # a checkpoint is some hundred bytes; a longer file is none
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_HEADER = OrNull(Text(says="the value of a header, or null", max_length=1_000))
_TODO = "delete it: the download then starts from zero"


@dataclass(frozen=True)
class Pair:
    """The first `verified_bytes` bytes of a file have the SHA-256 `sha256_prefix_hex`."""

    verified_bytes: Annotated[int, Whole(0)]
    sha256_prefix_hex: Annotated[str, HEX_SHA256]


START = Pair(0, EMPTY_SHA256)


@dataclass(frozen=True)
class Checkpoint:
    """What is, or is about to be, on disk of one file; `url` has its secrets masked."""

    format: Annotated[str, Choice((FORMAT,))]
    version: Annotated[int, Whole(VERSION, VERSION)]
    url: Annotated[str, Text(says="a URL")]
    etag: Annotated[str | None, _HEADER]
    last_modified: Annotated[str | None, _HEADER]
    guarded: Annotated[bool, Flag()]
    expected_size: Annotated[int, Whole(0)]
    verified_bytes: Annotated[int, Whole(1)]
    sha256_prefix_hex: Annotated[str, HEX_SHA256]
    previous: Annotated[Pair, table(Pair)]

    @property
    def pair(self) -> Pair:
        return Pair(self.verified_bytes, self.sha256_prefix_hex)

    def rules(self) -> Iterator[Problem]:
        """What one length says about another: previous < verified <= expected."""
        if self.verified_bytes > self.expected_size:
            yield "verified_bytes", f"is {self.verified_bytes}, more than expected_size ({self.expected_size})"
        if self.previous.verified_bytes >= self.verified_bytes:
            yield (
                "previous.verified_bytes",
                f"is {self.previous.verified_bytes}, not less than verified_bytes ({self.verified_bytes})",
            )


def json_schema() -> dict[str, Any]:
    """What partial.schema.json holds; how the lengths relate is beyond JSON Schema: `validate` checks it."""
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "<name>.partial.json"}
    return {**about, **table(Checkpoint).schema()}


def path_of(partial: Path) -> Path:
    """`x.partial` -> `x.partial.json`."""
    return partial.with_name(partial.name + ".json")


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write it whole or not at all: temporary file, fsync, rename, fsync of the folder."""
    value = table(Checkpoint).dump(checkpoint)
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
        raise CorruptDataError(path, "length", f"at most {MAX_BYTES} bytes", "longer", _TODO)
    try:
        value = durable.json_value(data)
    except (ValueError, RecursionError) as error:
        raise CorruptDataError(path, "checkpoint", "JSON", durable.why_no_json(error), _TODO) from None
    validate(value, path)
    return table(Checkpoint).build(value)


def validate(value: Any, path: Path) -> None:
    """Hold a parsed checkpoint to its description. Raises CorruptDataError that names the first field that is wrong."""
    for field, wrong in table(Checkpoint).problems(value, ""):
        raise CorruptDataError(path, field or "checkpoint", "as formats/partial.md says", f"wrong: {wrong}", _TODO)


if __name__ == "__main__":  # writes the schema again
    exported = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    durable.write_file(Path(__file__).with_name("partial.schema.json"), exported.encode())
