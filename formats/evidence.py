"""Evidence: what a version knows about every document, file, cluster and licence it was made of. Spec: evidence.md.

Tables are Parquet with whole numbers only. `_EVIDENCE.json`, written last, names every file by length and SHA-256.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq

from formats import dataset, durable, parquet_file
from formats.errors import ConfigError, CorruptDataError, SchemaMismatchError
from formats.json_fields import Choice, Kind, Problem, Text, Whole
from formats.json_kinds import HEX_SHA256
from formats.json_tables import table
from formats.json_words import described
from formats.parquet_file import Shard
from formats.stage_tables import COUNTED_SIGNALS, NULLABLE, PII_KINDS, SHA256

VERSION = 1
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
_FORMAT = "evidence"


def _schema(name: str, *columns: tuple[str, pa.DataType] | tuple[str, pa.DataType, bool]) -> pa.Schema:
    """Columns are not nullable unless they say so."""
    fields = [pa.field(c[0], c[1], nullable=len(c) > 2 and bool(c[2])) for c in columns]
    return pa.schema(fields, metadata={"format": f"{_FORMAT}.{name}", "version": str(VERSION)})


DOCUMENTS = _schema(
    "documents",
    ("id", pa.large_string()),
    ("doc_id", pa.large_string()),
    ("source_id", pa.large_string()),
    ("url", pa.large_string()),
    ("raw_part", pa.int32()),
    ("raw_line", pa.int64()),
    ("text_digest", SHA256),
    ("n_chars", pa.int64()),
    ("n_words", pa.int64()),
    ("lang", pa.large_string()),
    ("lang_score", pa.int32(), NULLABLE),
    *((name, pa.int64()) for name in COUNTED_SIGNALS),
    ("quality", pa.int32(), NULLABLE),
    ("rules_failed", pa.int64()),
    ("rules_not_applied", pa.int64()),
    ("verdict", pa.large_string()),
    ("cluster", pa.large_string(), NULLABLE),
    ("keeper_id", pa.large_string(), NULLABLE),
    ("keeper_raw_part", pa.int32(), NULLABLE),
    ("keeper_jaccard", pa.int32(), NULLABLE),
    ("eval_set", pa.large_string(), NULLABLE),
    ("eval_item", pa.large_string(), NULLABLE),
    ("span_start", pa.int64(), NULLABLE),
    ("span_end", pa.int64(), NULLABLE),
    *((f"pii_{kind}", pa.int32(), NULLABLE) for kind in PII_KINDS),
    ("split", pa.large_string(), NULLABLE),
    ("shard", pa.int32(), NULLABLE),
    ("row", pa.int64(), NULLABLE),
)
"""One row a raw document, kept or not. Ratios and Jaccard in millionths, lang_score and quality in thousandths."""

DOCUMENTS_BY_MODELS = DOCUMENTS.append(pa.field("ppl", pa.int32()))
"""DOCUMENTS of a version whose config has models: perplexity in thousandths, null where not measured."""

DOCUMENTS_WITH_SAFETY = DOCUMENTS_BY_MODELS.append(pa.field("safety", pa.int32()))
"""DOCUMENTS_BY_MODELS of a version whose config has a model of safety: its score in thousandths."""


def documents_with(measured: Iterable[str]) -> pa.Schema:
    """The columns of `documents` in a version of which these signals of models are told."""
    names = set(measured)
    if "safety" in names:
        return DOCUMENTS_WITH_SAFETY
    return DOCUMENTS_BY_MODELS if "ppl" in names else DOCUMENTS


FILES = _schema(
    "files",
    ("source_id", pa.large_string()),
    ("url", pa.large_string()),
    ("sha256", SHA256),
    ("num_bytes", pa.int64()),
    ("records", pa.int64()),
    ("documents", pa.int64()),
    ("rejects", pa.int64()),
    ("unique_documents", pa.int64()),
    ("near_duplicates", pa.int64()),
)
"""One row a fetched file: records = documents + rejects."""

CLUSTERS = _schema(
    "clusters",
    ("root", pa.large_string()),
    ("size", pa.int64()),
    ("keepers", pa.int64()),
    ("largest_distance", pa.int32()),
)
"""One row a cluster of two documents or more; largest_distance is 1 - Jaccard of its weakest edge, in millionths."""

LINEAGE = _schema(
    "lineage",
    ("shard", pa.int32()),
    ("source_id", pa.large_string()),
    ("license_spdx", pa.large_string()),
    ("ledger_row_digest", SHA256),
    ("rows", pa.int64()),
)
"""Per shard and ledger row, how many rows of the shard came from it."""

LISTED_SITES = _schema(
    "listed_sites",
    ("id", pa.large_string()),
    ("reason", pa.large_string()),
    ("list", pa.large_string()),
    ("line", pa.int64()),
    ("what", pa.large_string()),
    ("since", pa.large_string(), NULLABLE),
    ("why", pa.large_string(), NULLABLE),
)
"""One row a document that was dropped for its site: the entry of the list, as its line says it."""

SCHEMAS = {"documents": DOCUMENTS, "files": FILES, "clusters": CLUSTERS, "lineage": LINEAGE}
LISTED_WORDS = _schema(
    "listed_words",
    ("id", pa.large_string()),
    ("list", pa.large_string()),
    ("listed_words", pa.int64()),
    ("n_words", pa.int64()),
    ("listed_word_ratio", pa.int64()),
    ("too_many", pa.bool_()),
)
"""One row a document and word list that share a word, whatever became of the document."""

CAPPED_DOCUMENTS = _schema(
    "capped_documents", ("id", pa.large_string()), ("domain", pa.large_string()), ("place", pa.int64())
)
"""One row a document that was dropped for the cap of its registered domain; its place in the domain's order, from 0."""

