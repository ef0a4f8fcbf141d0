"""Which rows each output shard of slice_rows takes, and those rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from formats.dataset import Dataset
from formats.errors import ConfigError
from formats.parquet_file import REMAKE, Shard
from resources.engines.contract import Batches
from resources.engines.row_batches import bounded, conform


@dataclass(frozen=True)
class Piece:
    """Rows start <= i < stop of one source shard."""

    shard: Shard
    start: int
    stop: int


def slice_plan(source: Dataset, rows_per_shard: int) -> list[tuple[Piece, ...]]:
    """Which rows each output shard takes. Raises ConfigError for less than one row a shard."""
    if rows_per_shard < 1:
        raise ConfigError(f"slice_rows: rows_per_shard is {rows_per_shard}; expected at least 1")
    plan: list[list[Piece]] = [[]]
    room = rows_per_shard
    for shard in source.shards:
        start = 0
        while start < shard.rows:
            if room == 0:
                plan.append([])
                room = rows_per_shard
            stop = min(shard.rows, start + room)
            plan[-1].append(Piece(shard, start, stop))
            room -= stop - start
            start = stop
    return [tuple(pieces) for pieces in plan]


def read_pieces(pieces: Sequence[Piece], schema: pa.Schema) -> Batches:
    """The rows of the pieces, reading only the row groups they need. Shards are to be verified before, once each."""
    return bounded(batch for piece in pieces for batch in _read_piece(piece, schema))


def _read_piece(piece: Piece, schema: pa.Schema) -> Batches:
    with pq.ParquetFile(piece.shard.path) as file:
        before = 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            start, stop = max(piece.start - before, 0), min(piece.stop - before, rows)
            if start < stop:
                table = file.read_row_group(group, columns=schema.names, use_threads=False).slice(start, stop - start)
                yield from conform(table.to_batches(), schema, piece.shard.path, REMAKE)
            before += rows
