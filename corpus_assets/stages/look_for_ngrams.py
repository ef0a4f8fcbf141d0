"""Where published texts hold n-grams that are looked for, as decontamination looks: in a text as it is, and where it
has a list of options also without their letters and numbers.
"""

import hashlib
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.ngram_places import Places, ngram_places
from corpus_assets.kernels.option_markers import lists_without_markers
from formats.errors import CorruptDataError
from formats.ngram_index import POSTINGS

CODE_VERSION = "2"
LIBRARIES = ("pyarrow",)


def ngrams_looked_for(batch: pa.RecordBatch, *, widths: list[int], path: str, sha256: str) -> pa.RecordBatch:
    """Published rows (id, text) -> POSTINGS rows of the n-grams, of any of the widths, whose hash is in the file."""
    places = both_ways(batch.column("text"), widths, stored_hashes(path, sha256))
    length = pa.array(places.length.astype(np.int32))
    columns = [pa.array(places.hash), batch.column("id").take(pa.array(places.row)), pa.array(places.start), length]
    return pa.RecordBatch.from_arrays(columns, schema=POSTINGS)


def both_ways(text: pa.Array, widths: list[int], keys: np.ndarray) -> Places:
    """As `ngram_places`, of each text as it is and without markers of its lists; what is found twice stands once."""
    as_they_are = ngram_places(text, widths, keys=keys)
    rows, unmarked = lists_without_markers(text)
    without = ngram_places(unmarked, widths, keys=keys)
    if not without.row.size:
        return as_they_are
    found = np.concatenate(
        [
            np.stack([as_they_are.row, as_they_are.hash, as_they_are.start, as_they_are.length]),
            np.stack([rows[without.row], without.hash, without.start, without.length]),
        ],
        axis=1,
    )
    return Places(*np.unique(found, axis=1))


@cache
def stored_hashes(path: str, sha256: str) -> np.ndarray:
    """int64 hashes in a file of this SHA-256, little-endian, nothing else; read once a process."""
    data = Path(path).read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != sha256:
        raise CorruptDataError(path, "sha256", sha256, found, "delete the file and ask again")
    return np.frombuffer(data, "<i8")
