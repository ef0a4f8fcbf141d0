"""Parquet files: written whole or not at all, named by length and SHA-256, and read once these were checked."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from formats import durable, verified_file
from formats.errors import CorruptDataError, SchemaMismatchError

BATCH_ROWS = 4096
REMAKE = "delete its folder and materialize the stage again"
"""What to do where a file of a stage is another one than was written."""


@dataclass(frozen=True)
class Shard:
    """One Parquet file. `id` is its place in the dataset: rows are ordered by (id, position in the file)."""

    id: int
    path: str
    rows: int
    num_bytes: int
    sha256: str


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


def verified(shard: Shard) -> Path:
    """The shard's path, once its length and hash are what the manifest says. Raises CorruptDataError."""
    return verified_file.path_of(Path(shard.path), shard.num_bytes, shard.sha256, REMAKE)


def verified_bytes(shard: Shard) -> bytes:
    """The bytes of a shard that is read whole, once length and hash are what the manifest says. Raises
    CorruptDataError.
    """
    return verified_file.bytes_of(Path(shard.path), shard.num_bytes, shard.sha256, REMAKE)


def read_groups(
    path: Path,
    *,
    schema: pa.Schema | None = None,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    groups: Sequence[int] | None = None,
    todo: str = REMAKE,
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
