"""Evidence: what a version knows about every document, file, cluster and licence it was made of. Spec: evidence.md.

`_EVIDENCE.json`, written last, names every file by length and SHA-256. The tables' columns are in evidence_schemas.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from formats import dataset, durable, parquet_file, verified_file
from formats.errors import CorruptDataError, SchemaMismatchError
from formats.evidence_schemas import FORMAT, TABLES, VERSION, schema_of, table_names
from formats.json_fields import Choice, Kind, Problem, Text, Whole
from formats.json_kinds import HEX_SHA256
from formats.json_tables import table
from formats.json_words import described
from formats.parquet_file import Shard

SEAL = "_EVIDENCE.json"
PART_PATTERN = "part-{id:05d}.parquet"
STAGE_VERSIONS, LEDGER_ROWS, COUNTS = "stage_versions.json", "ledger_rows.jsonl", "counts.json"
DATASHEET_HTML, DATASHEET_MD, TRAINING_CONTENT = "datasheet.html", "DATASHEET.md", "TRAINING_CONTENT.md"
DIFFERENCES_HTML = "differences.html"
"""What differs from the version before, where one was published when the datasheet was made."""
TEXT_BYTES = "text_bytes"
"""Of counts.json: source -> bytes of its published texts. Versions of before it was counted lack it."""
SIDECAR = "created.json"
"""Clock times and the like; outside the seal and every digest."""
BATCH_ROWS = 1 << 16
_TODO = "restore the evidence folder from a copy, or delete it and build the version again"


@dataclass(frozen=True)
class SealedFile:
    sha256: Annotated[str, HEX_SHA256]
    bytes: Annotated[int, Whole()]


class SealedFiles(Kind):
    """An object of file names below the folder, `/` between folders, none of them leading out of it."""

    _name = Text(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*", "a file name below the folder")

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield path, f"expected an object of files, found {described(value)}"
            return
        for name, entry in value.items():
            yield from self._name.problems(name, path)
            yield from table(SealedFile).problems(entry, f"{path}.{name}")

    def schema(self) -> dict[str, Any]:
        entry = table(SealedFile).schema()
        return {"type": "object", "propertyNames": self._name.schema(), "additionalProperties": entry}


@dataclass(frozen=True)
class Seal:
    """Describes `_EVIDENCE.json`; code passes its `files` around as a dict."""

    format: Annotated[str, Choice((FORMAT,))]
    version: Annotated[int, Whole(VERSION, VERSION)]
    files: Annotated[dict[str, Any], SealedFiles()]


def json_schema() -> dict[str, Any]:
    """What evidence.schema.json holds."""
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "_EVIDENCE.json of a corpus version"}
    return {**about, **table(Seal).schema()}


def write(folder: Path, name: str, batches: Iterable[pa.RecordBatch]) -> Shard:
    """Write a table of one file whole or not at all (the parts of `documents` are written by an engine).

    Raises SchemaMismatchError for other columns than TABLES[name].
    """
    path = folder / f"{name}.parquet"
    return dataset.write_lasting_shard(0, path, batches, TABLES[name], row_group_bytes=dataset.DEFAULT_ROW_GROUP_BYTES)


def json_bytes(value: Any) -> bytes:
    """The one form of a JSON file of the evidence: keys sorted, indented for people."""
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def entry_of(written: bytes | Shard) -> dict[str, Any]:
    """What the seal says of a file with these bytes, or of a Parquet file as its writer gave it back."""
    if isinstance(written, Shard):
        return {"sha256": written.sha256, "bytes": written.num_bytes}
    return {"sha256": hashlib.sha256(written).hexdigest(), "bytes": len(written)}


def names_in(folder: Path) -> set[str]:
    """Every file that a seal covers: not hidden ones, the sidecar and the seal itself."""
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")}
    return names - {SEAL, SIDECAR}


def seal_bytes(document: Mapping[str, Any]) -> bytes:
    """The one form of `_EVIDENCE.json`."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def seal(folder: Path, written: Mapping[str, Mapping[str, Any]]) -> None:
    """Write `_EVIDENCE.json` over the files in `written`, by name, each with its `entry_of` what was written; for some
    files more, over an older seal, `{**read_seal(folder), …}`. One writer at a time.

    What lies in the folder is not asked: a file that was damaged or removed since would be sealed as it is, and a whole
    seal over half the evidence looks right to everybody.
    """
    document = {"format": FORMAT, "version": VERSION, "files": {name: dict(written[name]) for name in sorted(written)}}
    _validate(document, folder / SEAL)
    path, data = folder / SEAL, seal_bytes(document)
    if not path.is_file() or path.read_bytes() != data:  # a rebuild that changes nothing writes nothing
        durable.write_file(path, data)


def read_seal(folder: Path) -> dict[str, dict[str, Any]]:
    """The `files` of the seal. Raises CorruptDataError when it is missing or unreadable."""
    path = folder / SEAL
    try:
        document = durable.json_value(path.read_bytes())
    except durable.NO_FILE:
        raise CorruptDataError(path, "seal", "a file", durable.instead_of_a_file(path), _TODO) from None
    except (ValueError, RecursionError) as error:
        raise CorruptDataError(path, "seal", "JSON in UTF-8", durable.why_no_json(error), _TODO) from None
    _validate(document, path)
    files: dict[str, dict[str, Any]] = document["files"]
    return files


def _validate(document: Any, path: Path) -> None:
    for field, wrong in table(Seal).problems(document, ""):
        raise SchemaMismatchError(path, field or "seal", "what evidence.md says", f"wrong ({wrong})", _TODO)


def verified(folder: Path, name: str, entry: Mapping[str, Any]) -> Path:
    """The path of a sealed file, once length and hash are what the seal says. Raises CorruptDataError."""
    return verified_file.path_of(folder / name, entry["bytes"], entry["sha256"], _TODO)


def read_bytes(folder: Path, name: str, entry: Mapping[str, Any]) -> bytes:
    """The bytes of a small sealed file, once length and hash are what the seal says. Raises CorruptDataError."""
    return verified_file.bytes_of(folder / name, entry["bytes"], entry["sha256"], _TODO)


def read(folder: Path, name: str, *, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a table in order; each file is checked against the seal, then its columns, before its first row.

    Raises CorruptDataError for a changed or missing file, SchemaMismatchError for other columns.
    """
    files = read_seal(folder)
    names = table_names(name, files)
    if not names:
        raise CorruptDataError(folder / SEAL, name, "the table's files", "none", _TODO)
    for file in names:
        path = verified(folder, file, files[file])
        yield from parquet_file.read_groups(
            path, schema=schema_of(name, path), columns=columns, batch_rows=BATCH_ROWS, todo=_TODO
        )


if __name__ == "__main__":  # writes the schema again
    exported = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    durable.write_file(Path(__file__).with_name("evidence.schema.json"), exported.encode())
