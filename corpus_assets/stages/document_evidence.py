"""The evidence row of every raw document: what was measured, which rule or duplicate it met, where it ended."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.place_rows import make_ids
from corpus_assets.stages.side_rows import rows_of, take_or_null
from formats.evidence_schemas import documents_with
from formats.reasons import Reason
from formats.stage_tables import COUNTED_SIGNALS, PII_KINDS

CODE_VERSION = "1"
_KEPT = pa.scalar(Reason.KEPT.value, pa.large_string())
_MEASURED = ("n_words", "lang", "lang_score", *COUNTED_SIGNALS, "quality")
_BY_MODELS = ("ppl", "safety")
_SCRUBBED = ("eval_set", "eval_item", "span_start", "span_end", "split", *(f"pii_{kind}" for kind in PII_KINDS))


def document_evidence(
    batch: pa.RecordBatch,
    signals: pa.Table,
    verdicts: pa.Table,
    survivors: pa.Table,
    scrubbed: pa.Table,
    withheld: pa.Table,
    placed: pa.Table,
    *,
    source_id: str,
    first_ks: list[int],
    shard_rows: int,
) -> pa.RecordBatch:
    """DOCUMENTS rows without text, and what each later stage says of them -> evidence rows.

    `first_ks` are the k at which the source's raw parts begin. Where models measured, the rows say what, too.
    """
    judged, entered, scrubs, goes, lies = (
        rows_of(batch, side) for side in (verdicts, survivors, scrubbed, withheld, placed)
    )
    measured = rows_of(batch, signals)
    columns = {name: batch.column(name) for name in ("doc_id", "url", "raw_part", "raw_line", "text_digest", "n_chars")}
    schema = documents_with(signals.column_names)
    by_models = [name for name in schema.names if name in _BY_MODELS]
    columns |= {name: take_or_null(signals, name, measured) for name in (*_MEASURED, *by_models)}
    columns |= {name: take_or_null(verdicts, name, judged) for name in ("rules_failed", "rules_not_applied")}
    columns |= {name: take_or_null(scrubbed, name, scrubs) for name in _SCRUBBED}
    keeper_k = take_or_null(verdicts, "keeper_k", judged)
    row = take_or_null(placed, "row", lies)
    columns |= {
        "id": make_ids(source_id, batch.column("k")),
        "source_id": pa.array([source_id] * batch.num_rows, pa.large_string()),
        "verdict": _last_word(
            take_or_null(verdicts, "verdict", judged),
            take_or_null(survivors, "verdict", entered),
            take_or_null(scrubbed, "verdict", scrubs),
            pa.array([Reason.TRAIN_NEAR_VAL.value] * len(goes), pa.large_string(), mask=goes < 0),
        ),
        "cluster": take_or_null(survivors, "cluster_id", entered),
        "keeper_id": pc.coalesce(
            make_ids(source_id, keeper_k),
            take_or_null(survivors, "keeper_id", entered),
            take_or_null(withheld, "keeper_id", goes),
        ),
        "keeper_raw_part": pc.coalesce(
            _parts(keeper_k, first_ks),
            take_or_null(survivors, "keeper_raw_part", entered),
            take_or_null(withheld, "keeper_raw_part", goes),
        ),
        "keeper_jaccard": pc.cast(
            pc.coalesce(
                take_or_null(survivors, "keeper_jaccard", entered), take_or_null(withheld, "keeper_jaccard", goes)
            ),
            pa.int32(),
        ),
        "row": row,
        "shard": pc.cast(pc.divide(row, shard_rows), pa.int32()),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _parts(k: pa.Array, first_ks: list[int]) -> pa.Array:
    """The raw part each k lies in; null where k is."""
    missing = pc.is_null(k).to_numpy(zero_copy_only=False)
    part = np.searchsorted(np.array(first_ks, np.int64), pc.fill_null(k, 0).to_numpy(), side="right") - 1
    return pa.array(part.astype(np.int32), mask=missing)


def _last_word(*verdicts: pa.Array) -> pa.Array:
    """Per row the first verdict that is not `kept`; a stage that the row did not reach says nothing."""
    said = [pc.if_else(pc.equal(verdict, _KEPT), pa.scalar(None, pa.large_string()), verdict) for verdict in verdicts]
    return pc.coalesce(*said, _KEPT)
