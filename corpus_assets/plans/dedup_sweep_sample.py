"""The documents that a sweep measures settings on.

A sample of single documents would have no pairs. So half of it are documents drawn by hash, and the rest is what looks
like one of those by a loose banding of the stored signatures.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.bands import band_keys
from corpus_assets.plans.keepers import ranks
from corpus_assets.plans.pinned import Build, Pair
from corpus_assets.plans.source_stages import documents, signatures
from corpus_assets.stages.side_rows import column, rows_of
from formats import dataset

LOOSE_BANDS, LOOSE_ROWS = 32, 4
"""Two texts of a Jaccard of 0.5 share a band of these with a chance of 0.87, of 0.7 with 0.9998."""


@dataclass(frozen=True)
class Sample:
    """Texts in keeper order, out of `of_docs` that came to near dedup."""

    texts: pa.Array
    of_docs: int


def draw(build: Build, pairs: list[Pair], num_docs: int, seed: int) -> Sample:
    """Half of the sample by hash, the other half what looks like it; all documents where there are no more."""
    ranked = ranks(build, pairs).open()
    signed = dataset.concat([signatures(build, pair).open() for pair in pairs])
    texts = dataset.concat([documents(build, pair).open() for pair in pairs]).select("k", "text")
    if signed.rows <= num_docs:
        chosen: Any = None
        of_docs = signed.rows
    else:
        rank, keys = _loose_keys(signed, ranked)
        of_docs = len(rank)
        place = _mixed(rank, seed)
        seeds = np.argsort(place, kind="stable")[: num_docs // 2]
        alike = np.array(np.isin(keys, keys[seeds]).any(axis=1))
        alike[seeds] = False
        others = np.flatnonzero(alike)
        others = others[np.argsort(place[others], kind="stable")][: num_docs - len(seeds)]
        chosen = np.sort(rank[np.concatenate((seeds, others))])
    found_ranks, found_texts = [np.zeros(0, np.int64)], [pa.array([], pa.large_string())]
    for rank, text in _distinct(texts, ranked, "text"):
        rows = np.arange(len(rank)) if chosen is None else np.flatnonzero(np.isin(rank, chosen))
        found_ranks.append(rank[rows])
        found_texts.append(text.cast(pa.large_string()).take(pa.array(rows)))
    order = np.argsort(np.concatenate(found_ranks), kind="stable")
    return Sample(pa.concat_arrays(found_texts).take(pa.array(order)), of_docs)


def _loose_keys(signed: dataset.Dataset, ranked: dataset.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """(rank, loose band keys) of every document that is no exact duplicate: 264 bytes each."""
    found_ranks, found_keys = [np.zeros(0, np.int64)], [np.zeros((0, LOOSE_BANDS), np.int64)]
    for rank, signature in _distinct(signed, ranked, "signature"):
        found_ranks.append(rank)
        found_keys.append(band_keys(signature, LOOSE_BANDS, LOOSE_ROWS))
    return np.concatenate(found_ranks), np.concatenate(found_keys)


def _distinct(parts: dataset.Dataset, ranked: dataset.Dataset, name: str) -> Iterator[tuple[np.ndarray, pa.Array]]:
    """(ranks, values of the column) of every document that is no exact duplicate, batch by batch."""
    for part in parts.shards:
        side = ranked.shard(part.id)
        if side is None:
            continue
        table = dataset.read_table(dataset.Dataset(ranked.schema, (side,)), columns=("k", "rank", "exact_keeper"))
        for batch in dataset.read_shard(part, columns=("k", name)):
            at = rows_of(batch, table)
            rank = column(table, "rank")[at]
            rows = np.flatnonzero((at >= 0) & (rank == column(table, "exact_keeper")[at]))
            yield rank[rows], batch.column(name).take(pa.array(rows))


def _mixed(values: np.ndarray, seed: int) -> np.ndarray:
    """A hash of each value, so that a sample is no matter of order (SplitMix64)."""
    x = values.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
