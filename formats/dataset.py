"""Dataset: a stage's output, as numbered Parquet shards and a manifest that names each by length and SHA-256.

Spec: dataset.md. A reader checks length and hash before it decodes a byte, so a short or changed intermediate is
refused by name instead of being read as fewer rows.
"""

import hashlib
import importlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from formats import canonical, durable
from formats.errors import ConfigError, CorruptDataError, SchemaMismatchError

VERSION = 2
MANIFEST = "_DATASET.json"
DEFAULT_ROW_GROUP_BYTES = 32 * 1024 * 1024
BATCH_ROWS = 4096
_TODO = "delete its folder and materialize the stage again"
MAX_STRING_BYTES = 2**31 - 1
"""What a string or binary column holds at most in one piece: its offsets have 32 bits."""
_VARIABLE_WIDTH = (pa.large_string(), pa.large_binary(), pa.string(), pa.binary())


@dataclass(frozen=True)
class Shard:
    """One Parquet file. `id` is its place in the dataset: rows are ordered by (id, position in the file)."""

    id: int
    path: str
    rows: int
    num_bytes: int
    sha256: str


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


def write_groups(shard_id: int, path: Path, groups: Iterable[pa.Table], schema: pa.Schema, **options: Any) -> Shard:
    """Write each table as one row group of one Parquet file: temporary name, fsync, rename. `options` are those of
    pyarrow.parquet.ParquetWriter; zstd unless they say otherwise. An OSError of the writer names `path`.
    """
    options = {"compression": "zstd", **options}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    rows = 0
    try:
        with durable.HashedFile(temporary) as file:
            with pq.ParquetWriter(file, schema, **options) as writer:
                for group in groups:
                    writer.write_table(group, row_group_size=max(1, group.num_rows))
                    rows += group.num_rows
            file.sync()
        temporary.rename(path)
    except BaseException as error:  # whatever ended it, an interrupt too: nothing half written stays
        with suppress(OSError):  # on a file system that refuses this, too, the first error is the one to see
            temporary.unlink()
        if isinstance(error, OSError) and error.errno and error.filename is None:  # Arrow's own names no file
            error.filename = str(path)
        raise
    return Shard(shard_id, str(path), rows, file.num_bytes, file.sha256)


def row_sizes(batch: pa.RecordBatch) -> np.ndarray:
    """Bytes each row takes in memory: 8 for a fixed-width column, the length of a string or binary."""
    sizes = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        kind = column.type
        if kind in _VARIABLE_WIDTH:
            lengths = pc.binary_length(column)
            sizes += (pc.fill_null(lengths, 0) if lengths.null_count else lengths).to_numpy()
        elif pa.types.is_fixed_size_binary(kind):
            sizes += kind.byte_width
        else:
            sizes += 8
    return sizes


def cut_row_groups(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    row_group_bytes: int,
    sizes: Callable[[pa.RecordBatch], np.ndarray] = row_sizes,
) -> Iterator[pa.Table]:
    """Consecutive rows as tables of at most `row_group_bytes` (by `sizes`); a longer row is a table of its own.

    Each table is one chunk a column: Parquet pages are cut at chunk borders, so chunks would show in the bytes.
    """
    held: list[pa.RecordBatch] = []
    room = row_group_bytes
    for batch in batches:
        ends = np.cumsum(sizes(batch))
        start, taken = 0, 0
        while start < batch.num_rows:
            stop = int(np.searchsorted(ends, taken + room, side="right"))
            stop = max(stop, start if held else start + 1)
            if stop > start:
                held.append(batch.slice(start, stop - start))
                room -= int(ends[stop - 1]) - taken
                start, taken = stop, int(ends[stop - 1])
            if start < batch.num_rows:
                group = _one_chunk(held, schema)
                held, room = [], row_group_bytes  # let go before the group is written, which takes memory of its own
                yield group
                del group
    if held:
        yield _one_chunk(held, schema)


