"""What models say of each document that the cheap rules keep; of the others they are not asked, since it is dear."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages import score_perplexity, score_quality
from corpus_assets.stages.score_perplexity import perplexities, stored_model
from corpus_assets.stages.score_quality import stored_scorer
from corpus_assets.stages.side_rows import kept_among, rows_of, take_or_null
from formats.stage_tables import SIGNALS, SIGNALS_BY_MODELS, SIGNALS_WITH_SAFETY

CODE_VERSION = f"1.{score_quality.CODE_VERSION}.{score_perplexity.CODE_VERSION}"
LIBRARIES = ("pyarrow", "numpy")


class QualityFile(TypedDict):
    path: str
    sha256: str
    label: str | None
    langs: NotRequired[list[str]]
    """Documents in other languages are not scored; all are, where it is missing."""


class PerplexityFile(TypedDict):
    path: str
    sha256: str


def measure_by_models(
    batch: pa.RecordBatch,
    signals: pa.Table,
    verdicts: pa.Table,
    *,
    quality: QualityFile | None,
    ppl: Mapping[str, PerplexityFile],
) -> pa.RecordBatch:
    """DOCUMENTS rows (k, text), their SIGNALS and their verdict by the cheap rules -> SIGNALS_BY_MODELS rows.

    quality and ppl are null, not measured, where the verdict is not `kept`, and where there is no model: quality None,
    or no entry in ppl, or in the `langs` of a classifier, for the document's language.
    """
    return _measured(batch, signals, verdicts, {"quality": quality}, ppl, SIGNALS_BY_MODELS)


def measure_with_safety(
    batch: pa.RecordBatch,
    signals: pa.Table,
    verdicts: pa.Table,
    *,
    quality: QualityFile | None,
    ppl: Mapping[str, PerplexityFile],
    safety: QualityFile | None,
) -> pa.RecordBatch:
    """As `measure_by_models`, and what a second classifier says: SIGNALS_WITH_SAFETY rows."""
    return _measured(batch, signals, verdicts, {"quality": quality, "safety": safety}, ppl, SIGNALS_WITH_SAFETY)


def _measured(
    batch: pa.RecordBatch,
    signals: pa.Table,
    verdicts: pa.Table,
    classifiers: Mapping[str, QualityFile | None],
    ppl: Mapping[str, PerplexityFile],
    schema: pa.Schema,
) -> pa.RecordBatch:
    at = rows_of(batch, signals)
    columns = {name: take_or_null(signals, name, at) for name in SIGNALS.names}
    kept = kept_among(batch, verdicts)
    found: dict[str, list[pa.Array]] = {"ppl": [], **{name: [] for name in classifiers}}
    rows: dict[str, list[np.ndarray]] = {name: [] for name in found}
    for name, file in classifiers.items():
        mine = kept if file is None or "langs" not in file else _of_langs(kept, columns["lang"], file["langs"])
        if file is not None and len(mine):
            score = stored_scorer(file["path"], file["sha256"], file["label"])
            rows[name].append(mine)
            found[name].append(pa.array(score(batch.column("text").take(pa.array(mine)))))
    for lang, model in sorted(ppl.items()):
        mine = _of_langs(kept, columns["lang"], [lang])
        if len(mine):
            rows["ppl"].append(mine)
            found["ppl"].append(perplexities(batch.column("text").take(pa.array(mine)), stored_model(**model)))
    for name in found:
        columns[name] = _placed(rows[name], found[name], batch.num_rows)
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _of_langs(rows: np.ndarray, langs: pa.Array, wanted: list[str]) -> np.ndarray:
    """Those of the rows whose document is in one of the languages."""
    is_of = pc.is_in(langs.take(pa.array(rows)), pa.array(wanted, langs.type))
    return rows[is_of.to_numpy(zero_copy_only=False)]


def _placed(rows: list[np.ndarray], values: list[pa.Array], num_rows: int) -> pa.Array:
    """int32 of `num_rows`: the values at their rows, null elsewhere."""
    if not rows:
        return pa.nulls(num_rows, pa.int32())
    at = np.full(num_rows, -1, np.int64)
    at[np.concatenate(rows)] = np.arange(sum(map(len, rows)))
    return pa.concat_arrays(values).take(pa.array(at, mask=at < 0))
