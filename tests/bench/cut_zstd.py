"""Documents lost on a broken-off download: 3,000 documents in a `.jsonl.zst` that was cut, read by us and by peers.

    python -m tests.bench.cut_zstd

Peers are no dependency of this project, and each runs in an interpreter of its own, where one is named: datatrove in
that of TEXT_PEERS_PYTHON (`pip install datatrove zstandard orjson`), dolma in that of DOLMA_PYTHON (Python 3.11). Of
all that dolma 1.2.1 asks for, its import and these two commands need:

    pip install --no-deps dolma==1.2.1 fasttext-wheel==0.9.2 smart-open==7.3.0.post1
    pip install 'numpy<2' wrapt zstandard msgspec omegaconf necessary rich tqdm nltk blingfire uniseg jsonpath-ng
    pip install anyascii platformdirs pyyaml python-dotenv requests charset-normalizer tokenizers fsspec

where smart-open is that of dolma's time; 9.0 notices the cut, so that `dolma tag` ends with an EOFError. The file is
cut once as a compressor writes it by itself, where what can be decoded ends inside a line, and once as a writer that
flushes every few lines leaves it, where it ends after one. A row says how many of the whole file's documents came out,
with which exit code and which words; lost in silence is what is missing where the exit code is 0.
"""

import argparse
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from formats import ledger
from formats.layout import Layout

DOCUMENTS, KEPT_RATIO, FLUSHED_EVERY = 3_000, 0.62, 8
"""A document is a few sentences of made-up words: the file has many blocks of zstd, and 62 % of its bytes are there."""
WORDS = (
    "the",
    "river",
    "ferry",
    "of",
    "old",
    "lamp",
    "and",
    "miller",
    "sang",
    "by",
    "night",
    "harrow",
    "bell",
    "under",
)
DATATROVE_PYTHON, DOLMA_PYTHON = "TEXT_PEERS_PYTHON", "DOLMA_PYTHON"
NAME = "tales.jsonl.zst"

OURS = """
import sys
from pathlib import Path
from corpus_assets.plans.raw_set import make_raw_set
from formats import ledger
from formats.errors import CorpusError
from formats.layout import Layout
layout = Layout(Path(sys.argv[1]).parents[1])
[(_, row)] = ledger.scan(layout.ledger)[0]
try:
    raw = make_raw_set(layout, row, [layout.corpus / file.url for file in row.files])
except CorpusError as error:
    print(error, file=sys.stderr)
    raise SystemExit(1)
print(raw.documents)
"""
DATATROVE = """
import sys
from pathlib import Path
from datatrove.pipeline.readers import JsonlReader
file = Path(sys.argv[1])
reader = JsonlReader(str(file.parent), glob_pattern=file.name, compression="zstd")
print(sum(1 for _ in reader()))
"""
DOLMA = str(Path(__file__).with_name("dolma_program.py"))


@dataclass(frozen=True)
class Read:
    """What one tool made of one file."""

    tool: str
    file: str
    documents: int
    code: int
    words: str

    @property
    def lost_in_silence(self) -> int:
        return DOCUMENTS - self.documents if self.code == 0 else 0

    def __str__(self) -> str:
        figures = f"{self.documents:>10,}{self.lost_in_silence:>16,}{self.code:>11}"
        return f"{self.tool:<14}{self.file:<12}{figures}  {self.words[:400]}"


HEAD = f"{'tool':<14}{'file':<12}{'documents':>10}{'lost in silence':>16}{'exit code':>11}  what it says"


def _as_it_comes(lines: list[bytes]) -> bytes:
    return zstandard.compress(b"".join(lines))


def _flushed(lines: list[bytes]) -> bytes:
    packed = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(packed, closefd=False) as writer:
        for number, line in enumerate(lines):
            writer.write(line)
            if number % FLUSHED_EVERY == FLUSHED_EVERY - 1:
                writer.flush(zstandard.FLUSH_BLOCK)
    return packed.getvalue()


FILES: dict[str, Callable[[list[bytes]], bytes]] = {"in a line": _as_it_comes, "after a line": _flushed}
"""Where what can be decoded ends -> how such a file is packed."""


def cut_corpus(root: Path, file: str) -> Path:
    """A ledger of one source whose file was cut before it was entered: its checksum is that of the cut file."""
    layout = Layout(root)
    layout.corpus.mkdir(parents=True)
    whole = FILES[file]([json.dumps({"text": _document(i), "id": str(i)}).encode() + b"\n" for i in range(DOCUMENTS)])
    data = whole[: int(len(whole) * KEPT_RATIO)]
    path = layout.corpus / NAME
    path.write_bytes(data)
    row: dict[str, Any] = {
        "source_id": "tales", "title": "Tales", "kind": "jsonl",
        "files": [{"url": path.name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}],
        "license_spdx": "CC0-1.0", "license_evidence": "made up", "attribution": "nobody",
        "retrieved": "2026-01-02", "bucket": "tales", "profile": "prose",
    }  # fmt: skip
    ledger.append(layout.ledger, ledger.from_json(row))
    return path


def _document(number: int) -> str:
    seed = hashlib.sha256(str(number).encode()).digest() * 8
    return " ".join(WORDS[byte % len(WORDS)] for byte in seed[:200]) + f", said number {number}."


def read(tool: str, file: str, command: list[str], path: Path) -> Read:
    """Run a reader over the cut file, in a process of its own."""
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=300)
    last = (done.stderr.strip().splitlines() or [""])[-1]
    count = done.stdout.strip().splitlines()[-1:] if done.returncode == 0 else []
    return Read(tool, file, int(count[0]) if count else 0, done.returncode, last)


def tools() -> dict[str, list[str]]:
    """Each tool that can be run here -> the command that takes the file's path."""
    found = {"ours": [sys.executable, "-c", OURS]}
    if python := os.environ.get(DATATROVE_PYTHON):
        found["datatrove"] = [python, "-c", DATATROVE]
    if python := os.environ.get(DOLMA_PYTHON):
        found |= {f"dolma {command}": [python, DOLMA, command] for command in ("tag", "dedupe")}
    return found


def rows(root: Path, which: dict[str, list[str]]) -> list[Read]:
    """Every file read by every tool."""
    found = []
    for number, file in enumerate(FILES):
        path = cut_corpus(root / str(number), file)
        found += [read(tool, file, command, path) for tool, command in which.items()]
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.bench.cut_zstd", description=(__doc__ or "").partition("\n")[0])
    parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="cut-zstd-") as folder:
        found = rows(Path(folder), tools())
    print(HEAD, *found, sep="\n")
    missing = [name for name in (DATATROVE_PYTHON, DOLMA_PYTHON) if not os.environ.get(name)]
    if missing:
        print(f"not run, since no interpreter is named: {', '.join(missing)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
