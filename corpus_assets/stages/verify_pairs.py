"""Verified edges: the documents of a candidate pair meet, and the exact Jaccard of their shingle sets decides.

A pair travels to its first document, takes that one's set along to its second, and is compared there: two sorts by
(rank, kind, other), in which the row of a document comes before the rows of the pairs that wait for it. Memory is one
set and one batch, whatever the corpus.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.shingles import HeldSets, is_edge, jaccard, jaccard_millionths, shingle_sets
from corpus_assets.stages.side_rows import column, rows_of
from formats.errors import NotConvergedError

CODE_VERSION = "1"
KEYS = ("rank", "kind", "other")
DOCUMENT, PAIR = np.int32(0), np.int32(1)
_MAX_BATCH_BYTES = 32 * 1024 * 1024

PLACES = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("rank", pa.int64(), nullable=False),
        pa.field("kind", pa.int32(), nullable=False),
        pa.field("other", pa.int64(), nullable=False),
        pa.field("shard", pa.int32()),
        pa.field("k", pa.int64()),
    ]
)
PARTICIPANTS = pa.schema(
    [pa.field(n, t, nullable=False) for n, t in (("shard", pa.int32()), ("k", pa.int64()), ("rank", pa.int64()))]
)
MEETINGS = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("rank", pa.int64(), nullable=False),
        pa.field("kind", pa.int32(), nullable=False),
        pa.field("other", pa.int64(), nullable=False),
        pa.field("shingles", pa.large_binary(), nullable=False),
    ]
)
EDGES = pa.schema([pa.field(n, pa.int64(), nullable=False) for n in ("a", "b", "jaccard")])
"""Verified pairs, a < b in keeper order; the exact Jaccard in millionths, rounded down."""


def _bucket(rank: np.ndarray, num_buckets: int) -> pa.Array:
    return pa.array((rank % num_buckets).astype(np.int32))


def places_of_documents(batch: pa.RecordBatch, *, num_buckets: int) -> pa.RecordBatch:
    """RANKS rows -> PLACES: where each document lies."""
    rank = column(batch, "rank")
    kind = pa.array(np.full(len(rank), DOCUMENT))
    columns = [_bucket(rank, num_buckets), batch["rank"], kind, batch["rank"], batch["shard"], batch["k"]]
    return pa.RecordBatch.from_arrays(columns, schema=PLACES)


def places_of_pairs(batch: pa.RecordBatch, *, num_buckets: int) -> pa.RecordBatch:
    """PAIRS rows -> PLACES: a mark on either document of each pair, pair after pair."""
    a, b = column(batch, "a"), column(batch, "b")
    rank, other = np.stack((a, b), axis=1).ravel(), np.stack((b, a), axis=1).ravel()
    n = len(rank)
    columns = [_bucket(rank, num_buckets), pa.array(rank), pa.array(np.full(n, PAIR)), pa.array(other)]
    columns += [pa.nulls(n, pa.int32()), pa.nulls(n, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, schema=PLACES)


def participants(_bucket: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """PLACES sorted by KEYS -> the documents that have a mark."""
    waiting: pa.RecordBatch | None = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        if waiting is not None:
            batch = pa.concat_batches([waiting, batch])
        rank, kind = column(batch, "rank"), column(batch, "kind")
        marked = np.zeros(len(rank), np.bool_)
        marked[:-1] = (kind[:-1] == DOCUMENT) & (rank[1:] == rank[:-1])
        waiting = batch.slice(len(rank) - 1) if kind[-1] == DOCUMENT else None
        yield batch.select(PARTICIPANTS.names).filter(pa.array(marked)).cast(PARTICIPANTS)


def among(batch: pa.RecordBatch, wanted: np.ndarray) -> pa.RecordBatch:
    """RANKS rows -> PARTICIPANTS: those whose rank is one of `wanted`, int64, ascending."""
    rank = column(batch, "rank")
    at = np.minimum(np.searchsorted(wanted, rank), max(0, len(wanted) - 1))
    marked = wanted[at] == rank if len(wanted) else np.zeros(len(rank), np.bool_)
    return batch.select(PARTICIPANTS.names).filter(pa.array(marked)).cast(PARTICIPANTS)


def shingles_of_participants(
    batch: pa.RecordBatch, marked: pa.Table, *, shingle: int, unit: str, num_buckets: int
) -> pa.RecordBatch:
    """DOCUMENTS rows -> MEETINGS rows with the shingle sets of those that are in a pair."""
    at = rows_of(batch, marked)
    inside = np.flatnonzero(at >= 0)
    rank = column(marked, "rank")[at[inside]] if len(inside) else np.zeros(0, np.int64)
    sets = shingle_sets(batch.column("text").take(pa.array(inside)), shingle, unit)
    columns = [_bucket(rank, num_buckets), pa.array(rank), pa.array(np.full(len(rank), DOCUMENT)), pa.array(rank), sets]
    return pa.RecordBatch.from_arrays(columns, schema=MEETINGS)


def waiting_pairs(batch: pa.RecordBatch, *, num_buckets: int) -> pa.RecordBatch:
    """PAIRS rows -> MEETINGS rows that wait at their first document."""
    a = column(batch, "a")
    n = len(a)
    empty = pa.array([b""] * n, pa.large_binary())
    columns = [_bucket(a, num_buckets), batch["a"], pa.array(np.full(n, PAIR)), batch["b"], empty]
    return pa.RecordBatch.from_arrays(columns, schema=MEETINGS)


def _meet(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """Rows sorted by KEYS -> (pair rows, the set of the document they wait at), in pieces of bounded bytes."""
    held_rank, held = -1, pa.array([b""], pa.large_binary())
    for batch in batches:
        rank, kind = column(batch, "rank"), column(batch, "kind")
        is_document = kind == DOCUMENT
        sets = pa.concat_arrays([held, batch.column("shingles").filter(pa.array(is_document))])
        owner = np.concatenate(([held_rank], rank[is_document]))
        last = np.cumsum(is_document)  # index into sets of the latest document at or before each row
        pair = np.flatnonzero(~is_document)
        if (owner[last[pair]] != rank[pair]).any():
            raise NotConvergedError(
                "a pair waits at a document whose shingles did not arrive; delete corpus/work and build again"
            )
        own = pc.binary_length(batch.column("shingles")).to_numpy()
        sizes = own[pair] + pc.binary_length(sets).to_numpy()[last[pair]]
        for piece in _pieces(sizes):
            yield batch.take(pa.array(pair[piece])), sets.take(pa.array(last[pair[piece]]))
        held_rank, held = int(owner[-1]), sets.slice(len(sets) - 1)


def _pieces(sizes: np.ndarray) -> Iterator[slice]:
    """Consecutive slices whose sizes sum to at most _MAX_BATCH_BYTES, each of at least one row."""
    start, total = 0, 0
    for i, size in enumerate(sizes.tolist()):
        if total + size > _MAX_BATCH_BYTES and i > start:
            yield slice(start, i)
            start, total = i, 0
        total += size
    if start < len(sizes):
        yield slice(start, len(sizes))


def take_first_set(
    _bucket_number: int, batches: Iterator[pa.RecordBatch], *, num_buckets: int
) -> Iterator[pa.RecordBatch]:
    """MEETINGS sorted by KEYS -> the pairs, with their first document's set, waiting at the second."""
    for pairs, sets in _meet(batches):
        rank = column(pairs, "other")
        columns = [_bucket(rank, num_buckets), pairs["other"], pairs["kind"], pairs["rank"], sets]
        yield pa.RecordBatch.from_arrays(columns, schema=MEETINGS)


