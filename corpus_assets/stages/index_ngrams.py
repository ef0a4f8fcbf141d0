"""The n-grams of published texts that their hash samples, sorted into an index."""

from collections.abc import Generator, Iterator

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.arrow import large_binaries
from corpus_assets.kernels.fuse_filter import make_filter
from corpus_assets.kernels.ngram_places import Places, ngram_places
from formats.ngram_index import FILTER, POSTINGS, part_of

CODE_VERSION = "1"
LIBRARIES = ("pyarrow",)

INDEXED = pa.schema([pa.field("part", pa.int64(), nullable=False), *POSTINGS])
"""A posting, and the part of the index that it goes to."""
HASHED = pa.schema([INDEXED.field("part"), INDEXED.field("hash")])
"""The same for a filter, which tells no place."""


def _postings(ids: pa.Array, places: Places) -> list[pa.Array]:
    """The columns of POSTINGS."""
    length = pa.array(places.length.astype(np.int32))
    return [pa.array(places.hash), ids.take(pa.array(places.row)), pa.array(places.start), length]


def sampled_ngrams(batch: pa.RecordBatch, *, ngram: int, rate: int, num_parts: int) -> pa.RecordBatch:
    """Published rows (id, text) -> INDEXED rows."""
    places = ngram_places(batch.column("text"), [ngram], rate=rate)
    columns = [pa.array(part_of(places.hash, num_parts)), *_postings(batch.column("id"), places)]
    return pa.RecordBatch.from_arrays(columns, schema=INDEXED)


def sampled_hashes(batch: pa.RecordBatch, *, ngram: int, rate: int, num_parts: int) -> pa.RecordBatch:
    """Published rows (id, text) -> HASHED rows."""
    found = ngram_places(batch.column("text"), [ngram], rate=rate).hash
    return pa.RecordBatch.from_arrays([pa.array(part_of(found, num_parts)), pa.array(found)], schema=HASHED)


def as_postings(_part: int, batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, dict[str, int]]:
    """INDEXED rows of one part, sorted -> its POSTINGS rows. Notes `distinct` hashes."""
    distinct, last = 0, None
    for batch in batches:
        hashes = batch.column("hash").to_numpy()
        distinct += int(np.count_nonzero(np.diff(hashes))) + bool(len(hashes) and hashes[0] != last)
        last = hashes[-1] if len(hashes) else last
        yield batch.select(POSTINGS.names).replace_schema_metadata(POSTINGS.metadata)
    return {"distinct": distinct}


def as_filter(_part: int, batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, dict[str, int]]:
    """HASHED rows of one part, sorted -> its FILTER row. Notes `distinct` and `ngrams`. Holds the part's hashes."""
    found, ngrams = [], 0
    for batch in batches:
        found.append(np.unique(batch.column("hash").to_numpy()))
        ngrams += batch.num_rows
    hashes = np.unique(np.concatenate(found))
    one = make_filter(hashes)
    data = one.fingerprints.astype("<u2")
    numbers = [pa.array([n]) for n in (one.num_keys, one.seed, one.segment_length, one.segments)]
    fingerprints = large_binaries(np.array([0, data.nbytes]), data)
    yield pa.RecordBatch.from_arrays([*numbers, fingerprints], schema=FILTER)
    return {"distinct": len(hashes), "ngrams": ngrams}
