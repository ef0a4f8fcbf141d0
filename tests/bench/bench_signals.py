"""The text signals, what is measured beside them, and the verdicts; plain Python is the tests' twin of the signals."""

import pyarrow as pa

from corpus_assets.kernels.text_signals import text_signals
from corpus_assets.stages.filter_documents import filter_documents
from corpus_assets.stages.measure_documents import measure_documents
from corpus_assets.stages.normalize_documents import normalize_documents
from formats.reasons import FILTERS
from formats.stage_tables import RAW
from tests.bench.documents import Corpus, megabytes
from tests.bench.measure import Case, Prepared
from tests.kernels import reference_signals

BATCH_ROWS = 1024
NO_DUPLICATES = pa.table({"k": pa.array([], pa.int64()), "keeper_k": pa.array([], pa.int64())})
THRESHOLDS: dict[str, int | None] = {}


def raw_batches(text: pa.LargeStringArray) -> list[pa.RecordBatch]:
    """RAW batches as a raw set gives them."""
    found = []
    for first in range(0, len(text), BATCH_ROWS):
        part = text.slice(first, BATCH_ROWS)
        constant = {"url": "bench", "fetched_at": "2026-01-01T00:00:00Z", "license_spdx": "CC0-1.0"}
        columns = {name: pa.array([value] * len(part), pa.large_string()) for name, value in constant.items()}
        columns |= {"raw_line": pa.array(range(first, first + len(part)), pa.int64()), "text": part}
        found.append(pa.RecordBatch.from_arrays([columns[name] for name in RAW.names], schema=RAW))
    return found


def _normalized(batch: pa.RecordBatch) -> pa.RecordBatch:
    return normalize_documents(batch, source_id="bench", raw_part=0, first_k=0)


def normalize(corpus: Corpus) -> Prepared:
    raw = raw_batches(corpus.text())
    _normalized(raw[0])
    return Prepared(lambda: [_normalized(batch) for batch in raw], megabytes(corpus.text()))


def signals(corpus: Corpus) -> Prepared:
    text = corpus.text()
    text_signals(text[:2])
    return Prepared(lambda: text_signals(text), megabytes(text))


def plain_signals(corpus: Corpus) -> Prepared:
    texts = corpus.texts(corpus.sizes.plain)
    return Prepared(lambda: [reference_signals.signals(text) for text in texts], megabytes(texts))


def measured(corpus: Corpus) -> Prepared:
    documents = [_normalized(batch) for batch in raw_batches(corpus.text())]
    measure_documents(documents[0].slice(0, 2))
    return Prepared(lambda: [measure_documents(batch) for batch in documents], megabytes(corpus.text()))


def verdicts(corpus: Corpus) -> Prepared:
    found = [measure_documents(_normalized(batch)) for batch in raw_batches(corpus.text())]
    rules = {"profile": "prose", "thresholds": THRESHOLDS, "filters": FILTERS, "lang_allow": ()}
    return Prepared(
        lambda: [filter_documents(batch, NO_DUPLICATES, **rules) for batch in found], megabytes(corpus.text())
    )


CASES = {
    "normalized documents with ids": Case(normalize),
    "Gopher and repetition signals": Case(signals, 40),
    "plain Python, the tests' twin": Case(plain_signals, peer_of="Gopher and repetition signals"),
    "all that is measured, both voices": Case(measured),
    "verdicts from signals": Case(verdicts),
}