NEAR_ITEMS = _schema(
    "near_items",
    ("id", pa.large_string()),
    ("eval_set", pa.large_string()),
    ("eval_item", pa.large_string()),
    ("shared_ngrams", pa.int64()),
    ("item_ngrams", pa.int64()),
    ("share", pa.int64()),
    ("span_start", pa.int64()),
    ("span_end", pa.int64()),
)
"""One row a document that stayed and holds much of a protected item; `share` in millionths."""

EXTRACTION = _schema(
    "extraction",
    ("id", pa.large_string()),
    ("expected_error", pa.int32()),
    ("extractor", pa.large_string()),
)
"""One row a raw document that the block extractor judged: what it expects wrong, in thousandths, and whose text it has.
"""

OPTIONAL = {
    "listed_sites": LISTED_SITES,
    "listed_words": LISTED_WORDS,
    "capped_documents": CAPPED_DOCUMENTS,
    "near_items": NEAR_ITEMS,
    "extraction": EXTRACTION,
}
"""Tables of versions whose config asks for them; near_items and extraction of those that have such documents."""
TABLES = SCHEMAS | OPTIONAL


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

    format: Annotated[str, Choice((_FORMAT,))]
    version: Annotated[int, Whole(VERSION, VERSION)]
    files: Annotated[dict[str, Any], SealedFiles()]


def json_schema() -> dict[str, Any]:
    """What evidence.schema.json holds."""
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "_EVIDENCE.json of a corpus version"}
    return {**about, **table(Seal).schema()}


def table_names(name: str, files: Iterable[str]) -> list[str]:
    """Which of `files` hold the table `name`, in row order: the parts of `documents`, one file for every other."""
    if name not in TABLES:
        raise ConfigError(f"{name!r} is no table of the evidence; there are {', '.join(TABLES)}")
    if name == "documents":
        return sorted((f for f in files if f.startswith("documents/part-")), key=lambda f: (len(f), f))
    return [f for f in files if f == f"{name}.parquet"]


def schema_of(name: str, path: Path) -> pa.Schema:
    """The columns that a file of the table has to have; what cannot be read is for its reader to say."""
    if name != "documents":
        return TABLES[name]
    try:
        columns = pq.read_schema(path).names
    except (pa.ArrowException, OSError):
        columns = []
    return documents_with(columns)


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
    document = {"format": _FORMAT, "version": VERSION, "files": {name: dict(written[name]) for name in sorted(written)}}
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


def verified(folder: Path, name: str, entry: dict[str, Any]) -> Path:
    """The path of a sealed file, once length and hash are what the seal says. Raises CorruptDataError."""
    path = folder / name
    if not path.is_file():
        raise CorruptDataError(path, "file", f"{entry['bytes']} bytes", durable.instead_of_a_file(path), _TODO)
    if (found := path.stat().st_size) != entry["bytes"]:
        raise CorruptDataError(path, "length", entry["bytes"], found, _TODO)
    if (digest := durable.sha256_of(path)) != entry["sha256"]:
        raise CorruptDataError(path, "sha256", entry["sha256"], digest, _TODO)
    return path


def read_bytes(folder: Path, name: str, entry: Mapping[str, Any]) -> bytes:
    """A small sealed file: what is given is what length and hash were taken of, since a file that is checked and then
    read again may be another one. Raises CorruptDataError.
    """
    path = folder / name
    if not path.is_file():
        raise CorruptDataError(path, "file", f"{entry['bytes']} bytes", durable.instead_of_a_file(path), _TODO)
    data = path.read_bytes()
    if len(data) != entry["bytes"]:
        raise CorruptDataError(path, "length", entry["bytes"], len(data), _TODO)
    if (digest := hashlib.sha256(data).hexdigest()) != entry["sha256"]:
        raise CorruptDataError(path, "sha256", entry["sha256"], digest, _TODO)
    return data


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
