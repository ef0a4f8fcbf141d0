"""Model record: what was trained last by a model config, and how it does on held-out documents.

Spec: model_config.md.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from formats import canonical, durable
from formats.errors import CorruptDataError
from formats.json_fields import Choice, Kind, Problem, Text, Whole
from formats.json_kinds import HEX_SHA256
from formats.json_tables import table
from formats.json_words import described
from formats.model_config import KINDS

FORMAT, VERSION = "model_record", 1
_TODO = "delete it and train the model again; a model that a config pins stays where it is"


class _Object(Kind):
    """Any JSON object."""

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield path, f"expected an object, found {described(value)}"

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}


@dataclass(frozen=True)
class ModelRecord:
    """`file` lies beside the record; `made_of` is the identity of the training, by which it is known to need no other.
    `trained` and `held_out` hold whole numbers alone.
    """

    format: Annotated[str, Choice((FORMAT,))]
    version: Annotated[int, Whole(VERSION, VERSION)]
    model: Annotated[str, Text(says="the name of a model")]
    kind: Annotated[str, Choice(KINDS)]
    config_sha256: Annotated[str, HEX_SHA256]
    made_of: Annotated[Mapping[str, Any], _Object()]
    file: Annotated[str, Text(r"[a-z0-9_-]+\.(?:bin|arpa)", "the name of a file")]
    sha256: Annotated[str, HEX_SHA256]
    num_bytes: Annotated[int, Whole()]
    trained: Annotated[Mapping[str, Any], _Object()]
    held_out: Annotated[Mapping[str, Any], _Object()]


def write(record: ModelRecord, path: Path) -> None:
    """Write the record whole, with the digest of what it says."""
    said = dataclasses.asdict(record)
    durable.write_file(path, canonical.to_bytes({"record": said, "sha256": canonical.digest(said)}) + b"\n")


def read(path: Path) -> ModelRecord:
    """The record as it was written. Raises CorruptDataError for another byte or form."""
    stored = durable.json_of(path, _TODO)
    if not isinstance(stored, dict) or set(stored) != {"record", "sha256"}:
        raise CorruptDataError(path, "content", "a record and its sha256", described(stored), _TODO)
    said = stored["record"]
    for field, wrong in table(ModelRecord).problems(said, "record"):
        raise CorruptDataError(path, field, "what formats/model_config.md says", wrong, _TODO)
    if (found := canonical.digest(said)) != stored["sha256"]:
        raise CorruptDataError(path, "sha256 of the record", stored["sha256"], found, _TODO)
    record: ModelRecord = table(ModelRecord).build(said)
    return record
