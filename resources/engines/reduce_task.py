"""What every engine runs for a shard or a bucket: reading, the task, the order check, writing.

An engine only schedules these functions and sorts; so it cannot change a byte. Batches are bounded by bytes as well as
rows: a batch of fat documents must not take the memory of a thousand thin ones.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from formats.dataset import Dataset
from formats.errors import ConfigError, CorruptDataError, NotConvergedError, SchemaMismatchError
from formats.parquet_file import Shard, verified
from formats.row_groups import row_sizes
from resources.engines.contract import Batches, Dest, Task, load

BATCH_BYTES = 4 * 1024 * 1024


def read_batches(source: Dataset, shard: Shard) -> Batches:
    """The shard's rows in order, in the source's schema; a batch has at most BATCH_BYTES (a longer row comes alone)."""
    todo = "delete its folder and materialize the stage again"
    rows = load(source.reader)(shard, columns=source.schema.names)
    return bounded(conform(rows, source.schema, shard.path, todo))


def conform(batches: Iterable[pa.RecordBatch], schema: pa.Schema, where: str, todo: str) -> Batches:
    """The batches cast to `schema`. Raises SchemaMismatchError when columns or types do not fit it."""
    for batch in batches:
        if batch.schema == schema:
            yield batch
            continue
        if batch.schema.names != schema.names:
            raise SchemaMismatchError(where, "columns", schema.names, batch.schema.names, todo)
        try:
            yield batch.cast(schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise SchemaMismatchError(where, "columns", schema, f"{batch.schema} ({error})", todo) from error


def bounded(batches: Iterable[pa.RecordBatch], max_bytes: int = BATCH_BYTES) -> Batches:
    """The same rows in slices of at most `max_bytes` (by `row_sizes`); a longer row comes alone. No batch is empty."""
    for batch in batches:
        for start, stop in cuts(row_sizes(batch), max_bytes, batch.num_rows):
            yield batch.slice(start, stop - start)


def cuts(sizes: np.ndarray, max_bytes: int, max_rows: int) -> Iterator[tuple[int, int]]:
    """Consecutive rows (start, stop) of at most `max_bytes` and `max_rows`; a longer row comes alone."""
    ends = np.cumsum(sizes)
    start, taken = 0, 0
    while start < len(sizes):
        stop = int(np.searchsorted(ends, taken + max_bytes, side="right"))
        stop = min(max(stop, start + 1), start + max_rows)
        yield start, stop
        start, taken = stop, int(ends[stop - 1])


def write(shard_id: int, batches: Iterable[pa.RecordBatch], task_name: str, out: Dest) -> Shard:
    """Write one output shard by the destination's writer, which casts. Raises SchemaMismatchError, naming the task, for
    other columns than the destination's, or a null where it allows none.
    """
    rows = _fitting(batches, out.schema, task_name)
    return load(out.writer)(shard_id, out.path(shard_id), rows, out.schema, row_group_bytes=out.row_group_bytes)


def _fitting(batches: Iterable[pa.RecordBatch], schema: pa.Schema, task_name: str) -> Batches:
    todo = "let the task return the columns of its destination"
    for batch in batches:
        if batch.schema.names != schema.names:
            raise SchemaMismatchError(task_name, "columns", schema.names, batch.schema.names, todo)
        for field, column in zip(schema, batch.columns, strict=True):
            if not field.nullable and column.null_count:
                raise SchemaMismatchError(task_name, f"column {field.name}", "no nulls", "null", todo)
        yield batch


@dataclass(frozen=True)
class MapItem:
    """One shard to map with no more than it needs, since it travels to a worker: itself, its arguments, its sides."""

    source: Dataset
    task: Task
    sides: tuple[Dataset, ...]

    @property
    def shard(self) -> Shard:
        return self.source.shards[0]


def map_items(source: Dataset, task: Task, sides: Sequence[Dataset]) -> list[MapItem]:
    """What there is to map, shard by shard."""
    by_id = [{shard.id: shard for shard in side.shards} for side in sides]
    items = []
    for shard in source.shards:
        own = {shard.id: task.per_shard[shard.id]} if shard.id in task.per_shard else {}
        beside = tuple(
            replace(side, shards=(shards[shard.id],) if shard.id in shards else ())
            for side, shards in zip(sides, by_id, strict=True)
        )
        items.append(MapItem(replace(source, shards=(shard,)), replace(task, per_shard=own), beside))
    return items


def map_shard(shard: Shard, batches: Batches, task: Task, out: Dest, sides: Sequence[pa.Table]) -> Shard:
    """Map the rows of one shard, however they are cut into batches."""
    return write(shard.id, apply(shard, batches, task, sides), task.fn, out)


def apply(shard: Shard, batches: Batches, task: Task, sides: Sequence[pa.Table]) -> Batches:
    """What the task makes of each batch of the shard."""
    fn = task.load()
    args = task.args | task.per_shard.get(shard.id, {})
    return (fn(batch, *sides, **args) for batch in batches)


def side_table(side: Dataset, shard_id: int) -> pa.Table:
    """The side's whole shard of that id, or an empty table."""
    shard = side.shard(shard_id)
    batches = () if shard is None else read_batches(side, shard)
    return pa.Table.from_batches(batches, side.schema)


