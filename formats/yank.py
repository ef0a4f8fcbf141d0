"""Yank: the mark of a published version or snapshot that nobody should take up any more. Spec: yank.md.

It lies beside what it marks and in no manifest, so that published bytes, digests and ids stay what they were.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from formats import durable
from formats.errors import ConfigError, CorruptDataError, SchemaMismatchError
from formats.json_fields import Choice, Text, Whole
from formats.json_kinds import HEX_SHA256
from formats.json_tables import table
from formats.naming import check_name
from formats.snapshot.manifest import ID_PREFIX, Snapshot

FORMAT, VERSION = "yank", 1
SUFFIX = ".yanked.json"
_TODO = "restore it from a copy, or take it away with `corpus yank … --undo`"


@dataclass(frozen=True)
class Yank:
    """`of` is the version's key or the snapshot's id; `manifest_sha256` is that of the manifest that was yanked."""

    format: Annotated[str, Choice((FORMAT,))]
    version: Annotated[int, Whole(VERSION, VERSION)]
    of: Annotated[str, Text(says="<dataset>.<version> or the id of a snapshot")]
    manifest_sha256: Annotated[str, HEX_SHA256]
    reason: Annotated[str, Text(says="one line that says why", max_length=2_000)]
    yanked_on: Annotated[str, Text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date, yyyy-mm-dd")]

    def __str__(self) -> str:
        return f"{self.of} was yanked on {self.yanked_on}: {self.reason}"


def path_of_version(root: Path, dataset: str, version: str) -> Path:
    """`root` is the artifacts root. Paths relative to it are the same in an object store."""
    return root / "corpus" / dataset / f"{version}{SUFFIX}"


def path_of_snapshot(root: Path, snapshot_id: str) -> Path:
    return root / "snapshots" / f"{snapshot_id.removeprefix(ID_PREFIX)}{SUFFIX}"


def places(root: Path, snapshot: Snapshot) -> tuple[Path, Path]:
    """Where a record would lie that speaks of a snapshot: its own, and that of the version it was made of. Raises
    ConfigError for a manifest whose names are none, since they become paths.
    """
    of = snapshot.document
    dataset, name = check_name("dataset", of["dataset"]), check_name("version", of["corpus_version"])
    version = path_of_version(root, dataset, name)
    return path_of_snapshot(root, snapshot.snapshot_id), version


def speaks_of(record: Yank, snapshot: Snapshot) -> bool:
    """Whether a record is of this snapshot, or of the build of the version that it was made of."""
    digests = (snapshot.snapshot_id.removeprefix(ID_PREFIX), snapshot.document["corpus_manifest_sha256"])
    return record.manifest_sha256 in digests


def read(path: Path) -> Yank | None:
    """The record at `path`; None where none lies there. Raises SchemaMismatchError or CorruptDataError for what is no
    record: a mark that cannot be read is not taken for none.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return parse(data, path)


def parse(data: bytes, where: object) -> Yank:
    """The record in what was read of `where`. Raises as `read` does."""
    try:
        document = durable.json_value(data)
    except (ValueError, RecursionError) as error:
        raise CorruptDataError(where, "content", "JSON in UTF-8", durable.why_no_json(error), _TODO) from None
    for field, wrong in table(Yank).problems(document, ""):
        raise SchemaMismatchError(where, field or "record", "what yank.md says", f"wrong ({wrong})", _TODO)
    found: Yank = table(Yank).build(document)
    return found


def write(path: Path, of: str, manifest_sha256: str, reason: str, yanked_on: str) -> Yank:
    """Write the record, whole or not at all. Raises ConfigError for a reason that is empty or not one line."""
    record = Yank(FORMAT, VERSION, of, manifest_sha256, reason, yanked_on)
    for field, wrong in table(Yank).problems(asdict(record), ""):
        raise ConfigError(f"{field}: {wrong}")
    if not reason.strip():
        raise ConfigError("reason: is empty; say why, for whoever meets it in a year")
    durable.write_file(path, (json.dumps(asdict(record), indent=2, ensure_ascii=False) + "\n").encode())
    return record


def of_snapshot(root: Path, snapshot: Snapshot) -> Yank | None:
    """The record by which a snapshot is yanked: its own, else that of the version that it was made of."""
    for path in places(root, snapshot):
        record = read(path)
        if record is not None and speaks_of(record, snapshot):
            return record
    return None


def refusal(record: Yank, what: str, force: str) -> ConfigError:
    """What a refused reader or build is told; `force` is how to do it all the same. An id in `what` is said once."""
    whose = "it" if record.of in what.split() else record.of
    marked = f"{whose} was yanked on {record.yanked_on}: {record.reason}"
    return ConfigError(f"{what}: {marked}; take another one, or go on all the same with {force}")
