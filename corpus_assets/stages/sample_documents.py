"""A version of a part of its documents, drawn by id: small enough to build twice and compare what two models keep.

The draw depends on a document's content and source and on the seed alone, so that versions with one seed hold the same
documents, and a smaller sample is a part of a larger one. What is not in the sample takes no part in exact dedup.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.count_listed_words import filter_words_last
from corpus_assets.stages.domain_caps import draw
from corpus_assets.stages.exact_duplicates import digest_rows
from corpus_assets.stages.side_rows import rows_of
from formats.reasons import SITE_FILTERS, Reason
from formats.stage_tables import VERDICTS

CODE_VERSION = "1"
LIBRARIES = ("pyarrow", "numpy")
SEED_OF_SAMPLES = 0x73616D706C65
"""Mixed into the seed, so that a cap's draw with the same seed is another one."""
LEFT_OUT = pa.schema([pa.field("k", pa.int64(), nullable=False)])
"""Documents that are not in the sample."""


def is_in_sample(doc_ids: pa.Array, *, permille: int, seed: int) -> np.ndarray:
    """Whether each doc_id (32 hex digits) is in a sample of about `permille` in a thousand."""
    drawn = draw(doc_ids, seed ^ SEED_OF_SAMPLES).view(np.uint64)
    return np.asarray(drawn // np.uint64(-(-(1 << 64) // 1000)) < permille)


def left_out(batch: pa.RecordBatch, *, permille: int, seed: int) -> pa.RecordBatch:
    """`k` and `doc_id` of DOCUMENTS -> LEFT_OUT, in the same order."""
    out = ~is_in_sample(batch.column("doc_id"), permille=permille, seed=seed)
    return pa.RecordBatch.from_arrays([batch.column("k").filter(pa.array(out))], schema=LEFT_OUT)


def digest_rows_of_sample(batch: pa.RecordBatch, *left_out: pa.Table, part: int, num_buckets: int) -> pa.RecordBatch:
    """As `exact_duplicates.digest_rows`, of the documents that are in none of `left_out`, by k."""
    out = np.zeros(batch.num_rows, np.bool_)
    for side in left_out:
        out |= rows_of(batch, side) >= 0
    return digest_rows(batch.filter(pa.array(~out)), part=part, num_buckets=num_buckets)


def filter_sample(
    batch: pa.RecordBatch, duplicates: pa.Table, matches: pa.Table, words: pa.Table, out: pa.Table, **rules: Any
) -> pa.RecordBatch:
    """As `count_listed_words.filter_words_last`, but that what no site list names and is in `out` is not in the sample.

    matches, words: SITE_MATCHES and LISTED_WORDS, empty where the version has no such lists; out: LEFT_OUT.
    """
    judged = filter_words_last(batch, duplicates, matches, words, **rules)
    verdict = judged.column("verdict")
    at_site = pc.is_in(verdict, pa.array(list(SITE_FILTERS), verdict.type))
    goes = pc.and_(pa.array(rows_of(batch, out) >= 0), pc.invert(at_site))
    columns = {name: judged.column(name) for name in VERDICTS.names}
    columns["verdict"] = pc.if_else(goes, pa.scalar(Reason.NOT_SAMPLED.value, pa.large_string()), verdict)
    return pa.RecordBatch.from_arrays([columns[name] for name in VERDICTS.names], schema=VERDICTS)
