"""All text stages of a version together, from .jsonl.zst files to published shards, by the plans alone (no Dagster).

Every round is a new process (one_build.py) over a new artifacts root with one worker. Start-up counts, but for the rows
that say otherwise; each stage's share is told below. A document that a rule drops costs nothing further on, as in every
pipeline, and how many were published stands beside it.
"""

import hashlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import zstandard

from corpus_assets.stages.identify_language import lid_176_file
from formats import ledger
from formats.layout import Layout
from formats.naming import VersionKey
from tests.bench import report_tables
from tests.bench.documents import Corpus, first_bytes, megabytes
from tests.bench.measure import Peak, Row, rounds_of
from tests.bench.one_build import WRITTEN

BENCH = "bench_pipeline"
NGRAM = 13
FIGURES = {"both": 4.0, "unsure": 6.0}
VOICES = {"both": "always", "unsure": "unsure"}
WORDS = {"both": "both voices", "unsure": "second voice where unsure"}
NEAR_DEDUP = ("minhash_signatures", "keeper_ranks", "near_edges", "dedup_clusters")
NEAR_DEDUP_FIGURE, SPEEDUP, IMPORT_SECONDS = 20.0, 1.8, 3.0
QUIZ_ITEMS = 1_000
MEMORY_MB, BESIDE_MB, MOST_GROWTH = 256, 500, 1.2
"""What a build is given and may take beside it (libraries, Dagster, what workers hold); how many times the peak of a
build the one over four times the data may have.
"""
ROW_GROUP_BYTES = 4 * 1024 * 1024
"""Small, so that the smaller of two builds has many, too, and holds no less of one than the larger."""
_OURS = ("CORPUS_ROOT", "CORPUS_CACHE", "CORPUS_WORKERS", "CORPUS_MEMORY", "DAGSTER_HOME")


def write_root(root: Path, text: pa.LargeStringArray, **rules: Any) -> Path:
    """Ledger, one source, an eval set, and a version for each setting of the second voice, with these other rules."""
    layout = Layout(root)
    layout.corpus.mkdir(parents=True)
    lines = (json.dumps({"text": one}, ensure_ascii=False).encode() for one in text.to_pylist())
    data = zstandard.ZstdCompressor(level=3).compress(b"".join(line + b"\n" for line in lines))
    (layout.corpus / "documents.jsonl.zst").write_bytes(data)
    file = {"url": "documents.jsonl.zst", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    row = {
        "source_id": "slice", "title": "the slice", "kind": "jsonl", "files": [file], "license_spdx": "CC0-1.0",
        "license_evidence": "a bench", "attribution": "nobody", "retrieved": "2026-11-30", "bucket": "bench",
        "profile": "short",
    }  # fmt: skip
    ledger.append(layout.ledger, ledger.from_json(row))
    quiz = b"".join(json.dumps({"question": item}).encode() + b"\n" for item in _quiz_items())
    (root / "quiz.jsonl").write_bytes(quiz)
    protected = {"name": "quiz", "path": "quiz.jsonl", "sha256": hashlib.sha256(quiz).hexdigest()}
    for version, voice in VOICES.items():
        config = {
            "dataset": "bench", "version": version, "sources": ["slice"], "licenses": {"allow": ["CC0-1.0"]},
            "lang": {"second_voice": voice}, **rules,
            "decontaminate": {"eval_sets": [{**protected, "format": "jsonl", "fields": ["question"]}]},
        }  # fmt: skip
        path = layout.config(VersionKey("bench", version))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(config, indent=2))
    return root


def _quiz_items() -> Iterator[str]:
    for number in range(QUIZ_ITEMS):
        yield f"what does item {number} of this quiz protect " + "from the bench " * 9


class Builds:
    """Builds of one version over copies of one root, each in a process of its own."""

    def __init__(self, root: Path, version: str, workers: int = 1) -> None:
        self._root, self._version, self._workers = root, version, workers
        self.reports: list[dict[str, Any]] = []
        self.whole: list[float] = []
        """CPU seconds of each build, start-up included."""
        self.peak_mb = 0.0

    def once(self) -> float:
        """CPU seconds of one build, start-up included."""
        root = Path(tempfile.mkdtemp(prefix="build-", dir=self._root.parent))
        try:
            shutil.copytree(self._root, root, dirs_exist_ok=True)
            command = [sys.executable, "-m", "tests.bench.one_build", str(root), self._version, str(self._workers)]
            before = _ended_cpu()
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process, Peak(process.pid) as peak:
                answer, _ = process.communicate()
            if process.returncode:
                raise RuntimeError(f"{BENCH}: the build ended with exit code {process.returncode}")
            self.reports.append(json.loads(answer))
            self.peak_mb = max(self.peak_mb, peak.mb)
            self.whole.append(_ended_cpu() - before - self.reports[-1][WRITTEN])
            return self.whole[-1]
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def cpu(self, *stages: str) -> list[float]:
        """CPU seconds of the stages, or of all, in each build."""
        return [sum(report["cpu"][name] for name in stages or report["cpu"]) for report in self.reports]

    @property
    def wall(self) -> float:
        return statistics.median(report["wall"] for report in self.reports)


