"""How the time of near dedup grows with the number of documents: the same stages over signatures made from a seed.

Texts play no part: the band sort, candidate pairs, components and the keeper walk are those of a build whose bands do
not fit into memory, whatever there is here. A fifth of the documents are near copies of an earlier one.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.arrow import fixed_binaries
from corpus_assets.kernels.components import components, keeper_walk
from corpus_assets.plans import candidates
from corpus_assets.stages import keeper_order, near_duplicates
from corpus_assets.stages.side_rows import column
from formats import dataset
from formats.dataset import Dataset
from formats.dedup_rules import NUM_PERM, NearRules
from resources.engines.contract import Dest, Engine, Task

DOCUMENTS_PER_SHARD = 100_000
NEAR_COPIES, REDRAWN = 0.2, 0.08
"""Share of near copies, and of their 128 values that are not their original's: a Jaccard of some 0.92."""
_FIRSTS = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("num_docs", pa.int64(), nullable=False)])
_HERE = "corpus_assets.plans.scale"


@dataclass(frozen=True)
class Growth:
    """CPU seconds over `num_docs` documents: keys and the sort that finds candidates, then clusters and keepers;
    `written_bytes` are those of band parts and pairs, the sort's own spills not counted.
    """

    num_docs: int
    band_seconds: float
    cluster_seconds: float
    num_pairs: int
    written_bytes: int

    @property
    def seconds(self) -> float:
        return self.band_seconds + self.cluster_seconds


@dataclass(frozen=True)
class Fit:
    """Seconds = start + each * n * log2(n) for n documents: what sorting costs, beside what is paid once."""

    start: float
    each: float

    def seconds(self, num_docs: float) -> float:
        return self.start + self.each * num_docs * math.log2(max(2.0, num_docs))


def fit(found: Sequence[tuple[int, float]]) -> Fit:
    """The law through (documents, seconds), each size weighed alike. Raises ValueError for fewer than two sizes."""
    if len({size for size, _ in found}) < 2:
        raise ValueError("growth is fitted to two sizes or more; measure another one")
    size = np.array([n * math.log2(max(2, n)) for n, _ in found])
    seconds = np.array([max(one, 1e-9) for _, one in found])
    (start, each), *_ = np.linalg.lstsq(
        np.stack((np.ones(len(size)), size), axis=1) / seconds[:, None], np.ones(len(size))
    )
    if start < 0 or each <= 0:  # nothing takes less than no time, and more takes no less
        start, each = 0.0, 1 / float(np.mean(size / seconds))
    return Fit(float(start), float(each))


def signatures_from_seed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """(first k, num_docs) -> (k, signature), which the first k decides."""
    first, n = (int(batch.column(name)[0].as_py()) for name in ("k", "num_docs"))
    draw = np.random.Generator(np.random.PCG64(first))
    values = draw.integers(0, 2**32, (n, NUM_PERM), np.uint32)
    copies = np.flatnonzero(draw.random(n) < NEAR_COPIES)[1:]
    redrawn = draw.random((len(copies), NUM_PERM)) < REDRAWN
    values[copies] = np.where(redrawn, values[copies], values[(copies * draw.random(len(copies))).astype(np.int64)])
    ks = pa.array(np.arange(first, first + n))
    return pa.RecordBatch.from_arrays([ks, fixed_binaries(values)], names=["k", "signature"])


def parts_from_seed(batch: pa.RecordBatch, *, bands: int, rows: int) -> pa.RecordBatch:
    """(first k, num_docs) -> BAND_PARTS of `signatures_from_seed`."""
    return near_duplicates.band_parts(signatures_from_seed(batch), bands=bands, rows=rows)


def ranks_from_seed(batch: pa.RecordBatch, *, shard: int) -> pa.RecordBatch:
    """(first k, num_docs) -> RANKS: the order of k is that of keepers."""
    first, n = (int(batch.column(name)[0].as_py()) for name in ("k", "num_docs"))
    rank = pa.array(np.arange(first, first + n))
    same = {"k": rank, "rank": rank, "exact_keeper": rank}
    constant = {"shard": pa.array(np.full(n, shard, np.int32)), "source": pa.array(np.zeros(n, np.int32))}
    columns = {**same, **constant, "lang": pa.array(["und"] * n, pa.large_string())}
    return pa.RecordBatch.from_arrays([columns[name] for name in keeper_order.RANKS.names], schema=keeper_order.RANKS)


def measure(
    engine: Engine, num_docs: int, folder: Path, near: NearRules, clock: Callable[[], float] = time.process_time
) -> Growth:
    """Run the stages over `num_docs` made-up documents, below `folder`. An engine with threads is measured whole by the
    default clock.
    """
    firsts = _firsts(num_docs, folder / "firsts")
    shards = {shard.id: {"shard": shard.id} for shard in firsts.shards}
    task = Task(f"{_HERE}:ranks_from_seed", per_shard=shards)
    ranked = engine.map_batches(firsts, task, Dest(folder / "ranks", keeper_order.RANKS))
    banding = {"bands": near.bands, "rows": near.rows}
    schema = near_duplicates.band_parts_schema(near.bands)
    parts = engine.map_batches(firsts, Task(f"{_HERE}:parts_from_seed", banding), Dest(folder / "parts", schema))
    start = clock()
    pairs = candidates.by_sorts(engine, parts, ranked, near, folder)
    banded = clock()
    _cluster(pairs)
    return Growth(num_docs, banded - start, clock() - banded, pairs.rows, parts.num_bytes + pairs.num_bytes)


def _cluster(pairs: Dataset) -> None:
    """Components and keepers, as if each candidate were an edge."""
    table = dataset.read_table(pairs)
    a, b = column(table, "a"), column(table, "b")
    components(a, b)
    keeper_walk(a, b, np.full(len(a), 900_000, np.int64))


def _firsts(num_docs: int, folder: Path) -> Dataset:
    """A shard of one row for each DOCUMENTS_PER_SHARD documents."""
    shards = []
    for number, first in enumerate(range(0, num_docs, DOCUMENTS_PER_SHARD)):
        row = {"k": first, "num_docs": min(DOCUMENTS_PER_SHARD, num_docs - first)}
        batch = pa.RecordBatch.from_pylist([row], _FIRSTS)
        path = folder / f"part-{number:05d}.parquet"
        shards.append(dataset.write_shard(number, path, [batch], _FIRSTS, row_group_bytes=1 << 20))
    return Dataset(_FIRSTS, tuple(shards))
