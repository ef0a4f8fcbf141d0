"""The tasks and datasets of the conformance suite. Tasks are found by name, also from worker processes."""

import errno
import os
import signal
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from formats.dataset import Dataset, write_shard
from formats.errors import CorruptDataError
from resources.engines import worker
from resources.engines.streams import Stop

ROWS = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("id", pa.large_string(), nullable=False),
        pa.field("number", pa.int64(), nullable=False),
        pa.field("text", pa.large_string()),
    ]
)
"""Rows with text: sorted as runs."""
BANDS = pa.schema([("bucket", pa.int32()), ("key", pa.int64()), ("doc", pa.int64())])
"""Rows of numbers alone: sorted narrow."""
LENGTHS = pa.schema([("id", pa.large_string()), ("num_bytes", pa.int64()), ("tag", pa.large_string())])
SUMS = pa.schema([("bucket", pa.int32()), ("rows", pa.int64()), ("first", pa.int64()), ("last", pa.int64())])

HERE = "tests.conformance.workload"


def dataset_of(folder: Path, schema: pa.Schema, shards: dict[int, list[dict[str, Any]]], group_bytes: int) -> Dataset:
    """A dataset with the given rows in the shards of the given ids, in small row groups."""
    made = []
    for number, rows in shards.items():
        batches = pa.Table.from_pylist(rows, schema).to_batches()
        made.append(
            write_shard(number, folder / f"part-{number:05d}.parquet", batches, schema, row_group_bytes=group_bytes)
        )
    return Dataset(schema, tuple(made))


def documents(seed: int, rows: int, buckets: int = 5) -> list[dict[str, Any]]:
    """Rows in random order: ids that sort by bytes, not by number; texts of 0 to some thousand bytes, some null."""
    rng = np.random.default_rng(seed)
    letters = ["a", "é", "\x00", "漢", "😀", " "]
    return [
        {
            "bucket": int(rng.integers(buckets)) * 3,
            "id": f"src:{seed}-{number}",
            "number": int(number),
            "text": None if number % 17 == 0 else letters[number % 6] * int(rng.integers(0, 400)),
        }
        for number in rng.permutation(rows)
    ]


def lengths(batch: pa.RecordBatch, *, tag: str, extra: str = "") -> pa.RecordBatch:
    """One row a row: how long its text is."""
    size = pc.fill_null(pc.binary_length(batch["text"]), -1).cast(pa.int64())
    return pa.record_batch(
        [batch["id"], size, pa.repeat(pa.scalar(tag + extra, pa.large_string()), len(batch))], LENGTHS
    )


def keep_listed(batch: pa.RecordBatch, listed: pa.Table, *more: pa.Table) -> pa.RecordBatch:
    """The rows whose number a side lists."""
    numbers = pa.concat_tables([listed, *more])["number"].combine_chunks()
    return batch.filter(pc.is_in(batch["number"], value_set=numbers))


def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Every row two times."""
    return batch.take(pa.array(np.repeat(np.arange(len(batch)), 2)))


def without(batch: pa.RecordBatch, *, name: str) -> pa.RecordBatch:
    """The rows with nulls in one column."""
    at = batch.schema.names.index(name)
    return batch.set_column(at, name, pa.nulls(len(batch), batch.schema.field(at).type))


def as_is(_bucket: int, batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    yield from batches


def count(bucket: int, batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    """One row a bucket, O(1) state; notes how many rows and buckets there were."""
    rows, first, last = 0, None, 0
    for batch in batches:
        numbers = batch.column(batch.schema.names[2])
        first = numbers[0].as_py() if first is None else first
        last = numbers[-1].as_py()
        rows += len(batch)
    yield pa.record_batch([[bucket], [rows], [first], [last]], SUMS)
    return {"rows": rows, "buckets": 1}


def first_rows(_bucket: int, batches: Iterable[pa.RecordBatch], *, rows: int) -> Iterable[pa.RecordBatch]:
    """Stops early, in the middle of a bucket."""
    for batch in batches:
        part = batch.slice(0, rows)
        rows -= len(part)
        yield part
        if rows == 0:
            return


def nothing(_bucket: int, _batches: Iterable[pa.RecordBatch]) -> Sequence[pa.RecordBatch]:
    return ()


def wrong_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(["id"])


def null_ids(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [pa.nulls(len(batch), f.type) if f.name == "id" else batch[f.name] for f in batch.schema]
    return pa.record_batch(columns, batch.schema.names)


def refuse(batch: pa.RecordBatch) -> pa.RecordBatch:
    raise CorruptDataError("page.html", "charset", "utf-8", "latin-1", f"fetch it again ({len(batch) > 0})")


def refuse_bucket(bucket: int, batches: Iterable[pa.RecordBatch], *, at: int) -> Iterable[pa.RecordBatch]:
    for batch in batches:
        if bucket == at:
            raise CorruptDataError("bucket", "number", "another", bucket, "try again")
        yield batch


class ForeignError(Exception):
    """Cannot be unpickled: its arguments are not what its constructor takes."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(f"{words} [{code}]")


