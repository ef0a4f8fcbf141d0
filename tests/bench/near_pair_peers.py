"""Near duplicates by ours and by others, each as its documentation has it, at 128 permutations and 16 bands of 8.

An answer is the pairs that a tool takes for near duplicates, and what it drops onto what. Documents come in keeper
order. Ours decides by the exact Jaccard; datasketch and rensa by the signatures' estimate, and text-dedup drops all
that bands connect.
"""

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.bands import BANDS, ROWS, CandidatePairs, band_keys
from corpus_assets.kernels.components import keeper_walk
from corpus_assets.kernels.minhash import NUM_PERM, SEED, signatures
from corpus_assets.kernels.shingles import is_edge, jaccard, jaccard_millionths, shingle_sets
from tests.bench.bench_dedup import shingles

THRESHOLD = 0.8
TEXT_DEDUP_PYTHON = "TEXT_DEDUP_PYTHON"
"""The environment variable that names an interpreter with text-dedup, whose dependencies do not fit beside ours."""
Pair = tuple[int, int]


@dataclass(frozen=True)
class Answer:
    """`met`: pairs (earlier, later) that share a band; `pairs`: those of them that the tool takes for near duplicates.
    `keeper`: what each dropped document was dropped onto.
    """

    met: set[Pair]
    pairs: set[Pair]
    keeper: dict[int, int]


def ours(texts: list[str]) -> Answer:
    text = pa.array(texts, pa.large_string())
    signature, num_shingles = signatures(text)
    rows = np.flatnonzero(num_shingles > 0)
    keys = band_keys(signature.take(pa.array(rows)))
    ranks = np.repeat(rows, keys.shape[1])
    order = np.lexsort((ranks, keys.reshape(-1)))
    found = CandidatePairs(1_000, 16)
    parts = [found.feed(keys.reshape(-1)[order], ranks[order]), found.finish()]
    pairs = np.unique(np.concatenate([np.stack(part, axis=1) for part in parts]), axis=0)
    sets = shingle_sets(text)
    common, union = jaccard(*(sets.take(pa.array(side)) for side in pairs.T))
    edge = is_edge(common, union, round(THRESHOLD * 1_000_000))
    a, b = pairs[edge].T
    nodes, keeper, _ = keeper_walk(a, b, jaccard_millionths(common[edge], union[edge]))
    dropped = {int(one): int(onto) for one, onto in zip(nodes, keeper, strict=True) if one != onto}
    return Answer(_as_pairs(pairs), _as_pairs(pairs[edge]), dropped)


class Sketch(Protocol):
    def jaccard(self, other: Any) -> float: ...


class Index(Protocol):
    def query(self, sketch: Any) -> Iterable[int]: ...

    def insert(self, row: int, sketch: Any) -> None: ...


def datasketch(texts: list[str]) -> Answer:
    """MinHashLSH, then the estimate."""
    from datasketch import MinHash, MinHashLSH

    def sketch_of(text: str) -> MinHash:
        sketch = MinHash(NUM_PERM, seed=SEED)
        sketch.update_batch([shingle.encode() for shingle in shingles(text)])
        return sketch

    return _one_after_another(map(sketch_of, texts), MinHashLSH(num_perm=NUM_PERM, params=(BANDS, ROWS)))


def rensa(texts: list[str]) -> Answer:
    """RMinHashLSH, then the estimate."""
    from rensa import RMinHash, RMinHashLSH

    def sketch_of(text: str) -> RMinHash:
        sketch = RMinHash(NUM_PERM, SEED)
        sketch.update(shingles(text))
        return sketch

    return _one_after_another(map(sketch_of, texts), RMinHashLSH(THRESHOLD, NUM_PERM, BANDS))


def _one_after_another(sketches: Iterable[Sketch], index: Index) -> Answer:
    """As an online index is used: a document goes where one that came before, and stayed, is near it."""
    known: list[Sketch] = []
    met, pairs, keeper = set[Pair](), set[Pair](), dict[int, int]()
    for row, sketch in enumerate(sketches):
        known.append(sketch)
        candidates = index.query(sketch)
        met.update((other, row) for other in candidates)
        near = sorted(other for other in candidates if sketch.jaccard(known[other]) >= THRESHOLD)
        pairs.update((other, row) for other in near)
        if onto := [other for other in near if other not in keeper]:
            keeper[row] = onto[0]
        index.insert(row, sketch)
    return Answer(met, pairs, keeper)


def text_dedup(texts: list[str]) -> Answer:
    """Its `embed_func` and union-find, run by the interpreter that TEXT_DEDUP_PYTHON names."""
    program = Path(__file__).with_name("text_dedup_program.py")
    told = json.dumps({"texts": texts, "bands": BANDS, "rows": ROWS, "ngram": 5})
    run = [os.environ[TEXT_DEDUP_PYTHON], str(program)]
    answer = json.loads(subprocess.run(run, input=told, capture_output=True, check=True, text=True).stdout)
    pairs = _as_pairs(answer["pairs"])
    return Answer(pairs, pairs, {int(row): onto for row, onto in answer["keeper"].items()})


def _as_pairs(found: Iterable[Iterable[int]]) -> set[Pair]:
    return {(int(a), int(b)) for a, b in found}


PEERS = {"ours": ours, "datasketch": datasketch, "rensa": rensa, "text-dedup": text_dedup}


def installed() -> list[str]:
    """The names of PEERS that can run here."""
    return [name for name in PEERS if name != "text-dedup" or os.environ.get(TEXT_DEDUP_PYTHON)]
