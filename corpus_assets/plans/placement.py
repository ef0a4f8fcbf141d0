"""Which rows are published, in which order, and the number of each row's cluster."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.plans.clusters import dedup_clusters, read_edges
from corpus_assets.plans.domain_caps import capped
from corpus_assets.plans.keepers import shards_of
from corpus_assets.plans.near_edges import edges
from corpus_assets.plans.pinned import Build, Pair, once_a_build
from corpus_assets.plans.raw_order import in_raw_order
from corpus_assets.plans.scrub import scrubbed_docs
from corpus_assets.plans.source_stages import documents
from corpus_assets.plans.work import Output, buckets_for, identity
from corpus_assets.stages import domain_caps, place_rows, protect_val, sorted_rows
from corpus_assets.stages.side_rows import column, rows_of
from formats import dataset
from formats.dataset import Dataset
from formats.reasons import Reason
from resources.engines.contract import Dest, Task

_STAGES = "corpus_assets.stages"


def scrubbed_version(build: Build, pairs: list[Pair]) -> Dataset:
    """The SCRUBBED rows of all sources, cut like the version's documents."""
    return dataset.concat([scrubbed_docs(build, pairs, pair).open() for pair in pairs])


@once_a_build
def withheld(build: Build, pairs: list[Pair]) -> Output:
    """WITHHELD, cut like the version's documents. Memory: some 40 bytes for each document with a verified edge."""
    scrubbed = scrubbed_version(build, pairs).select("k", "verdict", "split")
    decided = dedup_clusters(build, pairs).open().select("k", "rank")
    found = edges(build, pairs).open()
    ident = identity(
        "withheld",
        f"{protect_val.CODE_VERSION}.{sorted_rows.CODE_VERSION}",
        settings={},
        inputs={"scrubbed_docs": scrubbed.digest, "dedup_clusters": decided.digest, "near_edges": found.digest},
        libraries=("pyarrow", "numpy"),
    )

    def make(folder: Path) -> Dataset:
        table = _withheld_rows(build, pairs, scrubbed, decided, found)
        written = dataset.write_shard(
            0, folder / "found" / "part.parquet", table.to_batches(), protect_val.WITHHELD, row_group_bytes=1 << 25
        )
        return in_raw_order(build.engine, Dataset(protect_val.WITHHELD, (written,)), folder)

    return Output(build.layout, ident, protect_val.WITHHELD, make, str(pairs[0].version))


def _withheld_rows(build: Build, pairs: list[Pair], scrubbed: Dataset, decided: Dataset, found: Dataset) -> pa.Table:
    a, b, jaccard = read_edges(found)
    nodes = np.unique(np.concatenate((a, b)))
    published, is_val = np.zeros(len(nodes), np.bool_), np.zeros(len(nodes), np.bool_)
    shard, k = np.zeros(len(nodes), np.int32), np.zeros(len(nodes), np.int64)
    for part in decided.shards if len(nodes) else ():
        rows = pa.Table.from_batches(dataset.read_shard(part, columns=decided.schema.names), decided.schema)
        rank = column(rows, "rank")
        at = np.minimum(np.searchsorted(nodes, rank), len(nodes) - 1)
        touched = np.flatnonzero(nodes[at] == rank)
        at, rows = at[touched], rows.take(pa.array(touched))
        shard[at], k[at] = part.id, column(rows, "k")
        scrubbed_part = scrubbed.shard(part.id)
        if scrubbed_part is None:
            continue
        names = scrubbed.schema.names
        texts = pa.Table.from_batches(dataset.read_shard(scrubbed_part, columns=names), scrubbed.schema)
        row = rows_of(rows, texts)
        kept = np.array(texts.column("verdict").to_pylist(), object) == Reason.KEPT.value
        val = np.array(texts.column("split").to_pylist(), object) == "val"
        published[at] = (row >= 0) & kept[row] if len(kept) else False
        is_val[at] = (row >= 0) & val[row] if len(val) else False
    train, val_rank, score = protect_val.train_near_val(a, b, jaccard, published, is_val, nodes)
    goes, stays = np.searchsorted(nodes, train), np.searchsorted(nodes, val_rank)
    first_shards = np.array([mine.start for mine in shards_of(build, pairs)])
    source = np.searchsorted(first_shards, shard[stays], side="right") - 1  # a source without shards owns none
    ids = [f"{pairs[s].row.source_id}:{i}" for s, i in zip(source, k[stays], strict=True)]
    columns = [
        pa.array(shard[goes]),
        pa.array(k[goes]),
        pa.array(val_rank),
        pa.array(ids, pa.large_string()),
        pa.array((shard[stays] - first_shards[source]).astype(np.int32)),
        pa.array(score),
    ]
    return pa.table(columns, schema=protect_val.WITHHELD)


@once_a_build
def over_caps(build: Build, pairs: list[Pair]) -> Output | None:
    """CAPPED of the version; None where it has no cap."""
    if not pairs[0].config.domain_cap.configured:
        return None
    texts = dataset.concat([documents(build, pair).open() for pair in pairs])
    return capped(build, pairs, scrubbed_version(build, pairs), withheld(build, pairs).open(), texts)


@once_a_build
def placed_rows(build: Build, pairs: list[Pair]) -> Output:
    """PLACED, cut like the version's documents: row and cluster number of each row that is published."""
    scrubbed = scrubbed_version(build, pairs).select("k", "verdict")
    decided = dedup_clusters(build, pairs).open().select("k", "root")
    leaving = withheld(build, pairs).open().select("k")
    cap = over_caps(build, pairs)
    caps, more = ((cap.make().select("k"),), f".{domain_caps.CODE_VERSION}") if cap else ((), "")
    inputs = {"scrubbed_docs": scrubbed.digest, "dedup_clusters": decided.digest, "withheld": leaving.digest}
    ident = identity(
        "placed_rows",
        f"{place_rows.CODE_VERSION}.{sorted_rows.CODE_VERSION}{more}",
        settings={"sources": [pair.row.source_id for pair in pairs]},
        inputs=inputs | ({"domain_caps": caps[0].digest} if caps else {}),
        libraries=("pyarrow", "numpy"),
    )

    def make(folder: Path) -> Dataset:
        per_shard = {
            shard: {"source_id": pair.row.source_id, "shard": shard}
            for pair, mine in zip(pairs, shards_of(build, pairs), strict=True)
            for shard in mine
        }
        named = build.engine.map_batches(
            scrubbed,
            Task(f"{_STAGES}.{'domain_caps:ids_within_caps' if caps else 'place_rows:ids'}", per_shard=per_shard),
            Dest(folder / "ids", place_rows.IDS),
            sides=(decided, leaving, *caps),
        )
        numbered = build.engine.sort_reduce(
            named,
            Task(f"{_STAGES}.place_rows:number_rows", {"num_buckets": buckets_for(named.rows)}),
            Dest(folder / "numbered", place_rows.NUMBERED),
            bucket="bucket",
            keys=("id",),
        )
        clustered = build.engine.sort_reduce(
            numbered,
            Task(f"{_STAGES}.place_rows:smallest_rows"),
            Dest(folder / "clustered", place_rows.PLACED),
            bucket="bucket",
            keys=("root", "row"),
        )
        return in_raw_order(build.engine, clustered, folder)

    return Output(build.layout, ident, place_rows.PLACED, make, str(pairs[0].version))
