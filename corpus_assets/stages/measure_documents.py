"""What is measured about each document, once: counts, the exact digest, the language. No rule reads text."""

import pyarrow as pa

from corpus_assets.kernels.exact_text import exact_digests
from corpus_assets.kernels.text_signals import text_signals
from corpus_assets.stages import identify_language
from formats.stage_tables import SIGNALS

CODE_VERSION = "3"
LIBRARIES = ("pyarrow", "unicodedata2", *identify_language.LIBRARIES)


def measure_documents(
    batch: pa.RecordBatch, *, second_voice: identify_language.SecondVoice = "always"
) -> pa.RecordBatch:
    """DOCUMENTS rows -> SIGNALS rows, in the same order. quality is null: not measured here."""
    text = batch.column("text")
    counted = text_signals(text)
    lang, lang_score = identify_language.identify(text, second_voice=second_voice)
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