def compare(
    _bucket_number: int, batches: Iterator[pa.RecordBatch], *, threshold_millionths: int
) -> Iterator[pa.RecordBatch]:
    """MEETINGS sorted by KEYS, pairs with their first set -> EDGES: those at or above the threshold."""
    for pairs, sets in _meet(batches):
        common, union = jaccard(pairs.column("shingles"), sets)
        edge = is_edge(common, union, threshold_millionths)
        score = jaccard_millionths(common[edge], union[edge])
        columns = [pairs["other"].filter(pa.array(edge)), pairs["rank"].filter(pa.array(edge)), pa.array(score)]
        yield pa.RecordBatch.from_arrays(columns, schema=EDGES)


def edges_among(rank: np.ndarray, sets: HeldSets, a: np.ndarray, b: np.ndarray, threshold_millionths: int) -> pa.Table:
    """What `compare` gives for the pairs (a, b), int64 each, by sets that are all here: set i is that of the document
    `rank[i]`, in any order.
    """
    by_rank, order = np.argsort(rank), np.lexsort((a, b))
    ends = np.stack((a[order], b[order]))
    at = np.minimum(np.searchsorted(rank, ends, sorter=by_rank), max(0, len(rank) - 1))
    place = by_rank[at] if len(rank) else at
    if ends.size and (not len(rank) or (rank[place] != ends).any()):
        raise NotConvergedError("the shingles of a pair's document did not arrive; delete corpus/work and build again")
    common, union = sets.jaccard(*place)
    edge = is_edge(common, union, threshold_millionths)
    columns = [*ends[:, edge], jaccard_millionths(common[edge], union[edge])]
    return pa.Table.from_arrays([pa.array(one) for one in columns], schema=EDGES)
