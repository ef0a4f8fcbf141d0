"""Near duplicates on pairs with known likeness, beside the peers; the on-disk sort beside an index in memory; growth.

Labelled pairs need the folder of real documents. Peers answer in the same run for the same documents; text-dedup where
TEXT_DEDUP_PYTHON names an interpreter that has it.
"""

import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.arrow import fixed_rows
from corpus_assets.kernels.bands import BANDS, ROWS
from corpus_assets.kernels.minhash import NUM_PERM, SEED
from corpus_assets.plans import scale
from formats.dedup_rules import NearRules
from resources.engines.local import LocalEngine
from tests.bench import labelled_pairs, measure, near_pair_peers, s_curve
from tests.bench.documents import Corpus
from tests.bench.measure import Case, Prepared, Quality, Row
from tests.bench.near_pair_peers import THRESHOLD, Answer, Pair

BENCH = "bench_near_pairs"
BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.01)
BYTES_PER_SIGNATURE = 120
"""The slice decides how many signatures are made: 10^5 for 12 MB."""
GROWTH = (1, 10, 100)
CORPUS_OF_THE_DESIGN = 15_000_000_000


def num_signatures(corpus: Corpus) -> int:
    return corpus.sizes.slice // BYTES_PER_SIGNATURE


def by_sort(corpus: Corpus) -> Prepared:
    """Band rows sorted on disk under 256 MB."""
    n = num_signatures(corpus)

    def work() -> None:
        folder = corpus.scratch / "by_sort"
        engine = LocalEngine(scratch=folder / "scratch", workers=1, memory_bytes=1 << 28, processes=False)
        scale.measure(engine, n, folder, NearRules())
        shutil.rmtree(folder)

    work()
    return Prepared(work, n)


def by_index(corpus: Corpus) -> Prepared:
    """datasketch's MinHashLSH over the same signatures: queried, then inserted."""
    from datasketch import MinHash, MinHashLSH

    n = num_signatures(corpus)
    firsts = pa.RecordBatch.from_pydict({"k": [0], "num_docs": [n]})
    values = fixed_rows(scale.signatures_from_seed(firsts).column("signature"), np.uint32)
    sketch = MinHash(NUM_PERM, seed=SEED, scheme="affine32")

    def work() -> None:
        index = MinHashLSH(num_perm=NUM_PERM, params=(BANDS, ROWS))
        for row in range(n):
            one = sketch.copy()
            one.hashvalues = values[row]
            index.query(one)
            index.insert(row, one)

    return Prepared(work, n)


CASES = {
    "candidates and clusters, sorted on disk": Case(by_sort, unit="documents"),
    "datasketch MinHashLSH, in memory": Case(
        by_index, peer_of="candidates and clusters, sorted on disk", unit="documents"
    ),
}


def rows(corpus: Corpus) -> Iterator[Row]:
    yield from measure.run_cases(BENCH, CASES, corpus)
    yield from growth(corpus)


def growth(corpus: Corpus) -> Iterator[Row]:
    """Seconds over 1, 10 and 100 times the signatures, and the law of sorting through them."""
    found = []
    for times in GROWTH if corpus.sizes.large else GROWTH[:2]:
        n = num_signatures(corpus) * times
        folder = corpus.scratch / "growth"
        engine = LocalEngine(scratch=folder / "scratch", workers=2, memory_bytes=1 << 31, processes=False)
        with measure.Peak(os.getpid()) as peak:
            took = scale.measure(engine, n, folder, NearRules(), clock=measure.cpu_seconds)
        shutil.rmtree(folder)
        found.append((n, took.seconds))
        note = f"{took.num_pairs:,} pairs; keys, sort and pairs {took.band_seconds:.1f} s, clusters the rest"
        yield Row(BENCH, f"near dedup of {n:,} signatures", "CPU s", (took.seconds,), peak_mb=peak.mb, note=note)
    law = scale.fit(found)
    hours = law.seconds(CORPUS_OF_THE_DESIGN) / 3600
    note = f"seconds = {law.start:.3g} + {law.each:.3g} n log2 n, far beyond what was measured"
    yield Row(BENCH, f"extrapolated to {CORPUS_OF_THE_DESIGN:,}", "CPU h", (hours,), note=note)


def quality(corpus: Corpus) -> Iterator[Quality]:
    if corpus.folder is None or not (corpus.folder / labelled_pairs.LABELS).is_dir():
        return
    yield from _labelled(corpus.folder, books=bool(corpus.sizes.large))
    sentences = labelled_pairs.paraphrases(corpus.folder)
    near = near_pair_peers.ours(sentences.texts).pairs
    joined = np.array([tuple(pair) in near for pair in sentences.pairs.tolist()])
    unlike = int((joined & (sentences.jaccard < THRESHOLD)).sum())
    note = f"{joined.sum():,} of {len(joined):,} joined, all of them above {THRESHOLD}"
    yield Quality(BENCH, "PAN paraphrases below the threshold joined", unlike, 0, True, note)


def _labelled(folder: Path, *, books: bool) -> Iterator[Quality]:
    labelled = labelled_pairs.versions_and_editions(folder, books=books)
    for name in near_pair_peers.installed():
        answer = near_pair_peers.PEERS[name](labelled.texts)
        first = name == "ours"
        yield _recall(labelled, name, answer, 0.99 if first else None)
        yield _precision(labelled, name, answer, 1.0 if first else None)
        if first:
            yield from _curve(labelled, answer)


def hits(labelled: labelled_pairs.Labelled, found: set[Pair], low: float, high: float) -> tuple[int, np.ndarray]:
    """(pairs found, Jaccard of all pairs) of the labelled pairs from `low` on, below `high`."""
    inside = (labelled.jaccard >= low) & (labelled.jaccard < high)
    return sum(tuple(pair) in found for pair in labelled.pairs[inside].tolist()), labelled.jaccard[inside]


def _recall(labelled: labelled_pairs.Labelled, name: str, answer: Answer, figure: float | None) -> Quality:
    found, of = hits(labelled, answer.pairs, THRESHOLD, 2)
    met, _ = hits(labelled, answer.met, THRESHOLD, 2)
    note = f"{found} of {len(of)} pairs; {met} share a band, {s_curve.expected(of)}"
    return Quality(BENCH, f"labelled pairs >= {THRESHOLD}, recall: {name}", found / len(of), figure, note=note)


def _precision(labelled: labelled_pairs.Labelled, name: str, answer: Answer, figure: float | None) -> Quality:
    onto = np.array(sorted((min(pair), max(pair)) for pair in answer.keeper.items()), np.int64)
    scores = labelled.jaccard_of(onto)
    note = f"{len(onto)} dropped, the least like its keeper at {scores.min():.3f}"
    value = float((scores >= THRESHOLD).mean())
    return Quality(BENCH, f"dropped onto a keeper at >= {THRESHOLD}, precision: {name}", value, figure, note=note)


def _curve(labelled: labelled_pairs.Labelled, answer: Answer) -> Iterator[Quality]:
    """Each bin of similarity: how many pairs share a band, against the S-curve's interval."""
    for low, high in itertools.pairwise(BINS):
        found, of = hits(labelled, answer.met, low, high)
        curve = s_curve.expected(of)
        outside = max(curve.least - found, found - curve.most, 0)
        note = f"{found} share a band, {curve}"
        yield Quality(BENCH, f"pairs of {low:.2f} to {min(high, 1):.2f} outside the curve", outside, 0, True, note)
