"""Documents lost on a broken-off download: 3,000 documents in a `.jsonl.zst` that was cut, read by us and by a peer.

    python -m tests.bench.cut_zstd [--peer PYTHON]

PYTHON is the interpreter of an environment with datatrove (`pip install datatrove zstandard orjson`): a peer is no
dependency of this project. A row says how many of the whole file's documents came out, with which exit code and which
words; lost in silence is what is missing where the exit code is 0.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from formats import ledger
from formats.layout import Layout

DOCUMENTS, KEPT_RATIO = 3_000, 0.62
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

OURS = """
import sys
from pathlib import Path
from corpus_assets.plans.raw_set import make_raw_set
from formats import ledger
from formats.errors import CorpusError
from formats.layout import Layout
layout = Layout(Path(sys.argv[1]))
[(_, row)] = ledger.scan(layout.ledger)[0]
try:
    raw = make_raw_set(layout, row, [layout.corpus / file.url for file in row.files])
except CorpusError as error:
    print(error, file=sys.stderr)
    raise SystemExit(1)
print(raw.documents)
"""
PEER = """
import sys
from pathlib import Path
from datatrove.pipeline.readers import JsonlReader
reader = JsonlReader(str(Path(sys.argv[1]) / "corpus"), glob_pattern="*.jsonl.zst", compression="zstd")
print(sum(1 for _ in reader()))
"""


@dataclass(frozen=True)
class Read:
    """What one tool made of the file."""

    tool: str
    documents: int
    code: int
    words: str

    @property
    def lost_in_silence(self) -> int:
        return DOCUMENTS - self.documents if self.code == 0 else 0

    def __str__(self) -> str:
        return f"{self.tool:<12}{self.documents:>10,}{self.lost_in_silence:>16,}{self.code:>11}  {self.words[:400]}"


HEAD = f"{'tool':<12}{'documents':>10}{'lost in silence':>16}{'exit code':>11}  what it says"


def cut_corpus(root: Path) -> Layout:
    """A ledger of one source whose file was cut before it was entered: its checksum is that of the cut file."""
    layout = Layout(root)
    layout.corpus.mkdir(parents=True)
    lines = b"".join(json.dumps({"text": _document(i), "id": str(i)}).encode() + b"\n" for i in range(DOCUMENTS))
    whole = zstandard.compress(lines)
    data = whole[: int(len(whole) * KEPT_RATIO)]
    path = layout.corpus / "tales.jsonl.zst"
    path.write_bytes(data)
    row: dict[str, Any] = {
        "source_id": "tales", "title": "Tales", "kind": "jsonl",
        "files": [{"url": path.name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}],
        "license_spdx": "CC0-1.0", "license_evidence": "made up", "attribution": "nobody",
        "retrieved": "2026-01-02", "bucket": "tales", "profile": "prose",
    }  # fmt: skip
    ledger.append(layout.ledger, ledger.from_json(row))
    return layout


def _document(number: int) -> str:
    seed = hashlib.sha256(str(number).encode()).digest() * 8
    return " ".join(WORDS[byte % len(WORDS)] for byte in seed[:200]) + f", said number {number}."


def read(tool: str, python: str, program: str, root: Path) -> Read:
    """Run a reader over the cut file, in a process of its own."""
    done = subprocess.run([python, "-c", program, str(root)], capture_output=True, text=True, timeout=300)
    last = (done.stderr.strip().splitlines() or [""])[-1]
    count = done.stdout.strip().splitlines()[-1:] if done.returncode == 0 else []
    return Read(tool, int(count[0]) if count else 0, done.returncode, last)


def rows(root: Path, peer: str | None) -> list[Read]:
    """Ours and, where there is one, the peer's."""
    cut_corpus(root)
    found = [read("ours", sys.executable, OURS, root)]
    if peer:
        found.append(read("datatrove", peer, PEER, root))
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.bench.cut_zstd", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peer", metavar="PYTHON", help="the interpreter of an environment with datatrove")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="cut-zstd-") as folder:
        found = rows(Path(folder) / "root", args.peer)
    print(HEAD, *found, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
