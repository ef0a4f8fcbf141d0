"""How many words of each document stand on the word lists of its language, and whether that is too many."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.kernels.listed_words import WordTable, listed_words, word_table
from corpus_assets.stages.side_rows import rows_of, take_or_null
from corpus_assets.stages.site_verdicts import filter_sites_first
from formats.model_rules import EVERY_LANGUAGE
from formats.reasons import Reason
from formats.stage_tables import LISTED_WORDS, VERDICTS

CODE_VERSION = "1"
LIBRARIES = ("pyarrow", "unicodedata2")
_MILLION = 1_000_000
_KEPT = pa.scalar(Reason.KEPT.value, pa.large_string())


@cache
def stored_words(path: str) -> WordTable:
    """The table of the WORD_ENTRIES in a file named by its identity, made once a process."""
    return word_table(pq.read_table(path).column("entry").combine_chunks().cast(pa.large_string()))


def count_listed_words(
    batch: pa.RecordBatch, signals: pa.Table, *, lists: Sequence[Mapping[str, Any]]
) -> pa.RecordBatch:
    """`k` and `text` of DOCUMENTS -> LISTED_WORDS, a row for each document and list that share a word.

    signals: k and lang. lists: name, path, lang (EVERY_LANGUAGE for all), max_millionths and min_words of each: what
    has at least min_words listed words, and a larger share of them, has too many.
    """
    lang = take_or_null(signals, "lang", rows_of(batch, signals))
    found = []
    for number, one in enumerate(lists):
        mine = np.arange(batch.num_rows)
        if one["lang"] != EVERY_LANGUAGE:
            mine = np.flatnonzero(pc.fill_null(pc.equal(lang, one["lang"]), False).to_numpy(zero_copy_only=False))
        listed, counted = listed_words(batch.column("text").take(pa.array(mine)), stored_words(one["path"]))
        some = np.flatnonzero(listed)
        listed, counted = listed[some], counted[some]
        too_many = (listed >= one["min_words"]) & (listed * _MILLION > one["max_millionths"] * counted)
        found.append((mine[some], np.full(len(some), number), listed, counted, too_many))
    row, of_list, *counts = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((of_list, row))
    names = pa.array([one["name"] for one in lists], pa.large_string())
    columns = [
        batch.column("k").take(pa.array(row[order])),
        names.take(pa.array(of_list[order])),
        *(pa.array(column[order]) for column in counts),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LISTED_WORDS)


def filter_words_last(
    batch: pa.RecordBatch, duplicates: pa.Table, matches: pa.Table, words: pa.Table, **rules: Any
) -> pa.RecordBatch:
    """As `site_verdicts.filter_sites_first`, but that what it keeps goes when it has too many listed words."""
    judged = filter_sites_first(batch, duplicates, matches, **rules)
    guilty = pc.unique(words.filter(words.column("too_many")).column("k"))
    goes = pc.and_(pc.is_in(judged.column("k"), guilty), pc.equal(judged.column("verdict"), _KEPT))
    reason = pa.scalar(Reason.TOO_MANY_LISTED_WORDS.value, pa.large_string())
    columns = {name: judged.column(name) for name in VERDICTS.names}
    columns["verdict"] = pc.if_else(goes, reason, columns["verdict"])
    return pa.RecordBatch.from_arrays([columns[name] for name in VERDICTS.names], schema=VERDICTS)
