"""Dedup and decontamination beside their peers: MB of text a CPU second, peak memory, recall and precision.

python -m tests.bench.bench_dedup [FOLDER]

FOLDER holds *.jsonl.zst files whose lines have a `text`; without it documents are made from a seed. The slice is 12 MB
of documents of 200 to 12,000 characters in path order; a slow peer takes the first 3 MB of it. Every case runs in a
process of its own, one thread, after a first call that compiles; medians of 3. Peers see the same documents, cut into
the same 5-word shingles of lower-cased words; their figure includes the cutting, as ours does.
"""

import hashlib
import random
import re
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.bands import CandidatePairs, band_keys
from corpus_assets.kernels.exact_text import exact_digests, normalize
from corpus_assets.kernels.minhash import signatures
from corpus_assets.kernels.ngram_match import make_index, match
from corpus_assets.kernels.shingles import is_edge, jaccard, shingle_sets
from corpus_assets.kernels.words import word_count
from corpus_assets.stages.decontaminate import decontaminate
from tests.bench.bench_signals import first_bytes, texts
from tests.kernels import reference

SLICE_BYTES, PEER_BYTES = 12_000_000, 3_000_000
RECALL_DOCUMENTS, THRESHOLD = 4_000, 800_000
ITEMS = 5_000
WORD = re.compile(r"\w+")
Case = Callable[[list[str]], Callable[[], object]]


