"""The loader beside a bare copy from a memory map, and beside other loaders on the same sequences of 4,096 uint16 ids.

litdata, mosaicml-streaming and grain answer where LOADER_PEERS_PYTHON names an interpreter that has them; they take the
first bucket in order, then all four with the same weights. Every shard was verified before, which is once a machine;
what that costs has a row of its own. All is in the page cache. How right: what each does when the number of ranks
changes in the middle of an epoch (world_change.py).
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from formats import durable
from formats.loader.blocks import Rooms
from formats.loader.data_loader import DataLoader
from formats.loader.settings import ReadSettings
from formats.order import state
from formats.order.mixture import Mixture, mixture_table
from formats.order.order import Order
from formats.snapshot import manifest, token_shard
from formats.snapshot.manifest import Snapshot, TokenShard
from tests.bench import measure, world_change
from tests.bench.documents import Corpus
from tests.bench.measure import Case, Prepared, Quality, Row
from tests.formats.order.made_orders import huge
from tests.formats.snapshot.made_snapshots import document_of

BENCH = "bench_loader"
LOADER_PEERS_PYTHON = "LOADER_PEERS_PYTHON"
SEQ_LEN, BATCH = 4096, 1024
WEIGHTS = {"a": 4, "b": 2, "c": 1, "d": 1}
MANY_SHARDS, FAR = 10_000, 10**10
RUN = {"seed": 1, "dp_rank": 0, "seq_len": SEQ_LEN}


def made(corpus: Corpus) -> Snapshot:
    """Four buckets of two shards with random ids, 500 MB at full size; stored once for all cases."""
    root = corpus.scratch / "loader"
    if not (root / "id").exists():
        shutil.rmtree(root, ignore_errors=True)
        draw, folder, shards = np.random.default_rng(0), root / "snapshots" / "being-made", []
        for bucket in WEIGHTS:
            for number in range(2):
                sequences = draw.integers(0, 50_000, (max(64, corpus.sizes.slice // 1500), SEQ_LEN)).astype("<u2")
                columns = [[0], [sequences.size], [0], ["made:0"]]
                index = pa.table(dict(zip(token_shard.INDEX.names, columns, strict=True)), token_shard.INDEX)
                shards.append(token_shard.write(folder, "train", bucket, number, sequences, index))
        snapshot_id = manifest.write(folder, document_of(shards, seq_len=SEQ_LEN))
        folder.rename(manifest.folder_of(root, snapshot_id))
        durable.write_file(root / "id", snapshot_id.encode())
    return manifest.read(root, (root / "id").read_text())


def _loader(corpus: Corpus, weights: dict[str, int], folder: Path | None) -> DataLoader:
    snapshot = made(corpus)
    batch = min(BATCH, _num_sequences(snapshot) // 4)
    settings = ReadSettings(cache_folder=folder)
    root = corpus.scratch / "loader"
    return DataLoader(root, snapshot.snapshot_id, mixture=weights, batches=batch, dp_world=1, settings=settings, **RUN)


def _num_sequences(snapshot: Snapshot) -> int:
    return sum(shard.sequences for shard in snapshot.shards("train"))


def _served(corpus: Corpus, weights: dict[str, int]) -> Prepared:
    """From the second pass on: shards are verified and open, and memory is used again."""
    loader = _loader(corpus, weights, corpus.scratch / "verified")
    num_steps = 3 * _num_sequences(loader.snapshot) // loader.steps.batch(0)

    def work() -> int:
        return sum(len(next(loader).tokens) for _ in range(num_steps))

    return Prepared(work, work())


def mixture(corpus: Corpus) -> Prepared:
    return _served(corpus, WEIGHTS)


def one_bucket(corpus: Corpus) -> Prepared:
    return _served(corpus, {"a": 1})


def unverified(corpus: Corpus) -> Prepared:
    """One pass over shards that nobody verified before."""
    snapshot = made(corpus)
    num = _num_sequences(snapshot)

    def work() -> None:
        with _loader(corpus, WEIGHTS, None) as loader:
            for _ in range(num // loader.steps.batch(0)):
                next(loader)

    return Prepared(work, num // min(BATCH, num // 4) * min(BATCH, num // 4))


def same_rows(corpus: Corpus) -> Prepared:
    """The rows of the mixture, in its order, each copied from its memory map into a batch."""
    snapshot = made(corpus)
    maps = [np.asarray(token_shard.open_sequences(snapshot, shard)) for shard in snapshot.shards("train")]
    order = Order(snapshot.buckets("train"), 1, [Mixture(0, WEIGHTS)])
    shard, row = (column.tolist() for column in order.shards(np.arange(_num_sequences(snapshot))))
    batch = Rooms().take((BATCH, SEQ_LEN), snapshot.dtype)

    def work() -> None:
        for i, (s, r) in enumerate(zip(shard, row, strict=True)):
            batch[i % BATCH] = maps[s][r]

    work()
    return Prepared(work, len(row))


def end_to_end(corpus: Corpus) -> Prepared:
    """Each shard from its beginning to its end, a batch at once: no order, no mixture."""
    snapshot = made(corpus)
    maps = [np.asarray(token_shard.open_sequences(snapshot, shard)) for shard in snapshot.shards("train")]
    batch = Rooms().take((BATCH, SEQ_LEN), snapshot.dtype)

    def work() -> None:
        for rows in maps:
            for at in range(0, len(rows), BATCH):
                some = rows[at : at + BATCH]
                batch[: len(some)] = some

    work()
    return Prepared(work, _num_sequences(snapshot))


def _positions(of: Callable[[int], np.ndarray]) -> Prepared:
    """Millions of positions with their shards, of 10,000 shards and 3.7e9 sequences."""
    order, asked = huge(), [of(FAR + (i << 20)) for i in range(4)]
    order.shards(asked[0])
    return Prepared(lambda: [order.shards(positions) for positions in asked], sum(map(len, asked)) / 1e6)


def all_ranks(_: Corpus) -> Prepared:
    return _positions(lambda start: np.arange(start, start + (1 << 20)))


def one_rank(_: Corpus) -> Prepared:
    return _positions(lambda start: np.arange(start, start + (1 << 20), 8))


CASES = {
    "loader, a mixture of four": Case(mixture, 250_000, unit="samples"),
    "memmap copy, the same rows": Case(same_rows, peer_of="loader, a mixture of four", unit="samples"),
    "memmap copy, end to end": Case(end_to_end, peer_of="loader, a mixture of four", unit="samples"),
    "loader, one bucket": Case(one_bucket, unit="samples"),
    "loader, a mixture, every shard hashed first": Case(unverified, unit="samples"),
    "order, positions of all ranks": Case(all_ranks, 5, unit="M"),
    "order, positions of one rank of 8": Case(one_rank, unit="M"),
}


def rows(corpus: Corpus) -> Iterator[Row]:
    medians: dict[str, float] = {}
    for row in measure.run_cases(BENCH, CASES, corpus):
        medians[row.name] = row.median
        yield row
    copied = medians["loader, a mixture of four"] / medians["memmap copy, the same rows"]
    yield Row(BENCH, "loader, share of the memmap copy of its rows", "", (copied,), 0.7)
    resumed, waited = zip(*_resumes(corpus), strict=True)
    note = f"{statistics.median(waited):.0f} ms by the clock"
    yield Row(
        BENCH, "resume at 1e10 in 10,000 shards, 1 rank of 1,024", "CPU ms", resumed, 100, is_cost=True, note=note
    )
    disk = sum(path.stat().st_size for path in made(corpus).folder.rglob("*") if path.is_file())
    sequences = _num_sequences(made(corpus))
    yield Row(BENCH, "bytes on disk a sequence", "", (disk / sequences,))
    if python := os.environ.get(LOADER_PEERS_PYTHON):
        for peer in ("litdata", "streaming", "grain"):
            yield from _peer(python, peer, corpus, medians, resumed, disk / sequences)


def quality(corpus: Corpus) -> Iterator[Quality]:
    yield from world_change.rows(BENCH, corpus.scratch, os.environ.get(LOADER_PEERS_PYTHON))


def _resumes(corpus: Corpus) -> Iterator[tuple[float, float]]:
    """Milliseconds (of the CPU, by the clock) of five new loaders, from loaded libraries to the first batch."""
    root = corpus.scratch / "many"
    snapshot_id = _many_shards(corpus)
    weights = {bucket: i + 1 for i, bucket in enumerate(_names())}
    run = {**RUN, "seq_len": 8, "batches": BATCH, "dp_world": BATCH, "mixture": weights}
    settings = ReadSettings(cache_folder=corpus.scratch / "verified")
    with DataLoader(root, snapshot_id, settings=settings, **run) as loader:
        saved = state.state_dict(loader.order, loader.steps, snapshot_id, FAR // BATCH)
    for _ in range(5):
        mixture_table.cache_clear()
        start, clock = time.process_time(), time.perf_counter()
        with DataLoader(root, snapshot_id, settings=settings, **run) as loader:
            loader.load_state_dict(saved)
            next(loader)
            yield 1e3 * (time.process_time() - start), 1e3 * (time.perf_counter() - clock)


def _names() -> list[str]:
    return [f"bucket-{b:02}" for b in range(24)]


@cache
def _many_shards(corpus: Corpus) -> str:
    """A snapshot of shards with 370,001 short sequences each, 3.7e9 in all, in sparse files."""
    root = corpus.scratch / "many"
    folder, shards, digests = root / "snapshots" / "being-made", list[TokenShard](), dict[int, str]()
    for b, bucket in enumerate(_names()):
        for number in range(MANY_SHARDS // len(_names())):
            path = folder / f"train/{bucket}/{number:05d}.bin"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.truncate((370_001 + b) * 16)
            if b not in digests:
                digests[b] = durable.sha256_of(path)
            shards.append(TokenShard("train", bucket, number, 370_001 + b, 1, 1, digests[b], "0" * 64))
    snapshot_id = manifest.write(folder, document_of(shards))
    folder.rename(manifest.folder_of(root, snapshot_id))
    return snapshot_id


def _peer(
    python: str, peer: str, corpus: Corpus, ours: dict[str, float], resumed: tuple[float, ...], disk: float
) -> Iterator[Row]:
    """A peer on the first shard of each bucket, at most 4,096 rows of it."""
    snapshot = made(corpus)
    parts = [
        token_shard.open_sequences(snapshot, shard)[:4096] for shard in snapshot.shards("train") if shard.number == 0
    ]
    with tempfile.TemporaryDirectory(dir=corpus.scratch) as scratch:
        data = Path(scratch) / "ids.bin"
        np.concatenate(parts).tofile(data)
        told = {
            "peer": peer, "data": str(data), "seq_len": SEQ_LEN, "buckets": [len(part) for part in parts],
            "weights": list(WEIGHTS.values()), "scratch": scratch, "num": len(parts[0]),
        }  # fmt: skip
        run = [python, str(Path(__file__).with_name("loader_peers_program.py"))]
        answer = json.loads(
            subprocess.run(run, input=json.dumps(told), capture_output=True, check=True, text=True).stdout
        )
    for name, what in (("loader, a mixture of four", "mixture"), ("loader, one bucket", "sequential")):
        value = answer[what]
        yield Row(BENCH, f"{peer}, {what}", "samples/CPU s", (value,), peer_of=name, ratio=ours[name] / value)
    num = sum(map(len, parts))
    middle = statistics.median(resumed) / answer["resume"]
    yield Row(
        BENCH, f"{peer}, resume in {num:,} samples", "CPU ms", (answer["resume"],), peer_of="resume", ratio=middle
    )
    size = answer["bytes"] / num
    yield Row(BENCH, f"{peer}, bytes on disk a sequence", "", (size,), peer_of="bytes", ratio=disk / size)