def check_sort(schema: pa.Schema, bucket: str, keys: Sequence[str]) -> None:
    """Raise ConfigError unless the columns exist and every engine orders their types alike.

    Unsigned integers are refused: Spark has none, and a bit view as int64 sorts otherwise. Floats have no one order.
    """
    for name in (bucket, *keys):
        if schema.get_field_index(name) < 0:
            raise ConfigError(f"sort_reduce: no column {name!r}; expected one of {', '.join(schema.names)}")
        kind = schema.field(name).type
        if pa.types.is_signed_integer(kind):
            continue
        if name == bucket or not (
            pa.types.is_string(kind)
            or pa.types.is_large_string(kind)
            or pa.types.is_binary(kind)
            or pa.types.is_large_binary(kind)
            or pa.types.is_fixed_size_binary(kind)
        ):
            wanted = "a signed integer" if name == bucket else "a signed integer, string or binary"
            raise ConfigError(f"sort_reduce: column {name!r} is {kind}; expected {wanted}")


def first_mapped(item: MapItem, schema: pa.Schema) -> Batches:
    """What the item's task makes of its shard, in `schema`; batches are bounded as those of a stored shard are."""
    sides = [side_table(side, item.shard.id) for side in item.sides]
    made = apply(item.shard, read_batches(item.source, item.shard), item.task, sides)
    return bounded(conform(made, schema, item.task.fn, "let the task return the columns that are sorted"))


def read_to_sort(source: Dataset, shard: Shard, bucket: str, keys: Sequence[str]) -> Batches:
    """The shard's rows, after a look at bucket and keys. Raises CorruptDataError for a null or a bucket below 0."""
    return fit_to_sort(read_batches(source, shard), shard, bucket, keys)


def fit_to_sort(batches: Iterable[pa.RecordBatch], shard: Shard, bucket: str, keys: Sequence[str]) -> Batches:
    """The batches that come of the shard, after a look at bucket and keys. Raises as `read_to_sort` does."""
    todo = "mend the stage that wrote it and materialize it again"
    for batch in batches:
        for name in (bucket, *keys):
            if batch.column(name).null_count:
                raise CorruptDataError(shard.path, f"column {name}", "no nulls", "null", todo)
        if (lowest := pc.min(batch.column(bucket)).as_py()) < 0:
            raise CorruptDataError(shard.path, f"column {bucket}", "a shard number, 0 or more", lowest, todo)
        yield batch


def ordered(batches: Iterable[pa.RecordBatch], bucket: str, keys: Sequence[str]) -> Batches:
    """The batches, every row held against the one before it: a sorter is never trusted.

    Raises NotConvergedError at an inversion; ConfigError where two different rows have equal keys, since their order,
    hence the output, would be undefined.
    """
    names = list(dict.fromkeys((bucket, *keys)))
    last: pa.RecordBatch | None = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        if last is not None:
            _check_neighbours(last, batch.slice(0, 1), names)
        _check_neighbours(batch.slice(0, batch.num_rows - 1), batch.slice(1), names)
        last = batch.slice(batch.num_rows - 1)
        yield batch


