"""Sort rows within a memory budget: in memory when they are few, else out of core.

Narrow rows go through DuckDB, which spills. Rows with text go to sorted runs on disk, and DuckDB orders only their keys
(`runs.py`): DuckDB 2.0.1 fails with "out of memory" on a 1 GB sort of 50 KB documents under a limit of 1 GiB.
DuckDB is only the sorter: batches go in and come out through Arrow, and it touches no file but its own spill.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from formats.errors import ConfigError
from formats.row_groups import row_sizes
from resources.engines.contract import Batches
from resources.engines.row_batches import BATCH_BYTES, conform, cuts
from resources.engines.scratch import spill_folder
from resources.engines.streams import Stream

MAX_BATCH_ROWS = 65_536
IN_MEMORY_ROWS = 262_144
"""Up to here pyarrow's one thread is done before DuckDB has started (measured: tests/bench/bench_engine.py)."""
IN_MEMORY_SHARE = 8
"""A sort in memory needs about three times its input; the input may take 1/8 of the budget."""


def sort_narrow(
    batches: Batches, schema: pa.Schema, order: Sequence[str], *, memory_bytes: int, threads: int, scratch: Path
) -> Stream:
    """All rows, ascending by the columns of `order`: integers by value, strings and binaries by bytes.

    Raises ConfigError when DuckDB cannot hold even its working set in the budget.
    """
    held: list[pa.RecordBatch] = []
    rows, num_bytes = 0, 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        num_bytes += batch.nbytes
        if rows > IN_MEMORY_ROWS or num_bytes > memory_bytes // IN_MEMORY_SHARE:
            batch_rows = max(1, min(MAX_BATCH_ROWS, BATCH_BYTES * rows // max(1, num_bytes)))
            rest = chain(let_go(held), batches)
            yield from _sort_on_disk(rest, schema, order, batch_rows, memory_bytes, threads, scratch)
            return
    yield from sort_in_memory(held, schema, order, BATCH_BYTES)


def let_go(held: list[pa.RecordBatch]) -> Batches:
    """The batches in order, each freed once it is passed on."""
    held.reverse()
    while held:
        yield held.pop()


def sort_in_memory(held: list[pa.RecordBatch], schema: pa.Schema, order: Sequence[str], max_bytes: int) -> Stream:
    """The rows of `held`, which is emptied, sorted, in batches of at most `max_bytes` (a longer row comes alone)."""
    table = pa.Table.from_batches(held, schema).combine_chunks()
    held.clear()
    if table.num_rows == 0:
        return
    indices = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in order])
    sizes = np.concatenate([row_sizes(batch) for batch in table.to_batches()])[indices.to_numpy()]
    for start, stop in cuts(sizes, max_bytes, MAX_BATCH_ROWS):
        yield from table.take(indices.slice(start, stop - start)).combine_chunks().to_batches()


def _sort_on_disk(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    order: Sequence[str],
    batch_rows: int,
    memory_bytes: int,
    threads: int,
    scratch: Path,
) -> Stream:
    import duckdb  # takes as long to load as most sorts take, and few sorts need it

    failures: list[BaseException] = []

    def source() -> Iterator[pa.RecordBatch]:
        """DuckDB turns what is raised here into a text; keep it, to raise it as it was."""
        try:
            yield from batches
        except BaseException as error:  # raised again below
            failures.append(error)
            raise

    with spill_folder(scratch) as spill:
        con = duckdb.connect(config=_settings(memory_bytes, threads, spill))
        try:
            con.register("source", pa.RecordBatchReader.from_batches(schema, source()))
            columns = ", ".join(_quoted(name) for name in order)
            # con.sql streams; con.execute(...).to_arrow_reader would copy the whole result first.
            reader = con.sql(f"select * from source order by {columns}").to_arrow_reader(batch_rows)
            yield from conform(reader, schema, "sorter", "report this")
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            if failures:
                raise failures[0] from None
            if "Out of Memory" in str(error):
                raise ConfigError(
                    f"a sort by {columns} does not fit into {memory_bytes} bytes of memory; give the engine more memory"
                ) from error
            raise
        finally:
            con.close()


def _settings(memory_bytes: int, threads: int, spill: Path) -> dict[str, str]:
    return {
        "memory_limit": f"{memory_bytes * 3 // 4} B",  # the process takes more than what DuckDB counts
        "threads": str(threads),
        "temp_directory": str(spill),
        "preserve_insertion_order": "true",  # false gives Arrow readers unsorted rows (seen in 2.0.1)
        "arrow_large_buffer_size": "true",  # 64-bit offsets: a column may pass 2 GiB
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
