"""The texts that models are trained on: a sample of the published train rows of a version, the same in every run.

Val rows stay unseen by every model, too. Of the sample, in the order of a hash of (seed, id), every HELD_OUT-th row is
kept apart to judge the model by. A version is free of near duplicates, so none of them lies on both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.arrow import fixed_rows
from corpus_assets.kernels.exact_text import text_digests
from corpus_assets.plans.published_version import PublishedVersion
from formats import corpus_shard
from formats.errors import ConfigError

HELD_OUT = 5
_COLUMNS = ("id", "source_id", "lang", "split", "n_chars")


@dataclass(frozen=True)
class ModelTexts:
    """Two large_string columns. `available` counts the documents that the sample was drawn from."""

    train: pa.Array
    held_out: pa.Array
    available: int


def draw(
    version: PublishedVersion, sources: Sequence[str], *, lang: str | None = None, max_chars: int, seed: int
) -> ModelTexts:
    """Train rows of these sources (and this language), as many as have `max_chars` code points together, at least one.

    Raises ConfigError for a source that the version does not have, and where no row is left; CorruptDataError.
    """
    if unknown := sorted(set(sources) - set(version.rows)):
        raise ConfigError(f"{version.key} has no source {', '.join(unknown)}; it has {', '.join(sorted(version.rows))}")
    ids, rows, chars = _candidates(version, sources, lang)
    if not len(ids):
        of_lang = f" in language {lang}" if lang else ""
        raise ConfigError(f"{version.key} has no train documents{of_lang} of {', '.join(sorted(sources))}")
    order = np.lexsort((rows, _hashes(ids, seed)))
    chosen = order[: max(1, int(np.searchsorted(np.cumsum(chars[order]), max_chars, side="right")))]
    of_rows = np.sort(rows[chosen])
    texts = _texts(version, of_rows).take(pa.array(np.searchsorted(of_rows, rows[chosen])))
    held = np.arange(len(chosen)) % HELD_OUT == HELD_OUT - 1
    return ModelTexts(texts.filter(pa.array(~held)), texts.filter(pa.array(held)), len(ids))


def _candidates(
    version: PublishedVersion, sources: Sequence[str], lang: str | None
) -> tuple[pa.Array, np.ndarray, np.ndarray]:
    """(id, row of the version, code points) of every document to draw from, by row."""
    ids, rows, chars = [pa.array([], pa.string())], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    first = 0
    for entry in version.manifest["shards"]:
        for batch in corpus_shard.read_shard(version.folder, entry, columns=_COLUMNS):
            mine = pc.and_(pc.equal(batch.column("split"), "train"), _among(batch.column("source_id"), sources))
            if lang is not None:
                mine = pc.and_(mine, pc.equal(batch.column("lang"), lang))
            at = np.flatnonzero(mine.to_numpy(zero_copy_only=False))
            some = batch.take(pa.array(at))
            ids.append(some.column("id"))
            rows.append(first + at)
            chars.append(some.column("n_chars").to_numpy().astype(np.int64))
            first += batch.num_rows
    return pa.concat_arrays(ids), np.concatenate(rows), np.concatenate(chars)


def _among(column: pa.Array, sources: Sequence[str]) -> pa.Array:
    return pc.is_in(column, pa.array(sources, column.type))


def _hashes(ids: pa.Array, seed: int) -> np.ndarray:
    """uint64 of each id: the first bytes of the SHA-256 of `<seed>:<id>`, as a big-endian number."""
    named = pc.binary_join_element_wise(str(seed), ids, ":").cast(pa.large_string())
    return fixed_rows(text_digests(named), np.uint64)[:, 0].byteswap()


def _texts(version: PublishedVersion, rows: np.ndarray) -> pa.Array:
    """The texts of these rows, which ascend; a shard without any is not read."""
    found = [pa.array([], pa.large_string())]
    first = 0
    for entry in version.manifest["shards"]:
        start, first = first, first + entry["rows"]
        if np.searchsorted(rows, start) == np.searchsorted(rows, first):
            continue
        for batch in corpus_shard.read_shard(version.folder, entry, columns=("text",)):
            at = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + batch.num_rows)] - start
            found.append(batch.column("text").take(pa.array(at)).cast(pa.large_string()))
            start += batch.num_rows
    return pa.concat_arrays(found)
