"""The embedded engine: maps and sorts by workers and memory budget. Sorts write their rows back."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.text_signals import text_signals
from formats.dataset import Dataset, open_folder, write_manifest, write_shard
from resources.engines.contract import Dest, Task
from resources.engines.local import LocalEngine
from tests.bench.documents import Corpus, megabytes
from tests.bench.measure import Case, Prepared, Row, run_cases

BENCH = "bench_engine"
HERE = "tests.bench.bench_engine"
MIB = 1024 * 1024
SHARDS = 8
"""Each holds the slice once."""
BANDS_PER_BYTE, BAND_BYTES = 0.16, 20
DOCUMENTS = pa.schema([("bucket", pa.int32()), ("id", pa.large_string()), ("text", pa.large_string())])
BANDS = pa.schema([("bucket", pa.int32()), ("key", pa.int64()), ("doc", pa.int64())])
SPEEDUP = 1.8


def signals(batch: pa.RecordBatch) -> pa.RecordBatch:
    """All text signals, so that the kernels' work is real; the rows go on."""
    text_signals(batch["text"])
    return batch


def as_is(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def rows_again(_bucket, batches):
    yield from batches


def _stored(folder: Path, schema: pa.Schema, shard: Callable[[int], pa.RecordBatch]) -> Dataset:
    """A dataset of SHARDS shards, made once for all cases."""
    if not folder.exists():
        temporary = folder.with_suffix(".tmp")
        made = [
            write_shard(i, temporary / f"{i}.parquet", [shard(i)], schema, row_group_bytes=32 * MIB)
            for i in range(SHARDS)
        ]
        write_manifest(temporary, Dataset(schema, tuple(made)), {})
        temporary.rename(folder)
    return open_folder(folder, schema)


def texts(corpus: Corpus) -> Dataset:
    text, draws = corpus.text(), np.random.default_rng(1)

    def shard(_number: int) -> pa.RecordBatch:
        ids = pa.array([f"web:{k}" for k in draws.integers(0, 2**60, len(text))], pa.large_string())
        return pa.record_batch([pa.array(draws.integers(0, 16, len(text)), pa.int32()), ids, text], DOCUMENTS)

    return _stored(corpus.scratch / "texts", DOCUMENTS, shard)


def bands(corpus: Corpus) -> Dataset:
    draws, n = np.random.default_rng(2), int(corpus.sizes.slice * BANDS_PER_BYTE) // SHARDS

    def shard(number: int) -> pa.RecordBatch:
        keys, docs = draws.integers(-(2**62), 2**62, n), np.arange(n) + number * n
        return pa.record_batch([pa.array((keys & 15).astype(np.int32)), pa.array(keys), pa.array(docs)], BANDS)

    return _stored(corpus.scratch / "bands", BANDS, shard)


def _engine(corpus: Corpus, workers: int, memory: int = 1024, processes: bool = False) -> LocalEngine:
    spills = corpus.scratch / "spills"
    return LocalEngine(scratch=spills, workers=workers, memory_bytes=memory * MIB, processes=processes)


def _map(task: str, workers: int, processes: bool = False) -> Callable[[Corpus], Prepared]:
    def prepare(corpus: Corpus) -> Prepared:
        source, engine = texts(corpus), _engine(corpus, workers, processes=processes)
        signals(pa.record_batch([corpus.text()[:2]], ["text"]))
        out = Dest(corpus.scratch / "mapped", DOCUMENTS)
        job = Task(f"{HERE}:{task}")
        return Prepared(lambda: engine.map_batches(source, job, out), SHARDS * megabytes(corpus.text()))

    return prepare


def _sort(source_of: Callable[[Corpus], Dataset], keys: list[str], memory: int) -> Callable[[Corpus], Prepared]:
    def prepare(corpus: Corpus) -> Prepared:
        source, engine = source_of(corpus), _engine(corpus, 1, memory)
        out, job = Dest(corpus.scratch / "sorted", source.schema), Task(f"{HERE}:rows_again")
        is_text = source.schema == DOCUMENTS
        size = SHARDS * megabytes(corpus.text()) if is_text else source.rows * BAND_BYTES / 1e6
        return Prepared(lambda: engine.sort_reduce(source, job, out, bucket="bucket", keys=keys), size)

    return prepare


ONE, THREADS, PROCESSES = (f"map, text signals, {who}" for who in ("1 worker", "2 threads", "2 processes"))
CASES = {
    "map, rows as they are, 1 worker": Case(_map("as_is", 1)),
    "map, text signals, 1 worker": Case(_map("signals", 1)),
    "sort documents, 1 GiB": Case(_sort(texts, ["id"], 1024)),
    "sort documents, 64 MiB": Case(_sort(texts, ["id"], 64)),
    "sort bands, 1 GiB": Case(_sort(bands, ["key", "doc"], 1024)),
    "sort bands, 64 MiB": Case(_sort(bands, ["key", "doc"], 64)),
    f"{ONE}, wall": Case(_map("signals", 1), clock="wall"),
    f"{THREADS}, wall": Case(_map("signals", 2), clock="wall"),
    f"{PROCESSES}, wall": Case(_map("signals", 2, True), clock="wall"),
}


def rows(corpus: Corpus) -> Iterator[Row]:
    wall: dict[str, float] = {}
    for row in run_cases(BENCH, CASES, corpus):
        yield row
        wall[row.name] = row.median
    for who, name in (("threads", THREADS), ("processes", PROCESSES)):
        gain = wall[f"{name}, wall"] / wall[f"{ONE}, wall"]
        load = f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        yield Row(BENCH, f"map, 2 {who} against 1 worker", "times, wall", (gain,), SPEEDUP, note=load)
