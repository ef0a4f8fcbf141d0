"""What a corpus of N documents would take: bytes, CPU hours and wall hours, from rates measured here and now.

Text stages are run over documents of a version; near dedup's sorts over signatures made from a seed, at several sizes,
and extrapolated by what sorting costs. Fetching and extraction are left out: they hang on networks and formats.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.shingles import shingle_sets
from corpus_assets.plans import scale
from corpus_assets.plans.pinned import Build, Pair
from corpus_assets.plans.source_stages import documents, measure_settings
from corpus_assets.stages.measure_documents import measure_documents
from corpus_assets.stages.scrub_pii import scrub
from corpus_assets.stages.sign_documents import sign_documents
from formats import dataset
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError
from resources.engines.contract import Engine

SAMPLE_BYTES = 4_000_000
SIZES = (20_000, 100_000, 500_000)
"""Signatures over which the sorts are measured: some ten CPU seconds on one core of 2026."""
BYTES_PER_SIGNATURE, BYTES_PER_BAND_ROW = 512, 20
CHARS_PER_TOKEN = 4.0
"""Of English text under a byte-level BPE vocabulary of some 50,000; other languages and code take more tokens."""


@dataclass(frozen=True)
class Rates:
    """What was measured: bytes of text a document, MB (10^6 bytes of UTF-8) a CPU second of each text stage, and the
    law of the sorts. `compressed_ratio` is stored bytes to text bytes.
    """

    bytes_per_doc: float
    chars_per_doc: float
    megabytes_per_second: dict[str, float]
    sorts: scale.Fit
    measured: tuple[tuple[int, float], ...]
    compressed_ratio: float


@dataclass(frozen=True)
class Estimate:
    """One line: a step, its CPU hours, and the bytes that it writes."""

    step: str
    cpu_hours: float
    written_bytes: float


@dataclass(frozen=True)
class Plan:
    num_docs: int
    num_tokens: float
    text_bytes: float
    cores: int
    steps: tuple[Estimate, ...]
    rates: Rates

    @property
    def cpu_hours(self) -> float:
        return sum(step.cpu_hours for step in self.steps)

    @property
    def wall_hours(self) -> float:
        """Every core busy from end to end: a lower bound."""
        return self.cpu_hours / self.cores

    def as_json(self) -> dict[str, Any]:
        return {
            "documents": self.num_docs,
            "tokens": self.num_tokens,
            "text_bytes": self.text_bytes,
            "cores": self.cores,
            "cpu_hours": self.cpu_hours,
            "wall_hours_at_least": self.wall_hours,
            "gb_per_second": self.text_bytes / 1e9 / max(self.wall_hours * 3600, 1e-9),
            "steps": [vars(step) for step in self.steps],
            "rates": {
                "bytes_per_document": self.rates.bytes_per_doc,
                "megabytes_per_cpu_second": self.rates.megabytes_per_second,
                "sort_seconds": {str(n): seconds for n, seconds in self.rates.measured},
                "sort_law": vars(self.rates.sorts),
            },
        }


def measure(
    build: Build, pairs: list[Pair], sizes: Sequence[int], say: Callable[[str], None] = lambda _: None
) -> Rates:
    """Raises ConfigError for a version whose documents are not made yet, or that has none."""
    say("reading documents")
    text = _sample(build, pairs)
    num_bytes = pc.sum(pc.binary_length(text)).as_py()
    per_second = {}
    for name, work in _text_stages(text, pairs[0].config).items():
        say(f"measuring {name}")
        work()  # compiles what it needs
        per_second[name] = num_bytes / 1e6 / _cpu_seconds(work)
    found = []
    for n in sizes:
        say(f"measuring sorts over {n:,} signatures")
        found.append((n, _sorts(build.engine, n, pairs[0].config)))
    stored = pa.compress(b"".join(one.encode() for one in text.to_pylist()), codec="zstd", asbytes=True)
    chars = pc.sum(pc.utf8_length(text)).as_py()
    ratio = len(stored) / num_bytes
    return Rates(num_bytes / len(text), chars / len(text), per_second, scale.fit(found), tuple(found), ratio)


def plan(rates: Rates, num_docs: int, cores: int, config: CorpusConfig, near_ratio: float = 0.2) -> Plan:
    """`near_ratio` is the share of documents that are in a candidate pair, whose texts are read once more."""
    text_bytes = num_docs * rates.bytes_per_doc
    steps = []
    for name, speed in rates.megabytes_per_second.items():
        share = near_ratio if name == VERIFY else 1.0
        steps.append(
            Estimate(name, text_bytes * share / 1e6 / speed / 3600, _written(name, num_docs, text_bytes, rates))
        )
    band_bytes = num_docs * config.dedup.near.bands * BYTES_PER_BAND_ROW
    steps.append(Estimate("bands, candidates, clusters", rates.sorts.seconds(num_docs) / 3600, 2.0 * band_bytes))
    tokens = num_docs * rates.chars_per_doc / CHARS_PER_TOKEN
    return Plan(num_docs, tokens, text_bytes, cores, tuple(steps), rates)


MEASURE, SIGN, VERIFY, SCRUB = "signals", "signatures", "exact shingle sets", "scrub personal data"


def _text_stages(text: pa.Array, config: CorpusConfig) -> dict[str, Callable[[], object]]:
    near = config.dedup.near
    n = len(text)
    batch = pa.record_batch(
        {
            "k": pa.array(range(n), pa.int64()),
            "doc_id": pa.array([f"{k:032x}" for k in range(n)], pa.large_string()),
            "crawl_date": pa.array(["2026-01-01T00:00:00Z"] * n, pa.large_string()),
            "text": text,
            "n_chars": pc.cast(pc.utf8_length(text), pa.int64()),
        }
    )
    return {
        MEASURE: lambda: measure_documents(batch, **measure_settings(config)),
        SIGN: lambda: sign_documents(batch, shingle=near.shingle, unit=near.shingle_unit, seed=near.seed),
        VERIFY: lambda: shingle_sets(text, near.shingle, near.shingle_unit),
        SCRUB: lambda: scrub(text, ips=config.pii.ips, phone_regions=config.pii.phone_regions, code=False),
    }


def _written(step: str, num_docs: int, text_bytes: float, rates: Rates) -> float:
    """Bytes that a step leaves on disk: texts are written as documents, scrubbed and as shards."""
    if step == SIGN:
        return float(num_docs * BYTES_PER_SIGNATURE)
    return 3 * text_bytes * rates.compressed_ratio if step == SCRUB else 0.0


def _sample(build: Build, pairs: list[Pair]) -> pa.Array:
    found, size = [], 0
    share = SAMPLE_BYTES // len(pairs) + 1
    for pair in pairs:
        taken = 0
        for batch in dataset.read(documents(build, pair).open(), columns=("text",)):
            text = batch.column("text").cast(pa.large_string())
            lengths = pc.binary_length(text).to_numpy()
            rows = int((lengths.cumsum() <= share - taken).sum()) or 1
            found.append(text.slice(0, rows))
            taken += int(lengths[:rows].sum())
            if taken >= share or rows < len(text):
                break
        size += taken
    if not size:
        raise ConfigError(f"{pairs[0].version} has no documents to measure; name a version that has some")
    return pa.concat_arrays(found)


def _cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return max(time.process_time() - start, 1e-6)


def _sorts(engine: Engine, num_docs: int, config: CorpusConfig) -> float:
    with tempfile.TemporaryDirectory(prefix="corpus-plan-") as folder:
        return scale.measure(engine, num_docs, Path(folder), config.dedup.near).seconds
