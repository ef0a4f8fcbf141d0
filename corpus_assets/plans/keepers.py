"""Ranks: every document still in, over all sources of a version, in keeper order; exact duplicates found on the way."""

from pathlib import Path

from corpus_assets.plans.pinned import Build, Pair, once_a_build
from corpus_assets.plans.raw_order import in_raw_order
from corpus_assets.plans.source_stages import documents, signals, verdicts
from corpus_assets.plans.work import Output, buckets_for, identity
from corpus_assets.stages import exact_duplicates, keeper_order, sorted_rows
from formats import dataset
from formats.dataset import Dataset
from resources.engines.contract import Dest, Task

_STAGES = "corpus_assets.stages"


def shards_of(build: Build, pairs: list[Pair]) -> list[range]:
    """Per source the numbers of its shards among those of the version: its raw parts, after those of the sources
    before it.
    """
    found, first = [], 0
    for pair in pairs:
        count = len(documents(build, pair).open().shards)
        found.append(range(first, first + count))
        first += count
    return found


@once_a_build
def ranks(build: Build, pairs: list[Pair]) -> Output:
    """RANKS, cut like the version's documents: shard = place of the raw part among all parts of all sources."""
    measured = [signals(build, pair).open() for pair in pairs]
    decided = [verdicts(build, pair).open() for pair in pairs]
    source_ranks = {pair.row.source_id: pair.row.source_rank for pair in pairs}
    inputs = {f"doc_signals {pair.row.source_id}": one.digest for pair, one in zip(pairs, measured, strict=True)}
    inputs |= {f"filtered_docs {pair.row.source_id}": one.digest for pair, one in zip(pairs, decided, strict=True)}
    ident = identity(
        "keeper_ranks",
        f"{keeper_order.CODE_VERSION}.{exact_duplicates.CODE_VERSION}.{sorted_rows.CODE_VERSION}",
        settings={"source_ranks": source_ranks},
        inputs=inputs,
        libraries=("pyarrow",),
    )

    def make(folder: Path) -> Dataset:
        per_shard = {}
        for number, (pair, shards) in enumerate(zip(pairs, shards_of(build, pairs), strict=True)):
            for shard in shards:
                per_shard[shard] = {"source": number, "source_rank": pair.row.source_rank, "shard": shard}
        still_in = build.engine.map_batches(
            dataset.concat(measured).select("k", "doc_id", "crawl_date", "exact_digest", "quality", "lang"),
            Task(f"{_STAGES}.keeper_order:entries", per_shard=per_shard),
            Dest(folder / "entries", keeper_order.ENTRIES),
            sides=(dataset.concat(decided).select("k", "verdict"),),
        )
        ranked = build.engine.sort_reduce(
            still_in,
            Task(f"{_STAGES}.keeper_order:number", {"num_buckets": buckets_for(still_in.rows)}),
            Dest(folder / "ranked", keeper_order.RANKED),
            bucket="bucket",
            keys=keeper_order.ORDER_KEYS,
        )
        with_keepers = build.engine.sort_reduce(
            ranked,
            Task(f"{_STAGES}.keeper_order:exact_keepers"),
            Dest(folder / "with_keepers", keeper_order.RANKS),
            bucket="bucket",
            keys=("exact_digest", "rank"),
        )
        return in_raw_order(build.engine, with_keepers, folder)

    return Output(build.layout, ident, keeper_order.RANKS, make, str(pairs[0].version))
