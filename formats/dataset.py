"""Dataset: a stage's output, as numbered Parquet shards and a manifest that names each by length and SHA-256.

Spec: dataset.md. A reader checks length and hash before it decodes a byte, so a short or changed intermediate is
refused by name instead of being read as fewer rows.
"""

import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from formats import canonical, durable
from formats.errors import CorruptDataError, SchemaMismatchError
from formats.parquet_file import BATCH_ROWS, REMAKE, Shard, read_groups, verified, write_groups
from formats.row_groups import cut_row_groups

VERSION = 2
MANIFEST = "_DATASET.json"
DEFAULT_ROW_GROUP_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Dataset:
    """Shards of one schema, ordered by id; ids may have gaps. `notes` are whole numbers a stage reports.

    The schema may name fewer columns than the files have: only those are read. `reader` is `module:function` of
    (shard, columns), for shards that are not Parquet.
    """

    schema: pa.Schema
    shards: tuple[Shard, ...]
    notes: dict[str, int] = field(default_factory=dict)
    reader: str = "formats.dataset:read_shard"

    @property
    def rows(self) -> int:
        return sum(shard.rows for shard in self.shards)

    @property
    def num_bytes(self) -> int:
        return sum(shard.num_bytes for shard in self.shards)

    @property
    def digest(self) -> str:
        """Names the content: schema, and per shard its id, rows and SHA-256. Not where it lies."""
        shards = [[shard.id, shard.rows, shard.sha256] for shard in self.shards]
        return canonical.digest({"schema": schema_as_json(self.schema), "shards": shards})

    def select(self, *names: str) -> "Dataset":
        """The same rows with these columns alone, in the order of the files."""
        return replace(self, schema=pa.schema([column for column in self.schema if column.name in names]))

    def shard(self, shard_id: int) -> Shard | None:
        return next((shard for shard in self.shards if shard.id == shard_id), None)


def concat(datasets: Sequence[Dataset]) -> Dataset:
    """The datasets after each other, shards renumbered from 0 in that order."""
    schema = datasets[0].schema
    for other in datasets[1:]:
        if other.schema != schema:
            raise SchemaMismatchError("concat", "schema", schema, other.schema, "join datasets of one stage only")
    shards = [shard for dataset in datasets for shard in dataset.shards]
    return Dataset(schema, tuple(replace(shard, id=i) for i, shard in enumerate(shards)))


def schema_as_json(schema: pa.Schema) -> list[list[Any]]:
    return [[f.name, str(f.type), f.nullable] for f in schema]


def write_shard(
    shard_id: int, path: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, row_group_bytes: int
) -> Shard:
    """Write one shard whole or not at all. Row groups are cut by bytes of the rows alone, so that how the rows came
    cut into batches never shows in the file.

    Written for speed: such files live as long as a build needs them. zstd would take a quarter less room and twice the
    time to write and to read; dictionaries would take twice the time, too.
    """
    groups = cut_row_groups(batches, schema, row_group_bytes)
    return write_groups(shard_id, path, groups, schema, compression="lz4", use_dictionary=False)


def write_lasting_shard(
    shard_id: int, path: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, row_group_bytes: int
) -> Shard:
    """As `write_shard`, at zstd level 1: for rows that stay when the build is over."""
    groups = cut_row_groups(batches, schema, row_group_bytes)
    return write_groups(shard_id, path, groups, schema, compression_level=1, use_dictionary=False)


def write_plain_shard(
    shard_id: int, path: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, row_group_bytes: int
) -> Shard:
    """As `write_shard`, not compressed: for rows of token ids, on which zstd takes more time than sorting and packing
    them, and saves half their room.
    """
    groups = cut_row_groups(batches, schema, row_group_bytes)
    return write_groups(shard_id, path, groups, schema, compression="none", use_dictionary=False)


def read_shard(
    shard: Shard, *, columns: Sequence[str] | None = None, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The shard's rows in order, after length and hash were checked."""
    yield from read_groups(verified(shard), columns=columns, batch_rows=batch_rows, rows=shard.rows)


def read(dataset: Dataset, *, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """All rows in order, shard after shard."""
    module, _, function = dataset.reader.partition(":")
    reader = getattr(importlib.import_module(module), function)
    for shard in dataset.shards:
        yield from reader(shard, columns=dataset.schema.names if columns is None else columns)


def read_table(dataset: Dataset, *, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows as a table: for datasets known to be small, and for tests."""
    schema = dataset.schema if columns is None else pa.schema([dataset.schema.field(name) for name in columns])
    return pa.Table.from_batches((b.cast(schema) for b in read(dataset, columns=columns)), schema)


def write_manifest(folder: Path, dataset: Dataset, identity: dict[str, Any]) -> None:
    """Write `_DATASET.json` last: a folder without it is not a dataset."""
    manifest = {
        "format": "dataset",
        "version": VERSION,
        "identity": identity,
        "schema": schema_as_json(dataset.schema),
        "shards": [
            {"id": s.id, "name": Path(s.path).name, "rows": s.rows, "bytes": s.num_bytes, "sha256": s.sha256}
            for s in dataset.shards
        ],
        "notes": dataset.notes,
    }
    manifest["sha256"] = canonical.digest(manifest)  # a flipped digit is still JSON
    durable.write_file(folder / MANIFEST, _manifest_bytes(manifest))


def _manifest_bytes(manifest: dict[str, Any]) -> bytes:
    """The one byte form of a manifest."""
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()


def open_folder(folder: Path, schema: pa.Schema) -> Dataset:
    """The dataset in `folder`. Raises CorruptDataError without a readable manifest, SchemaMismatchError when its
    columns are others than `schema`. Shards are checked when they are read.
    """
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
        manifest = durable.json_value(data)
        if (kind := (manifest["format"], manifest["version"])) != ("dataset", VERSION):
            raise SchemaMismatchError(path, "format and version", ("dataset", VERSION), kind, REMAKE)
        said, holds = manifest.pop("sha256"), canonical.digest(manifest)
        if holds != said:
            raise CorruptDataError(path, "sha256 of its other keys", said, holds, REMAKE)
        shards = tuple(_shard_of(folder, entry) for entry in manifest["shards"])
        notes, found = dict(manifest["notes"]), manifest["schema"]
    except durable.NO_FILE:
        raise CorruptDataError(path, "manifest", "a file", durable.instead_of_a_file(path), REMAKE) from None
    except CorruptDataError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptDataError(path, "manifest", "a dataset manifest", durable.why_no_json(error), REMAKE) from None
    if found != schema_as_json(schema):
        raise SchemaMismatchError(path, "schema", schema_as_json(schema), found, REMAKE)
    if [shard.id for shard in shards] != sorted({shard.id for shard in shards}):
        raise CorruptDataError(path, "shards", "ids that ascend", [shard.id for shard in shards], REMAKE)
    if data != _manifest_bytes({**manifest, "sha256": said}):
        raise CorruptDataError(path, "bytes", "json.dumps(…, indent=2) and a newline", "another form", REMAKE)
    return Dataset(schema, shards, notes)


def _shard_of(folder: Path, entry: dict[str, Any]) -> Shard:
    """The shard that a manifest entry names. Raises KeyError, TypeError or ValueError when it is none."""
    name, numbers = entry["name"], (entry["id"], entry["rows"], entry["bytes"])
    if Path(name).name != name or not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError(f"no shard: {entry}")
    return Shard(entry["id"], str(folder / name), entry["rows"], entry["bytes"], entry["sha256"])