def _check_neighbours(left: pa.RecordBatch, right: pa.RecordBatch, names: Sequence[str]) -> None:
    """Row i of `left` must come before row i of `right`, or equal it in every column."""
    open_rows = np.arange(left.num_rows)  # rows equal in all columns looked at so far
    for name in names:
        a, b = left.column(name), right.column(name)
        if len(open_rows) < left.num_rows:
            a, b = a.take(pa.array(open_rows)), b.take(pa.array(open_rows))
        above = _true(pc.greater(a, b))
        if above.any():
            row = int(open_rows[np.flatnonzero(above)[0]])
            raise NotConvergedError(
                f"the sorter gave {_key(left, row, names)} before {_key(right, row, names)}; expected rows sorted by "
                f"{', '.join(names)}; keep the pinned version of the sorter and report this"
            )
        open_rows = open_rows[_true(pc.equal(a, b))]
        if not len(open_rows):
            return
    same = pa.array(open_rows)
    if not left.take(same).equals(right.take(same)):
        raise ConfigError(
            f"sort_reduce: different rows have equal {', '.join(names)}, such as "
            f"{_key(left, int(open_rows[0]), names)}; end the keys in a column that tells the rows apart"
        )


def _true(column: pa.BooleanArray) -> np.ndarray:
    return column.to_numpy(zero_copy_only=False).astype(bool)


def _key(batch: pa.RecordBatch, row: int, names: Sequence[str]) -> str:
    values = (f"{name}={batch.column(name)[row].as_py()!r}" for name in names)
    return "(" + ", ".join(value if len(value) <= 60 else value[:60] + "…" for value in values) + ")"


def by_bucket(batches: Batches, bucket: str) -> Iterator[tuple[int, Batches]]:
    """(bucket, its batches) in order. What the caller leaves of a bucket is read past, still checked."""

    def runs() -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches:
            numbers = batch.column(bucket).to_numpy()
            borders = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for start, stop in pairwise(borders):
                yield int(numbers[start]), batch.slice(start, stop - start)

    for number, group in groupby(runs(), key=itemgetter(0)):
        yield number, (part for _, part in group)


Notes = dict[str, int]


def reduce_buckets(
    batches: Batches, task: Task, out: Dest, *, bucket: str, keys: Sequence[str]
) -> Iterator[tuple[Shard, Notes]]:
    """Run the task over sorted rows, bucket after bucket; yields each shard when it is written, with its notes."""
    fn = task.load()
    for number, group in by_bucket(ordered(bounded(batches), bucket, keys), bucket):
        notes: Notes = {}
        yield write(number, _noting(fn(number, group, **task.args), notes), task.fn, out), notes


def _noting(batches: Generator[pa.RecordBatch, None, Notes | None], notes: Notes) -> Batches:
    """The batches of a task; what the task returns at its end goes into `notes`."""
    notes.update((yield from batches) or {})


def gathered(schema: pa.Schema, made: Iterable[tuple[Shard, Notes]]) -> Dataset:
    """The dataset of the shards made, in the order of their ids; notes are summed."""
    shards, total = [], Counter[str]()
    for shard, notes in made:
        shards.append(shard)
        total.update(notes)
    return Dataset(schema, tuple(sorted(shards, key=lambda shard: shard.id)), dict(sorted(total.items())))


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


def verify(shard: Shard) -> None:
    """Raise CorruptDataError unless the shard is what its manifest says."""
    verified(shard)


def _read_piece(piece: Piece, schema: pa.Schema) -> Batches:
    todo = "delete its folder and materialize the stage again"
    with pq.ParquetFile(piece.shard.path) as file:
        before = 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            start, stop = max(piece.start - before, 0), min(piece.stop - before, rows)
            if start < stop:
                table = file.read_row_group(group, columns=schema.names, use_threads=False).slice(start, stop - start)
                yield from conform(table.to_batches(), schema, piece.shard.path, todo)
            before += rows
