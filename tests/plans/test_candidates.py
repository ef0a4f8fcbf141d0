"""Candidate pairs found in memory are those of the sorts, and of a plain look at every bucket."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.kernels.arrow import fixed_binaries
from corpus_assets.plans import candidates
from corpus_assets.stages import keeper_order, near_duplicates
from corpus_assets.stages.side_rows import column
from formats import dataset, parquet_file
from formats.dataset import Dataset
from formats.dedup_rules import NearRules
from resources.engines.contract import Engine
from resources.engines.local import LocalEngine
from tests.conformance.adversarial import AdversarialEngine
from tests.kernels import reference

BANDS, SHARDS, DOCS = 3, 3, 40
NEAR = replace(NearRules(), bands=BANDS, rows=1, max_bucket=5, hot_keepers=2)
Found = tuple[list[tuple[int, int]], dict[str, int]]


class Corpus:
    """Documents in shards, one of them empty, with drawn keys of which some buckets are hot; every tenth document is
    an exact duplicate.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        draw = np.random.default_rng(seed)
        num_docs = [DOCS, 0, DOCS][:SHARDS]
        rank = draw.permutation(sum(num_docs)).astype(np.int64)
        keeper = np.where(rank % 10 == 9, rank - 1, rank)
        keys = np.minimum(draw.integers(-4, 12, (len(rank), BANDS)), 6) * 2**50 + np.arange(BANDS)
        ends = np.cumsum([0, *num_docs])
        parts, ranked = [], []
        for number, (start, stop) in enumerate(pairwise(ends)):
            mine = slice(int(start), int(stop))
            k = pa.array(np.arange(stop - start))
            schema = near_duplicates.band_parts_schema(BANDS)
            rows = pa.RecordBatch.from_arrays([k, fixed_binaries(np.ascontiguousarray(keys[mine]))], schema=schema)
            parts.append(_shard(folder / "parts", number, rows))
            same = {"k": k, "rank": pa.array(rank[mine]), "exact_keeper": pa.array(keeper[mine])}
            same |= {name: pa.array(np.full(len(k), number, np.int32)) for name in ("shard", "source")}
            same["lang"] = pa.array(["en"] * len(k), pa.large_string())
            order = [same[name] for name in keeper_order.RANKS.names]
            ranked.append(
                _shard(folder / "ranks", number, pa.RecordBatch.from_arrays(order, schema=keeper_order.RANKS))
            )
        self.parts = Dataset(near_duplicates.band_parts_schema(BANDS), tuple(parts))
        self.ranked = Dataset(keeper_order.RANKS, tuple(ranked))
        stays = rank == keeper
        self.rows = [
            sorted(zip(keys[stays, band].tolist(), rank[stays].tolist(), strict=True)) for band in range(BANDS)
        ]

    def pairs(self, engine: Engine, folder: Path) -> Found:
        made = candidates.candidate_pairs(engine, self.parts, self.ranked, NEAR, folder)
        table = dataset.read_table(made, columns=("a", "b"))
        return sorted(zip(column(table, "a").tolist(), column(table, "b").tolist(), strict=True)), made.notes


def _shard(folder: Path, number: int, rows: pa.RecordBatch) -> parquet_file.Shard:
    return dataset.write_shard(number, folder / f"{number}.parquet", [rows], rows.schema, row_group_bytes=1 << 20)


def expected(corpus: Corpus) -> Found:
    pairs, skipped, hot = set[tuple[int, int]](), 0, 0
    for rows in corpus.rows:
        found, more, hotter = reference.candidate_pairs(rows, NEAR.max_bucket, NEAR.hot_keepers)
        pairs |= set(found)
        skipped, hot = skipped + more, hot + hotter
    return sorted(pairs), {"hot_buckets": hot, "pairs_skipped": skipped}


@pytest.mark.parametrize("seed", range(4))
def test_in_memory_and_by_sorts_they_are_those_of_every_bucket(tmp_path, seed):
    corpus = Corpus(tmp_path, seed)
    wanted = expected(corpus)
    assert wanted[1]["hot_buckets"] > 1
    local = LocalEngine(scratch=tmp_path / "scratch", workers=1)
    with mock.patch.object(candidates, "by_sorts", side_effect=AssertionError("sorted")):
        assert corpus.pairs(local, tmp_path / "memory") == wanted
    assert corpus.pairs(AdversarialEngine(seed=seed), tmp_path / "sorts") == wanted


@pytest.mark.parametrize("without", ["_BYTES_PER_KEY", "_BYTES_PER_PAIR"])
def test_keys_or_pairs_without_room_are_sorted(tmp_path, monkeypatch, without):
    corpus = Corpus(tmp_path, 5)
    monkeypatch.setattr(candidates, without, 2**30)
    monkeypatch.setattr(candidates, "by_sorts", mock.Mock(wraps=candidates.by_sorts))
    assert corpus.pairs(LocalEngine(scratch=tmp_path / "scratch", workers=1), tmp_path / "out") == expected(corpus)
    assert candidates.by_sorts.call_count == 1


def test_the_room_for_pairs_is_reckoned_from_what_buckets_give(tmp_path):
    for rows in Corpus(tmp_path, 6).rows:
        found, _, _ = reference.candidate_pairs(rows, NEAR.max_bucket, NEAR.hot_keepers)
        assert candidates._num_pairs(np.array([key for key, _ in rows]), NEAR) == len(found)
    assert candidates._num_pairs(np.zeros(0, np.int64), NEAR) == 0
