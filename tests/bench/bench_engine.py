"""The embedded engine: map throughput by workers, sort throughput and peak memory by budget.

python -m tests.bench.bench_engine [MB_OF_TEXT] [MILLION_BANDS]

Each case runs in a process of its own. CPU seconds count that process and its workers; the peak is anonymous memory
(Anonymous of smaps_rollup, sampled) of the whole process tree. Maps run the text signals, or pass their rows on as they
are; sorts write their rows back.
"""

import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.text_signals import text_signals
from formats.dataset import Dataset, write_shard
from resources.engines.contract import Dest, Task
from resources.engines.local import LocalEngine

MIB = 1024 * 1024
DOCUMENTS = pa.schema([("bucket", pa.int32()), ("id", pa.large_string()), ("text", pa.large_string())])
BANDS = pa.schema([("bucket", pa.int32()), ("key", pa.int64()), ("doc", pa.int64())])
SHARDS = 8
HERE = "tests.bench.bench_engine"


def measure(batch: pa.RecordBatch) -> pa.RecordBatch:
    """All text signals, so that the kernels' work is real; the rows go on."""
    text_signals(batch["text"])
    return batch


def as_is(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def rows(_bucket, batches):  # type: ignore[no-untyped-def]
    yield from batches


def documents(folder: Path, num_bytes: int, mean_bytes: int) -> Dataset:
    """Word salad, lengths drawn from an exponential distribution, ids in random order."""
    draws = np.random.default_rng(1)
    stems = ["the", "of", "and", "region", "water", "market", "station", "people"]
    words = [stem + end for stem in stems for end in ("", "s", "ing", "ed")]
    shards = []
    for shard in range(SHARDS):
        batches, done = [], 0
        while done < num_bytes // SHARDS:
            sizes = draws.exponential(mean_bytes / 6.5, 256).astype(int) + 1
            texts = [" ".join(draws.choice(words, n)) for n in sizes]
            ids = [f"web:{k}" for k in draws.integers(0, 2**60, len(texts))]
            buckets = pa.array(draws.integers(0, 16, len(texts)), pa.int32())
            batches.append(
                pa.record_batch(
                    [buckets, pa.array(ids, pa.large_string()), pa.array(texts, pa.large_string())], DOCUMENTS
                )
            )
            done += batches[-1].nbytes
        shards.append(write_shard(shard, folder / f"{shard}.parquet", batches, DOCUMENTS, row_group_bytes=32 * MIB))
    return Dataset(DOCUMENTS, tuple(shards))


def bands(folder: Path, num_rows: int) -> Dataset:
    draws = np.random.default_rng(2)
    shards = []
    for shard in range(SHARDS):
        n = num_rows // SHARDS
        keys, docs = draws.integers(-(2**62), 2**62, n), np.arange(n) + shard * n
        batch = pa.record_batch([pa.array((keys & 15).astype(np.int32)), pa.array(keys), pa.array(docs)], BANDS)
        shards.append(write_shard(shard, folder / f"{shard}.parquet", [batch], BANDS, row_group_bytes=32 * MIB))
    return Dataset(BANDS, tuple(shards))


class Tree:
    """What a process and all below it have used: CPU seconds by process, and the peak of their memory together."""

    def __init__(self, root: int) -> None:
        self.root, self.cpu, self.peak_bytes = root, {}, 0  # type: ignore[var-annotated]

    def look(self) -> None:
        children: dict[int, list[int]] = {}
        ticks: dict[int, int] = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except OSError:  # it ended meanwhile
                continue
            process = int(stat.parent.name)
            children.setdefault(int(fields[1]), []).append(process)
            ticks[process] = int(fields[11]) + int(fields[12])
        todo, total = [self.root], 0
        while todo:
            process = todo.pop()
            todo += children.get(process, [])
            self.cpu[process] = max(self.cpu.get(process, 0), ticks.get(process, 0) / os.sysconf("SC_CLK_TCK"))
            try:
                lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Anonymous:"))
        self.peak_bytes = max(self.peak_bytes, total)


def _case(work: Callable[[], Dataset], answer) -> None:  # type: ignore[no-untyped-def]
    start = time.perf_counter()
    digest = work().digest
    answer.put((time.perf_counter() - start, digest))


def run(name: str, work: Callable[[], Dataset], num_bytes: int) -> None:
    context = multiprocessing.get_context("fork")
    answer, over = context.SimpleQueue(), threading.Event()
    process = context.Process(target=_case, args=(work, answer))
    process.start()
    tree = Tree(process.pid or 0)

    def watch() -> None:
        while not over.wait(0.02):
            tree.look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    wall, digest = answer.get()
    over.set()
    watcher.join()
    process.join()
    cpu, size = sum(tree.cpu.values()), num_bytes / 1e6
    print(
        f"{name:40} {wall:6.1f} s wall {cpu:6.1f} s CPU {size / wall:7.1f} MB/s {size / cpu:7.1f} MB/CPU-s "
        f"{tree.peak_bytes / MIB:6.0f} MiB  {digest[:8]}",
        flush=True,
    )


def main() -> None:
    text_mb = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    millions = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    root = Path(tempfile.mkdtemp(prefix="bench-engine-"))
    out = root / "out"
    try:
        thin = documents(root / "thin", text_mb * 10**6, 2_000)
        fat = documents(root / "fat", text_mb * 10**6, 100_000)
        numbers = bands(root / "bands", millions * 10**6)
        print(f"{text_mb} MB of text, {millions} million bands; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")

        def engine(workers: int, memory: int, processes: bool = False) -> LocalEngine:
            return LocalEngine(
                scratch=root / "scratch", workers=workers, memory_bytes=memory * MIB, processes=processes
            )

        for task in ("measure", "as_is"):
            for workers, processes in ((1, False), (2, False), (2, True)):
                kind = "processes" if processes else "threads"
                made = engine(workers, 1024, processes)
                job = Task(f"{HERE}:{task}")
                run(
                    f"map {task}, {workers} {kind}",
                    lambda m=made, j=job: m.map_batches(thin, j, Dest(out, DOCUMENTS)),
                    text_mb * 10**6,
                )  # type: ignore[misc]
        for label, source, keys, size in (
            ("2 KB documents", thin, ["id"], text_mb * 10**6),
            ("100 KB documents", fat, ["id"], text_mb * 10**6),
            ("bands", numbers, ["key", "doc"], millions * 20 * 10**6),
        ):
            for workers, memory in ((1, 1024), (2, 1024), (2, 256), (2, 128)):
                made = engine(workers, memory)
                run(
                    f"sort {label}, {workers} threads, {memory} MiB",
                    lambda m=made, s=source, k=keys: m.sort_reduce(  # type: ignore[misc]
                        s, Task(f"{HERE}:rows"), Dest(out, s.schema), bucket="bucket", keys=k
                    ),
                    size,
                )
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