def made(num_bytes: int) -> list[str]:
    """Documents from a seed: Zipf-like words, every fifth one a copy of an earlier one with some words changed."""
    draw = random.Random(1)
    vocabulary = ["".join(draw.choices("etaoinshrdlucmfwypvbgkjqxz", k=draw.randint(2, 9))) for _ in range(20_000)]
    documents: list[str] = []
    size = 0
    while size < num_bytes:
        if documents and draw.random() < 0.2:
            words = documents[draw.randrange(len(documents))].split(" ")
            for _ in range(draw.randint(0, 1 + len(words) // 40)):
                words[draw.randrange(len(words))] = draw.choice(vocabulary)
        else:
            words = [vocabulary[int(20_000 * draw.random() ** 4)] for _ in range(draw.randint(40, 1_000))]
        documents.append(" ".join(words))
        size += len(documents[-1])
    return documents


def slice_of(folder: Path | None, num_bytes: int) -> list[str]:
    return first_bytes(made(SLICE_BYTES) if folder is None else texts(folder), num_bytes)


def column(documents: list[str]) -> pa.Array:
    return pa.array(documents, pa.large_string())


def shingles(text: str) -> list[str]:
    words = WORD.findall(text.lower())
    return [" ".join(words[i : i + 5]) for i in range(max(len(words) - 4, min(len(words), 1)))]


def ours(kernel: Callable[[pa.Array], object]) -> Case:
    def prepare(documents: list[str]) -> Callable[[], object]:
        text = column(documents)
        kernel(text[:2])
        return lambda: kernel(text)

    return prepare


def datasketch_signatures(documents: list[str]) -> Callable[[], object]:
    from datasketch import MinHash

    def run() -> None:
        for text in documents:
            MinHash(128, seed=1).update_batch([shingle.encode() for shingle in shingles(text)])

    return run


def rensa_signatures(documents: list[str]) -> Callable[[], object]:
    from rensa import RMinHash

    return lambda: RMinHash.digest_matrix_from_token_sets([shingles(text) for text in documents], 128, 1)


def plain_digests(documents: list[str]) -> Callable[[], object]:
    return lambda: [hashlib.sha256(" ".join(text.lower().split()).encode()).digest() for text in documents]


def items() -> list[str]:
    """Protected items of 40 words from another seed than the documents."""
    draw = random.Random(2)
    return [" ".join(f"{draw.randrange(36**4):x}" for _ in range(40)) for _ in range(ITEMS)]


def our_decontamination(documents: list[str]) -> Callable[[], object]:
    index = make_index([("bench", f"{i}.text") for i in range(ITEMS)], column(items()))
    batch = pa.record_batch({"text": normalize(column(documents))})
    match(batch["text"][:2], index)
    return lambda: decontaminate(batch, index)


def plain_decontamination(documents: list[str]) -> Callable[[], object]:
    protected = {tuple(words[i : i + 13]) for words in map(str.split, items()) for i in range(28)}

    def run() -> int:
        hits = 0
        for text in documents:
            words = WORD.findall(text.lower())
            hits += any(tuple(words[i : i + 13]) in protected for i in range(len(words) - 12))
        return hits

    return run


CASES: dict[str, tuple[Case, int, str]] = {
    "word pass": (ours(word_count), SLICE_BYTES, ""),
    "signatures": (ours(signatures), SLICE_BYTES, ""),
    "  rensa": (rensa_signatures, PEER_BYTES, "signatures"),
    "  datasketch": (datasketch_signatures, PEER_BYTES, "signatures"),
    "band keys": (ours(lambda text: band_keys(signatures(text)[0])), SLICE_BYTES, ""),
    "shingle sets": (ours(shingle_sets), SLICE_BYTES, ""),
    "exact digests": (ours(exact_digests), SLICE_BYTES, ""),
    "  Python: split, lower, hashlib (no NFC)": (plain_digests, SLICE_BYTES, "exact digests"),
    "decontamination": (our_decontamination, SLICE_BYTES, ""),
    "  Python: a set of tuples": (plain_decontamination, PEER_BYTES, "decontamination"),
}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, folder: Path | None) -> tuple[float, float, float]:
    """(MB a CPU second, peak memory before, peak after) of a case; runs in its own process."""
    case, num_bytes, _ = CASES[name]
    documents = slice_of(folder, num_bytes)
    work = case(documents)
    before = peak_mb()
    seconds = []
    for _ in range(3):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return sum(len(text.encode()) for text in documents) / 1e6 / median(seconds), before, peak_mb()


@njit(nogil=True)
def similar_pairs(hashes, ends, threshold):  # type: ignore[no-untyped-def]
    """Every pair of sets at or above the threshold in millionths, by comparing all of them."""
    n = ends.size - 1
    a, b, found = np.empty(n * 50, np.int64), np.empty(n * 50, np.int64), 0
    for x in range(n):
        for y in range(x + 1, n):
            i, i_end, j, j_end = ends[x], ends[x + 1], ends[y], ends[y + 1]
            small, large, both = min(i_end - i, j_end - j), max(i_end - i, j_end - j), 0
            if small * 1_000_000 < threshold * large:
                continue
            while i < i_end and j < j_end:
                left, right = hashes[i], hashes[j]
                both += left == right
                i += left <= right
                j += right <= left
            if both > 0 and both * 1_000_000 >= threshold * (small + large - both) and found < a.size:
                a[found], b[found] = x, y
                found += 1
    return a[:found], b[:found]


Pairs = set[tuple[int, int]]


def near_pairs(documents: list[str]) -> tuple[Pairs, Pairs, int]:
    """(pairs of Jaccard >= 0.8 by bands and exact Jaccard, the same by brute force, candidates compared)."""
    text = column(documents)
    keys = band_keys(signatures(text)[0])
    ranks = np.repeat(np.arange(len(text)), keys.shape[1])
    order = np.lexsort((ranks, keys.reshape(-1)))
    candidates = CandidatePairs(1_000, 16)
    parts = [candidates.feed(keys.reshape(-1)[order], ranks[order]), candidates.finish()]
    pairs = np.unique(np.concatenate([np.stack(part, axis=1) for part in parts]), axis=0)
    sets = shingle_sets(text)
    edges = is_edge(*jaccard(*(sets.take(pa.array(side)) for side in pairs.T)), THRESHOLD)
    found = {tuple(pair) for pair in pairs[edges].tolist()}
    ends, data = string_buffers(sets)
    true = set(zip(*(side.tolist() for side in similar_pairs(data.view(np.uint64), ends // 8, THRESHOLD)), strict=True))
    return found, true, len(pairs)


def equal_to_datasketch(documents: list[str]) -> bool:
    from datasketch import MinHash

    some = documents[:: max(len(documents) // 50, 1)]
    for row, text in zip(signatures(column(some))[0].to_pylist(), some, strict=True):
        oracle = MinHash(128, seed=1, scheme="affine32", hashfunc=lambda value: value)
        oracle.update_batch([value & 0xFFFFFFFF for value in reference.shingle_hashes(text, 5)])
        if oracle.hashvalues.tobytes() != row:
            return False
    return True


def main(folder: Path | None) -> None:
    documents = slice_of(folder, SLICE_BYTES)
    size = sum(len(text.encode()) for text in documents) / 1e6
    print(f"{len(documents):,} documents, {size:.1f} MB, from {folder.name if folder else 'a seed'}")
    speeds: dict[str, float] = {}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for name, (_, _, rival) in CASES.items():
            speeds[name], before, after = pool.submit(measure, name, folder).result()
            ratio = f"   ours is {speeds[rival] / speeds[name]:.1f} times as fast" if rival else ""
            print(
                f"{name:<42}{speeds[name]:>9.1f} MB/CPU s   peak {before:>4.0f} -> {after:>4.0f} MB{ratio}", flush=True
            )
    print(f"signatures equal datasketch's, bit for bit: {equal_to_datasketch(documents)}")
    found, true, candidates = near_pairs(documents[:RECALL_DOCUMENTS])
    print(
        f"{len(true):,} pairs of Jaccard >= 0.8 by brute force, {candidates:,} candidates, {len(found):,} edges", end=""
    )
    if found and true:
        print(f": recall {len(found & true) / len(true):.4f}, precision {len(found & true) / len(found):.4f}", end="")
    print()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
