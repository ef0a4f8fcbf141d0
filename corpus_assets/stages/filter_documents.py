"""The verdict of each document, from what was measured and a profile's thresholds; no text is read.

Every rule is evaluated, so the evidence says all that was wrong; the verdict names the first.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.side_rows import rows_of, take_or_null
from formats.errors import ConfigError
from formats.reasons import FILTERS, PROFILES, RULE_BIT, RULE_BY_REASON, RULES, Reason, Rule
from formats.stage_tables import VERDICTS

CODE_VERSION = "2"
LIBRARIES = ("pyarrow",)

STOP_WORD_RULES = ("too_few_stop_words",)
"""They apply to English, and to languages for which they have a limit: others have no stop words of their own."""
_ENGLISH = "en"
SPACED_WORD_RULES = (
    "mean_word_too_short",
    "mean_word_too_long",
    "too_few_alphabetic_words",
    *(f"too_many_duplicate_{n}grams" for n in range(5, 10)),
)
"""They take words to be written apart, so they do not apply where more than half of the words are single characters
(Chinese, Japanese, Thai …): 5 to 9 of those are two to four words, which every text repeats. Ten of them are a phrase.
"""
_HALF = 500_000

_VERDICTS = pa.array([*(rule.reason for rule in RULES), Reason.KEPT, Reason.EXACT_DUPLICATE], pa.large_string())
_KEPT, _EXACT_DUPLICATE = len(RULES), len(RULES) + 1


def filter_of(reason: str) -> str | None:
    """The filter whose count in the manifest a dropped document adds to; None for what is not a filter rule."""
    rule = RULE_BY_REASON.get(reason)
    return rule.filter if rule else None


def filter_documents(
    batch: pa.RecordBatch,
    duplicates: pa.Table,
    *,
    profile: str,
    thresholds: Mapping[str, int | None],
    filters: Sequence[str],
    lang_allow: Sequence[str],
    by_language: Mapping[str, Mapping[str, int | None]] = MappingProxyType({}),
) -> pa.RecordBatch:
    """SIGNALS rows -> VERDICTS rows, in the same order.

    duplicates: k and keeper_k of documents whose text came before in the source, sorted by k; their verdict is
    `exact_duplicate`, whatever the rules say. thresholds: a reason's limit in the unit of its signal, None where its
    rule does not apply; a reason that is missing has the profile's default. by_language: other limits for
    the documents of a language, None where its rule does not apply to it. filters: those configured, in the order in
    which they name a verdict. An empty lang_allow keeps every language.
    Raises ConfigError for a profile, reason or filter that does not exist.
    """
    _refuse_unknown(profile, [*thresholds, *chain.from_iterable(by_language.values())], filters)
    n = batch.num_rows
    failed, not_applied = np.zeros(n, np.int64), np.zeros(n, np.int64)
    verdict = np.full(n, _KEPT, np.int64)
    languages = _rows_of(batch, by_language)
    for place, rule in _in_order(filters):
        limit = thresholds.get(rule.reason, rule.limit(profile))
        own = {code: by_language[code][rule.reason] for code in languages if rule.reason in by_language[code]}
        if rule.filter not in filters:
            limit, own = None, {}
        applies, fails = _evaluate(batch, rule, limit, lang_allow)
        for code, other in own.items():
            rows, mine = languages[code]
            applies[rows], fails[rows] = _evaluate(mine, rule, other, lang_allow, has_own=True)
        not_applied[~applies] |= RULE_BIT[rule.reason]
        failed[fails] |= RULE_BIT[rule.reason]
        verdict[fails & (verdict == _KEPT)] = place

    at = rows_of(batch, duplicates)
    verdict[at >= 0] = _EXACT_DUPLICATE
    keeper = take_or_null(duplicates, "keeper_k", at)
    columns = [batch.column("k"), _VERDICTS.take(pa.array(verdict)), pa.array(failed), pa.array(not_applied), keeper]
    return pa.RecordBatch.from_arrays(columns, schema=VERDICTS)


def _rows_of(batch: pa.RecordBatch, by_language: Mapping[str, object]) -> dict[str, tuple[np.ndarray, pa.RecordBatch]]:
    """Which rows are of each language that has limits of its own, and these rows."""
    lang = batch.column("lang")
    found = {}
    for code in pc.unique(lang).to_pylist() if by_language else ():
        if code in by_language:
            rows = np.flatnonzero(_bools(pc.equal(lang, code)))
            found[code] = (rows, batch.take(pa.array(rows)))
    return found


def _refuse_unknown(profile: str, reasons: Sequence[str], filters: Sequence[str]) -> None:
    for kind, names, known in (
        ("profile", [profile], PROFILES),
        ("reason", reasons, RULE_BY_REASON),
        ("filter", filters, FILTERS),
    ):
        if unknown := [name for name in names if name not in known]:
            raise ConfigError(f"no {kind} is called {', '.join(unknown)}; there are {', '.join(known)}")


def _in_order(filters: Sequence[str]) -> list[tuple[int, Rule]]:
    """Each rule with its place in RULES, in the order in which they name a verdict; not configured ones come last."""
    rank = {name: i for i, name in enumerate(filters)}
    return sorted(enumerate(RULES), key=lambda item: rank.get(item[1].filter, len(rank)))


def _evaluate(
    batch: pa.RecordBatch, rule: Rule, limit: int | None, lang_allow: Sequence[str], *, has_own: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """(the rule applies, the document fails it) per row; the second never without the first."""
    if limit is None or (rule.bound == "allow" and not lang_allow):
        return np.zeros(batch.num_rows, np.bool_), np.zeros(batch.num_rows, np.bool_)
    signal = batch.column(rule.signal)
    applies = _bools(pc.is_valid(signal))
    if rule.reason in STOP_WORD_RULES and not has_own:
        applies &= _bools(pc.equal(batch.column("lang"), _ENGLISH))
    if rule.reason in SPACED_WORD_RULES:
        applies &= _bools(pc.less_equal(batch.column("single_word_ratio"), _HALF))
    if rule.bound == "allow":
        fails = ~_bools(pc.is_in(signal, pa.array(lang_allow, signal.type)))
    else:
        compare = pc.less if rule.bound == "min" else pc.greater
        fails = _bools(pc.fill_null(compare(signal, limit), False))
    return applies, applies & fails


def _bools(column: pa.Array) -> np.ndarray:
    return np.array(column.to_numpy(zero_copy_only=False), np.bool_)