def fail_foreign(_batch: pa.RecordBatch) -> pa.RecordBatch:
    raise ForeignError("the parser gave up", 3)


def die(batch: pa.RecordBatch) -> pa.RecordBatch:
    """What the kernel does to a process that takes too much memory."""
    if batch.num_rows:
        os.kill(os.getpid(), signal.SIGKILL)
    return batch


def thread_counts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The thread limits that the process running this sees."""
    counts = [os.environ.get(name, "unset") for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")]
    return batch.slice(0, 1).set_column(1, batch.schema.field("id"), pa.array([",".join(counts)], pa.large_string()))


def tell(port: int) -> None:
    """Tell the test which process this is."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"{os.getpid()}\n".encode())


def tell_and_wait(batch: pa.RecordBatch, *, port: int) -> pa.RecordBatch:
    """Stand in the middle of a shard until the run is over."""
    tell(port)
    assert worker.stop is not None
    while not worker.stop.is_set():
        time.sleep(0.005)
    return batch


def tell_and_wait_in_bucket(_bucket: int, batches: Iterable[pa.RecordBatch], *, port: int) -> Iterable[pa.RecordBatch]:
    """Stand in the middle of a bucket until a signal comes."""
    for batch in batches:
        yield batch
        tell(port)
        threading.Event().wait()


def begin(item: tuple[str, int], stop: Stop) -> int:
    """An item for the pool: item 0 fails, the others go on until the run is over."""
    folder, number = item
    (Path(folder) / str(number)).touch()
    if number == 0:
        raise CorruptDataError("item", "order", "to go on", "told to fail", "do not tell it")
    while not stop.is_set():
        time.sleep(0.001)
    return number


def kill_executor_once(batches: Iterable[pa.RecordBatch], *, marker: str) -> Iterable[pa.RecordBatch]:
    """In the middle of a bucket or shard, what a machine that is lost does to Spark: the first to come here kills the
    JVM that it works for.
    """
    for batch in batches:
        yield batch
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        os.kill(_executor(os.getpid()), signal.SIGKILL)


def reduce_and_kill_once(bucket: int, batches: Iterable[pa.RecordBatch], *, marker: str) -> Iterable[pa.RecordBatch]:
    """The rows of the bucket as they are."""
    yield from as_is(bucket, kill_executor_once(batches, marker=marker))


def map_and_kill_once(batch: pa.RecordBatch, *, marker: str) -> pa.RecordBatch:
    """Every row two times."""
    (same,) = kill_executor_once([batch], marker=marker)
    return twice(same)


def _executor(pid: int) -> int:
    """The executor above a Python worker: no other JVM may be hit."""
    while "CoarseGrainedExecutorBackend" not in (command := Path(f"/proc/{pid}/cmdline").read_text()):
        assert pid > 1, f"no executor above this process, but {command!r}"
        stat = Path(f"/proc/{pid}/stat").read_text()
        pid = int(stat.rpartition(")")[2].split()[1])
    return pid


def full_disk(
    shard_id: int, path: Path, batches: Iterable[pa.RecordBatch], _schema: pa.Schema, *, row_group_bytes: int
) -> None:
    """A writer on a disk that has no room."""
    for _ in batches:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    raise AssertionError(f"no rows for shard {shard_id}, groups of {row_group_bytes}")
