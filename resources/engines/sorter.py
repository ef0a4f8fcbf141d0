"""Sort the rows of a dataset within a memory budget: in memory when they are few, else by DuckDB, which spills to disk.

DuckDB is only the sorter: batches go in and come out through Arrow, and no file but its own spill is read or written.
"""

import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from resources.engines.contract import Batches
from resources.engines.tasks import BATCH_BYTES, conform

Closable = Generator[pa.RecordBatch, None, None]

IN_MEMORY_SHARE = 8
"""Rows that take less than 1/8 of the budget are sorted in memory, which needs about three times their size."""
MAX_BATCH_ROWS = 65_536


def sort_batches(
    batches: Batches, schema: pa.Schema, order: Sequence[str], *, memory_bytes: int, threads: int, scratch: Path
) -> Closable:
    """All rows, ascending by the columns of `order`: integers by value, strings and binaries by bytes."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > memory_bytes // IN_MEMORY_SHARE:
            mean = size / sum(b.num_rows for b in held)
            batch_rows = max(1, min(MAX_BATCH_ROWS, int(BATCH_BYTES / mean)))
            rest = chain(_taken(held), batches)
            return _sort_on_disk(rest, schema, order, batch_rows, memory_bytes, threads, scratch)
    return _sort_in_memory(held, schema, order)


def _taken(held: list[pa.RecordBatch]) -> Batches:
    """The batches, let go one by one."""
    held.reverse()
    while held:
        yield held.pop()


def _sort_in_memory(held: list[pa.RecordBatch], schema: pa.Schema, order: Sequence[str]) -> Closable:
    table = pa.Table.from_batches(held, schema).combine_chunks()
    held.clear()
    indices = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in order])
    for start in range(0, len(indices), MAX_BATCH_ROWS):
        yield from table.take(indices.slice(start, MAX_BATCH_ROWS)).combine_chunks().to_batches()


def _sort_on_disk(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    order: Sequence[str],
    batch_rows: int,
    memory_bytes: int,
    threads: int,
    scratch: Path,
) -> Closable:
    failures: list[BaseException] = []

    def source() -> Iterator[pa.RecordBatch]:
        """DuckDB turns what is raised here into a text; keep it, to raise it as it was."""
        try:
            yield from batches
        except BaseException as error:
            failures.append(error)
            raise

    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sort-", dir=scratch) as spill:
        con = duckdb.connect(config=_settings(memory_bytes, threads, spill))
        try:
            con.register("source", pa.RecordBatchReader.from_batches(schema, source()))
            columns = ", ".join(_quoted(name) for name in order)
            # con.sql streams; con.execute(...).to_arrow_reader would copy the whole result first.
            reader = con.sql(f"select * from source order by {columns}").to_arrow_reader(batch_rows)
            yield from conform(reader, schema, "sorter", "report this")
        except (duckdb.Error, pa.ArrowException, OSError):
            if failures:
                raise failures[0] from None
            raise
        finally:
            con.interrupt()
            con.close()


def _settings(memory_bytes: int, threads: int, spill: str) -> dict[str, str]:
    return {
        "memory_limit": f"{memory_bytes} B",
        "threads": str(threads),
        "temp_directory": spill,
        "preserve_insertion_order": "true",  # false gives Arrow readers unsorted rows (seen in 2.0.1)
        "arrow_large_buffer_size": "true",  # 64-bit offsets: a column may pass 2 GiB
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