def _one_chunk(held: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The slices as one table of `schema`. Columns are joined before the cast: joining copies a slice to the start of
    its own buffer, so that large_string fits string however far into a long batch the slice lay. Raises ConfigError
    where a column does not fit 32-bit offsets.
    """
    todo = "hand over rows of the shard's schema"
    if (found := held[0].schema.names) != schema.names:
        raise SchemaMismatchError("rows to write", "columns", schema.names, found, todo)
    columns = []
    for i, field_ in enumerate(schema):
        parts = [batch.column(i) for batch in held]
        try:
            if field_.type in (pa.string(), pa.binary()):
                _check_fits(field_.name, parts)
            columns.append(pa.concat_arrays(parts).cast(field_.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise SchemaMismatchError("rows to write", field_.name, field_.type, error, todo) from None
        if not field_.nullable and (nulls := columns[-1].null_count):
            raise SchemaMismatchError("rows to write", field_.name, "a value in every row", f"null in {nulls}", todo)
    return pa.Table.from_arrays(columns, schema=schema)


def _check_fits(name: str, parts: Sequence[pa.Array]) -> None:
    num_bytes = sum(pc.sum(pc.binary_length(part)).as_py() or 0 for part in parts)
    if num_bytes > MAX_STRING_BYTES:
        raise ConfigError(
            f"column {name}: {sum(map(len, parts))} rows of one row group hold {num_bytes} bytes, expected at most "
            f"{MAX_STRING_BYTES}; make shard_rows smaller"
        )


def verified(shard: Shard) -> Path:
    """The shard's path, once its length and hash are what the manifest says. Raises CorruptDataError."""
    path = Path(shard.path)
    if not path.is_file():
        raise CorruptDataError(path, "file", f"{shard.num_bytes} bytes", durable.instead_of_a_file(path), _TODO)
    if (found := path.stat().st_size) != shard.num_bytes:
        raise CorruptDataError(path, "length", shard.num_bytes, found, _TODO)
    if (digest := durable.sha256_of(path)) != shard.sha256:
        raise CorruptDataError(path, "sha256", shard.sha256, digest, _TODO)
    return path


def verified_bytes(shard: Shard) -> bytes:
    """The bytes of a shard that is read whole: what length and hash are taken of is what is given, since a file that is
    checked and then read again may be another one. Raises CorruptDataError.
    """
    path = Path(shard.path)
    if not path.is_file():
        raise CorruptDataError(path, "file", f"{shard.num_bytes} bytes", durable.instead_of_a_file(path), _TODO)
    data = path.read_bytes()
    if len(data) != shard.num_bytes:
        raise CorruptDataError(path, "length", shard.num_bytes, len(data), _TODO)
    if (digest := hashlib.sha256(data).hexdigest()) != shard.sha256:
        raise CorruptDataError(path, "sha256", shard.sha256, digest, _TODO)
    return data


def read_shard(
    shard: Shard, *, columns: Sequence[str] | None = None, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The shard's rows in order, after length and hash were checked."""
    yield from read_groups(verified(shard), columns=columns, batch_rows=batch_rows, rows=shard.rows)


def read_groups(
    path: Path,
    *,
    schema: pa.Schema | None = None,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    groups: Sequence[int] | None = None,
    todo: str = _TODO,
) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file whose bytes were verified, in order; those of `groups` alone, where given. A batch
    never spans row groups, so that its bytes stay bounded too. Columns come in the order asked for.

    Raises SchemaMismatchError for other columns than `schema`, metadata included, CorruptDataError for another number
    of rows than `rows` and for what cannot be decoded.
    """
    try:
        with pq.ParquetFile(path) as file:  # not mapped: what is mapped counts as resident up to the whole file
            if schema is not None and not file.schema_arrow.equals(schema, check_metadata=True):
                raise SchemaMismatchError(path, *_first_difference(schema, file.schema_arrow), todo)
            if rows is not None and file.metadata.num_rows != rows:
                raise CorruptDataError(path, "rows", rows, file.metadata.num_rows, todo)
            for group in range(file.num_row_groups) if groups is None else groups:
                yield from file.iter_batches(batch_rows, row_groups=[group], columns=columns, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's failure; Arrow's own has no number
            raise
        raise CorruptDataError(path, "content", "a Parquet file", repr(error)[:300], todo) from None


def _first_difference(expected: pa.Schema, found: pa.Schema) -> tuple[str, object, object]:
    """(field, expected, found) of the first thing that differs."""
    if expected.names != found.names:
        return "columns", expected.names, found.names
    for a, b in zip(expected, found, strict=True):
        if a != b:
            return f"column {a.name}", a, b
    return "schema metadata", expected.metadata, found.metadata


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
            raise SchemaMismatchError(path, "format and version", ("dataset", VERSION), kind, _TODO)
        said, holds = manifest.pop("sha256"), canonical.digest(manifest)
        if holds != said:
            raise CorruptDataError(path, "sha256 of its other keys", said, holds, _TODO)
        shards = tuple(_shard_of(folder, entry) for entry in manifest["shards"])
        notes, found = dict(manifest["notes"]), manifest["schema"]
    except durable.NO_FILE:
        raise CorruptDataError(path, "manifest", "a file", durable.instead_of_a_file(path), _TODO) from None
    except CorruptDataError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptDataError(path, "manifest", "a dataset manifest", durable.why_no_json(error), _TODO) from None
    if found != schema_as_json(schema):
        raise SchemaMismatchError(path, "schema", schema_as_json(schema), found, _TODO)
    if [shard.id for shard in shards] != sorted({shard.id for shard in shards}):
        raise CorruptDataError(path, "shards", "ids that ascend", [shard.id for shard in shards], _TODO)
    if data != _manifest_bytes({**manifest, "sha256": said}):
        raise CorruptDataError(path, "bytes", "json.dumps(…, indent=2) and a newline", "another form", _TODO)
    return Dataset(schema, shards, notes)


def _shard_of(folder: Path, entry: dict[str, Any]) -> Shard:
    """The shard that a manifest entry names. Raises KeyError, TypeError or ValueError when it is none."""
    name, numbers = entry["name"], (entry["id"], entry["rows"], entry["bytes"])
    if Path(name).name != name or not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError(f"no shard: {entry}")
    return Shard(entry["id"], str(folder / name), entry["rows"], entry["bytes"], entry["sha256"])
