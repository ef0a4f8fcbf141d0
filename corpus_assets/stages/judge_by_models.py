"""The verdict of each document that the cheap rules kept, by what models say of it and a config's limits."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.side_rows import rows_of, take_or_null
from formats.model_rules import EVERY_LANGUAGE
from formats.reasons import MODEL_RULES, RULE_BIT, Reason, Rule
from formats.stage_tables import VERDICTS

CODE_VERSION = "1"
LIBRARIES = ("pyarrow", "numpy")
_KEPT = pa.scalar(Reason.KEPT.value, pa.large_string())


def judge_by_models(
    batch: pa.RecordBatch, signals: pa.Table, *, limits: Mapping[str, Mapping[str, int]]
) -> pa.RecordBatch:
    """VERDICTS rows by the cheap rules -> VERDICTS rows, in the same order.

    signals: k, lang, quality, ppl, and safety where the version has such a model, of the same rows.
    limits: of a reason by language, EVERY_LANGUAGE for all, in the unit of its signal; a rule without one does not
    apply, nor does it where its signal was not measured.
    """
    at = rows_of(batch, signals)
    failed, not_applied = (_whole(batch.column(name)) for name in ("rules_failed", "rules_not_applied"))
    verdict = batch.column("verdict")
    for rule in (rule for rule in MODEL_RULES if rule.signal in signals.column_names):
        applies, fails = _evaluate(rule, limits.get(rule.reason, {}), signals, at)
        not_applied[~applies] |= RULE_BIT[rule.reason]
        failed[fails] |= RULE_BIT[rule.reason]
        goes = pc.and_(pa.array(fails), pc.equal(verdict, _KEPT))
        verdict = pc.if_else(goes, pa.scalar(rule.reason, pa.large_string()), verdict)
    columns = [batch.column("k"), verdict, pa.array(failed), pa.array(not_applied), batch.column("keeper_k")]
    return pa.RecordBatch.from_arrays(columns, schema=VERDICTS)


def _evaluate(
    rule: Rule, limits: Mapping[str, int], signals: pa.Table, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(the rule applies, the document fails it) per row; the second never without the first."""
    signal, lang = take_or_null(signals, rule.signal, at), take_or_null(signals, "lang", at)
    applies, fails = np.zeros(len(at), np.bool_), np.zeros(len(at), np.bool_)
    compare = pc.less if rule.bound == "min" else pc.greater
    measured = _bools(pc.is_valid(signal))
    for language, limit in limits.items():
        mine = measured if language == EVERY_LANGUAGE else measured & _bools(pc.equal(lang, language))
        applies |= mine
        fails |= mine & _bools(pc.fill_null(compare(signal, limit), False))
    return applies, fails


def _bools(column: pa.Array) -> np.ndarray:
    return np.array(column.to_numpy(zero_copy_only=False), np.bool_)


def _whole(column: pa.Array) -> np.ndarray:
    return np.array(column.to_numpy(zero_copy_only=False), np.int64)
