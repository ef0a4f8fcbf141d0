"""What is measured about each document, once: counts, the exact digest, the language. No rule reads text."""

from functools import cache

import pyarrow as pa

from corpus_assets.kernels.exact_text import exact_digests
from corpus_assets.kernels.text_signals import StopWords, text_signals
from corpus_assets.stages import identify_language
from corpus_assets.stages.function_words import FUNCTION_WORDS
from formats.stage_tables import SIGNALS

CODE_VERSION = "4"
LIBRARIES = ("pyarrow", "unicodedata2", *identify_language.LIBRARIES)


def measure_documents(
    batch: pa.RecordBatch, *, second_voice: identify_language.SecondVoice = "always"
) -> pa.RecordBatch:
    """DOCUMENTS rows -> SIGNALS rows, in the same order. quality is null: not measured here."""
    text = batch.column("text")
    lang, lang_score = identify_language.identify(text, second_voice=second_voice)
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


@cache
def _stop_words() -> StopWords:
    """Made once a process, at the first document: each entry is cut by the compiled word pass."""
    return StopWords.of({code: words.split() for code, words in FUNCTION_WORDS.items() if code != "en"})
