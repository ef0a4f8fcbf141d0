"""What is measured about each document, once: counts, the exact digest, the language. No rule reads text."""

from functools import cache
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.exact_text import exact_digests
from corpus_assets.kernels.text_signals import StopWords, text_signals
from corpus_assets.stages import identify_language, mixed_languages
from corpus_assets.stages.function_words import FUNCTION_WORDS
from formats.languages import UNDETERMINED
from formats.stage_tables import SIGNALS

CODE_VERSION = "4"
LIBRARIES = ("pyarrow", "unicodedata2", *identify_language.LIBRARIES)


Mixed = Literal["greatest", "und"]


def measure_documents(
    batch: pa.RecordBatch, *, second_voice: identify_language.SecondVoice = "always", mixed: Mixed = "greatest"
) -> pa.RecordBatch:
    """DOCUMENTS rows -> SIGNALS rows, in the same order. quality is null: not measured here.

    mixed: whether a text in two languages has the label of its greatest part, or is `und` with the score 0.
    """
    text = batch.column("text")
    lang, lang_score = identify_language.identify(text, second_voice=second_voice)
    if mixed == UNDETERMINED:
        lang, lang_score = _without_mixed(text, lang, lang_score)
    counted = text_signals(text, lang, _stop_words())
    columns = {
        "k": batch.column("k"),
        "doc_id": batch.column("doc_id"),
        "crawl_date": batch.column("crawl_date"),
        "exact_digest": exact_digests(text),
        "lang": lang,
        "lang_score": lang_score,
        "quality": pa.nulls(batch.num_rows, pa.int32()),
        **dict(zip(counted.schema.names, counted.columns, strict=True)),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in SIGNALS.names], schema=SIGNALS)


def _without_mixed(text: pa.Array, lang: pa.Array, lang_score: pa.Array) -> tuple[pa.Array, pa.Array]:
    of_two = mixed_languages.is_mixed(text)
    return (
        pc.if_else(of_two, pa.scalar(UNDETERMINED, lang.type), lang),
        pc.if_else(of_two, pa.scalar(0, lang_score.type), lang_score),
    )


@cache
def _stop_words() -> StopWords:
    """Made once a process, at the first document: each entry is cut by the compiled word pass."""
    return StopWords.of({code: words.split() for code, words in FUNCTION_WORDS.items() if code != "en"})
