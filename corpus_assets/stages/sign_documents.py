"""Signatures of the documents still in: the rows by which near duplicates find each other."""

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.minhash import SEED, SHINGLE, signatures
from corpus_assets.stages.side_rows import kept_among
from formats.stage_tables import SIGNATURE_BYTES, SIGNATURES

CODE_VERSION = "1"
LIBRARIES = ("pyarrow",)


def sign_documents(
    batch: pa.RecordBatch, *, shingle: int = SHINGLE, unit: str = "word", seed: int = SEED
) -> pa.RecordBatch:
    """DOCUMENTS rows (k, text) -> SIGNATURES rows; a document without words has none, so it never enters dedup."""
    signature, num_shingles = signatures(
        batch.column("text"), shingle=shingle, unit=unit, num_perm=SIGNATURE_BYTES // 4, seed=seed
    )
    rows = [batch.column("k"), pa.array(num_shingles), signature]
    signed = pa.RecordBatch.from_arrays(rows, schema=SIGNATURES)
    return signed.filter(pc.greater(signed.column("n_shingles"), 0))


def sign_kept(batch: pa.RecordBatch, verdicts: pa.Table, *, shingle: int, unit: str, seed: int) -> pa.RecordBatch:
    """DOCUMENTS rows -> SIGNATURES rows of those whose verdict is `kept`."""
    kept = batch.take(pa.array(kept_among(batch, verdicts)))
    return sign_documents(kept, shingle=shingle, unit=unit, seed=seed)