def peak_mb(root: Path, text: pa.LargeStringArray, workers: int = 2) -> float:
    """Build the text below `root` by the whole command, Dagster and checks included, with MEMORY_MB: the most that the
    process and all below it held, in MB.
    """
    write_root(root, text, row_group_bytes=ROW_GROUP_BYTES)
    words = ["build", "bench.both", "--memory", f"{MEMORY_MB}MB", "--workers", str(workers)]
    command = [sys.executable, "-m", "corpus_assets.cli", "--root", str(root), *words]
    environment = {name: value for name, value in os.environ.items() if name not in _OURS}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, env=environment, **piped) as build, Peak(build.pid) as peak:
        said, _ = build.communicate()
    if build.returncode:
        raise RuntimeError(f"{BENCH}: the build ended with exit code {build.returncode}: {said[-2000:]}")
    return peak.mb


def _ended_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rows(corpus: Corpus) -> Iterator[Row]:
    size = megabytes(corpus.text())
    root = write_root(corpus.scratch / "root", corpus.text())
    Builds(root, "both").once()  # compiles what is not compiled yet
    for version in VOICES:
        builds = Builds(root, version)
        name = f"all text stages, {WORDS[version]}"
        yield from _whole(name, builds, size, FIGURES[version])
        yield from _beside_datatrove(name, builds, size, corpus)
        if version == "both":
            yield from _stages(builds, size)
    if corpus.sizes.large:
        yield from _large(corpus)
    yield Row(BENCH, "import corpus_assets.definitions", "CPU s", tuple(rounds_of(_import)), IMPORT_SECONDS, True)


def _whole(name: str, builds: Builds, size: float, figure: float | None) -> Iterator[Row]:
    seconds = rounds_of(builds.once)
    note = f"{builds.reports[0]['published']:,} of {builds.reports[0]['documents']:,} published"
    rounds = tuple(size / one for one in seconds)
    yield Row(BENCH, name, "MB/CPU s", rounds, figure, peak_mb=builds.peak_mb, note=note)
    yield Row(BENCH, "  without start-up", "MB/CPU s", tuple(size / one for one in builds.cpu()))


def _beside_datatrove(name: str, builds: Builds, size: float, corpus: Corpus) -> Iterator[Row]:
    """Its stages alone, added, on the first documents; ours as a whole: reading, dedup, shards and start-up, too."""
    if not report_tables.can("datatrove_stages"):
        return
    texts = corpus.texts(corpus.sizes.peer)
    seconds, cpu = _of_datatrove(tuple(texts))
    peer = megabytes(texts) / cpu
    ours = size / statistics.median(builds.whole)
    note = ", ".join(f"{stage} {one:.1f} s" for stage, one in seconds)
    yield Row(BENCH, "datatrove, its stages added", "MB/CPU s", (peer,), peer_of=name, ratio=ours / peer, note=note)


@cache
def _of_datatrove(texts: tuple[str, ...]) -> tuple[tuple[tuple[str, float], ...], float]:
    """(CPU seconds of each stage, of all)."""
    told = {"items": list(_quiz_items()), "ngram": NGRAM, "lid": str(lid_176_file())}
    seconds, cpu = report_tables.ask("datatrove_stages", texts=list(texts), **told)
    return tuple(seconds.items()), cpu


def _stages(builds: Builds, size: float) -> Iterator[Row]:
    written = (report[WRITTEN] for report in builds.reports)
    rounds = tuple(size / (one + more) for one, more in zip(builds.cpu(*NEAR_DEDUP), written, strict=True))
    note = "from texts to signatures, pairs, clusters and what is kept"
    yield Row(BENCH, "whole near dedup, documents written", "MB/CPU s", rounds, NEAR_DEDUP_FIGURE, note=note)
    whole = statistics.median(builds.cpu())
    for stage in builds.reports[0]["cpu"]:
        rounds = tuple(builds.cpu(stage))
        note = f"{statistics.median(rounds) / whole:.0%}"
        yield Row(BENCH, f"  share of {stage}", "CPU s", rounds, is_cost=True, note=note)


def _large(corpus: Corpus) -> Iterator[Row]:
    """More text: start-up weighs less, and workers have several parts to share."""
    text = corpus.large()
    root, size = write_root(corpus.scratch / "large", text), megabytes(text)
    one, two = Builds(root, "both"), Builds(root, "both", workers=2)
    yield from _whole(f"all text stages, both voices, {size:.0f} MB", one, size, FIGURES["both"])
    rounds_of(two.once)
    note = f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    yield Row(BENCH, "2 workers against 1, the same", "times, wall", (one.wall / two.wall,), SPEEDUP, note=note)
    yield _memory(corpus)


def _memory(corpus: Corpus) -> Row:
    """Peaks of `corpus build` over a quarter of the text and over all of it."""
    text = corpus.large()
    quarter = pa.array(first_bytes(text.to_pylist(), corpus.sizes.large // 4), pa.large_string())
    peaks = [peak_mb(corpus.scratch / f"memory-{len(one)}", one) for one in (quarter, text)]
    note = f"{peaks[0]:,.0f} and {peaks[1]:,.0f} MB; {MEMORY_MB + BESIDE_MB} MB are allowed"
    name = "peak of corpus build, 4 times the text"
    return Row(BENCH, name, "times", (peaks[1] / peaks[0],), MOST_GROWTH, True, peak_mb=max(peaks), note=note)


def _import() -> float:
    """CPU seconds from nothing to a loaded code location."""
    before = _ended_cpu()
    with tempfile.TemporaryDirectory() as root:
        code = "import warnings; warnings.simplefilter('ignore'); import corpus_assets.definitions"
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "CORPUS_ROOT": root})
    return _ended_cpu() - before
