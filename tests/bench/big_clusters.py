"""Clusters of many documents out of made-up signatures, within a memory limit: time, CPU and peak of every step.

    python -m tests.bench.big_clusters [DOCUMENTS] [MEMORY] [--stars] [--folder DIR]

Not part of `python -m tests.bench`: 10,000,000 documents are 160,000,000 band rows and take some ten minutes and 10 GB
of disk. Four of every ten documents are near copies of each other, 8 % of their signature drawn anew; the others are
like none. Every candidate counts as an edge, since there is no text to compare. --stars finds components and keepers by
sorts, whatever memory there is.
"""

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.arrow import fixed_binaries
from corpus_assets.kernels.bands import BANDS, ROWS, band_keys
from corpus_assets.plans import connected
from corpus_assets.plans.work import buckets_for
from corpus_assets.stages import near_duplicates
from corpus_assets.stages.verify_pairs import EDGES
from formats.dataset import Dataset, write_shard
from resources.engine import parse_bytes
from resources.engines.contract import Dest, Task
from resources.engines.local import LocalEngine
from tests.conformance.big_sort import anonymous_bytes

HERE = "tests.bench.big_clusters"
_STAGE = "corpus_assets.stages.near_duplicates"
DOCUMENTS = pa.schema([("rank", pa.int64())])
SHARD_ROWS = 250_000
COPIES, FAMILY, REDRAWN = 4, 10, 0.08
SIGNATURE = BANDS * ROWS


def signatures_of(rank: np.ndarray) -> np.ndarray:
    """uint32 (n, 128): a function of the rank alone."""
    family = np.where(rank % FAMILY < COPIES, rank // FAMILY, -1 - rank).astype(np.uint64)
    place = np.arange(SIGNATURE, dtype=np.uint64)
    base = _mixed(family[:, None] * np.uint64(1_000_003) + place)
    own = _mixed(rank.astype(np.uint64)[:, None] * np.uint64(7_368_787) + place + np.uint64(1 << 60))
    redrawn = (own >> np.uint64(40)) < np.uint64(REDRAWN * 2**24)
    return np.where(redrawn, own, base).astype(np.uint32)


def _mixed(x: np.ndarray) -> np.ndarray:
    """The finalizer of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def band_rows(batch: pa.RecordBatch, *, parts_per_band: int) -> pa.RecordBatch:
    """DOCUMENTS -> BAND_ROWS, as the stage of that name cuts them."""
    rank = batch["rank"].to_numpy()
    keys = band_keys(fixed_binaries(signatures_of(rank)))
    part = (keys.view(np.uint64) >> np.uint64(40)).astype(np.int64) % parts_per_band
    bucket = np.arange(BANDS) * parts_per_band + part
    columns = [bucket.astype(np.int32).ravel(), keys.ravel(), np.repeat(rank, BANDS)]
    return pa.record_batch([pa.array(one) for one in columns], near_duplicates.BAND_ROWS)


def as_edges(batch: pa.RecordBatch) -> pa.RecordBatch:
    """PAIRS -> EDGES of one Jaccard."""
    return pa.record_batch([batch["a"], batch["b"], pa.repeat(pa.scalar(900_000), batch.num_rows)], EDGES)


def documents(folder: Path, count: int) -> Dataset:
    made = []
    for number, start in enumerate(range(0, count, SHARD_ROWS)):
        rank = pa.array(np.arange(start, min(count, start + SHARD_ROWS)))
        path = folder / f"{number}.parquet"
        rows = [pa.record_batch([rank], DOCUMENTS)]
        made.append(write_shard(number, path, rows, DOCUMENTS, row_group_bytes=1 << 20))
    return Dataset(DOCUMENTS, tuple(made))


@contextmanager
def watched(peak: list[int]) -> Iterator[None]:
    """Note the most anonymous memory of this process; its work is in threads."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            peak[0] = max(peak[0], anonymous_bytes())

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def measured(name: str, step: Callable[[], Any], rows: Callable[[Any], int]) -> Any:
    peak = [anonymous_bytes()]
    began, cpu = time.perf_counter(), time.process_time()
    with watched(peak):
        result = step()
    figures = {
        "step": name,
        "rows": rows(result),
        "wall_seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "peak_mib": peak[0] >> 20,
    }
    print(json.dumps(figures), flush=True)
    return result


def run(folder: Path, count: int, engine: LocalEngine, *, by_sorts: bool) -> None:
    """All steps; each one's input is removed once it is used up."""
    source = documents(folder / "documents", count)
    parts = {"parts_per_band": buckets_for(count)}
    banded = measured(
        "band table",
        lambda: engine.map_batches(
            source, Task(f"{HERE}:band_rows", parts), Dest(folder / "bands", near_duplicates.BAND_ROWS)
        ),
        lambda made: made.rows,
    )
    limits = {"max_bucket": 1000, "hot_keepers": 16, "num_buckets": buckets_for(banded.rows)}
    met = measured(
        "candidates",
        lambda: engine.sort_reduce(
            banded,
            Task(f"{_STAGE}:candidate_pairs", limits),
            Dest(folder / "met", near_duplicates.PAIRS),
            bucket="bucket",
            keys=("key", "rank"),
        ),
        lambda made: made.rows,
    )
    _remove(banded)
    once = measured(
        "each pair once",
        lambda: engine.sort_reduce(
            met,
            Task(f"{_STAGE}:once_each"),
            Dest(folder / "once", near_duplicates.PAIRS),
            bucket="bucket",
            keys=("a", "b", "band_bucket"),
        ),
        lambda made: made.rows,
    )
    _remove(met)
    found = engine.map_batches(once, Task(f"{HERE}:as_edges"), Dest(folder / "edges", EDGES))
    if by_sorts:
        rounds = measured(
            "star rounds", lambda: connected.stars(engine, found.select("a", "b"), folder), lambda m: m.rows
        )
        nodes, roots = connected.roots_of(rounds)
        small = _without_memory(engine)
    else:
        nodes, roots = measured(
            "components", lambda: connected.find_components(engine, found, folder), lambda made: len(made[0])
        )
        small = engine
    dropped = measured(
        "keepers", lambda: connected.find_keepers(small, found, count, folder), lambda made: len(made[0])
    )
    clusters = len(np.unique(roots))
    print(json.dumps({"documents": count, "in_clusters": len(nodes), "clusters": clusters, "dropped": len(dropped[0])}))


def _without_memory(engine: LocalEngine) -> Any:
    """The engine, for plans that choose by its memory: it has none."""
    made = replace(engine)
    object.__setattr__(made, "memory_bytes", 0)
    return made


def _remove(used: Dataset) -> None:
    for shard in used.shards:
        Path(shard.path).unlink()


def main() -> None:
    about, _, how = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser("python -m tests.bench.big_clusters", description=about, epilog=how)
    parser.add_argument("documents", nargs="?", type=int, default=10_000_000)
    parser.add_argument("memory", nargs="?", default="1GiB", help="of one sort (default: 1GiB)")
    parser.add_argument("--stars", action="store_true")
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corpus-bench-", dir=args.folder) as scratch:
        folder = Path(scratch)
        engine = LocalEngine(
            scratch=folder / "spills", workers=2, memory_bytes=parse_bytes(args.memory), processes=False
        )
        run(folder, args.documents, engine, by_sorts=args.stars)


if __name__ == "__main__":
    main()
