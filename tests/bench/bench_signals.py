"""MB of text a CPU second: the text signals, what is measured beside them, the verdicts, and plain Python.

python -m tests.bench.bench_signals [FOLDER]

FOLDER holds *.jsonl.zst files whose lines have a `text`; without it the shared collection is read. The slice is 12 MB
of documents of 200 to 12,000 characters in path order, for plain Python (the tests' twin of the same signals) its first
MB. Medians of 3, one thread; compiling, or loading what was compiled before, is stated apart.
"""

import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pyarrow as pa
import zstandard

from corpus_assets.kernels.exact_text import exact_digests
from corpus_assets.kernels.text_signals import text_signals
from corpus_assets.stages.filter_documents import filter_documents
from corpus_assets.stages.identify_language import identify
from corpus_assets.stages.measure_documents import measure_documents
from corpus_assets.stages.normalize_documents import normalize_documents
from formats.reasons import FILTERS
from formats.stage_tables import RAW
from tests.kernels import reference_signals
from tests.shared_data import DATA

SLICE_BYTES, PLAIN_BYTES = 12_000_000, 1_000_000
SHORTEST, LONGEST = 200, 12_000
BATCH_ROWS = 1024
NO_DUPLICATES = pa.table({"k": pa.array([], pa.int64()), "keeper_k": pa.array([], pa.int64())})


def texts(folder: Path) -> Iterator[str]:
    """Texts of fitting length, file after file."""
    for path in sorted(folder.rglob("*.jsonl.zst")):
        with open(path, "rb") as file:
            stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            for line in io.TextIOWrapper(stream, "utf-8"):
                text = json.loads(line).get("text")
                if text and SHORTEST <= len(text) <= LONGEST:
                    yield text


def first_bytes(source: Iterator[str] | list[str], limit: int) -> list[str]:
    taken, size = [], 0
    for text in source:
        if size >= limit:
            break
        taken.append(text)
        size += len(text.encode())
    return taken


def batches(documents: list[str]) -> list[pa.RecordBatch]:
    """DOCUMENTS batches as the pipeline would hand them on."""
    found = []
    for first in range(0, len(documents), BATCH_ROWS):
        part = documents[first : first + BATCH_ROWS]
        same = {"url": "bench", "fetched_at": "2026-01-01T00:00:00Z", "license_spdx": "CC0-1.0"}
        rows = [{"raw_line": i, "text": text} | same for i, text in enumerate(part)]
        raw = pa.RecordBatch.from_pylist(rows, RAW)
        found.append(normalize_documents(raw, source_id="bench", raw_part=0, first_k=first))
    return found


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def report(name: str, num_bytes: int, work: Callable[[], object]) -> float:
    speed = num_bytes / 1e6 / median(cpu_seconds(work) for _ in range(3))
    print(f"{name:<44}{speed:>12,.2f} MB per CPU second")
    return speed


def main(folder: Path) -> None:
    documents = first_bytes(texts(folder), SLICE_BYTES)
    plain = first_bytes(documents, PLAIN_BYTES)
    size, plain_size = (sum(len(text.encode()) for text in part) for part in (documents, plain))
    source = batches(documents)
    print(f"{len(documents):,} documents, {size / 1e6:.1f} MB, from {folder.name}")
    print(f"first call {cpu_seconds(lambda: text_signals(pa.array(['a'], pa.large_string()))):.2f} s")
    signals = [measure_documents(batch) for batch in source]
    rules = {"profile": "prose", "thresholds": {}, "filters": FILTERS, "lang_allow": ()}

    fast = report("text_signals", size, lambda: [text_signals(batch["text"]) for batch in source])
    report("exact_digests", size, lambda: [exact_digests(batch["text"]) for batch in source])
    report("identify, both voices", size, lambda: [identify(batch["text"]) for batch in source])
    report("measure_documents, both voices", size, lambda: [measure_documents(batch) for batch in source])
    report(
        "measure_documents, second voice where unsure",
        size,
        lambda: [measure_documents(batch, second_voice="unsure") for batch in source],
    )
    report("filter_documents", size, lambda: [filter_documents(batch, NO_DUPLICATES, **rules) for batch in signals])
    slow = report("the same signals in plain Python", plain_size, lambda: [*map(reference_signals.signals, plain)])
    print(f"text_signals is {fast / slow:,.0f} times plain Python")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
