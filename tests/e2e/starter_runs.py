"""Copies of the starter corpus, built by the command a person would use, and what lies on disk afterwards."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from formats import evidence, raw_set, raw_set_rows
from formats.layout import Layout
from formats.naming import VersionKey

PROJECT = Path(__file__).resolve().parents[2]
STARTER = PROJECT / "examples" / "starter"
_TRACKED = ("corpus/LEDGER.jsonl", "corpus/configs", "inputs", "evals", "tokenizers")
OURS = ("CORPUS_ROOT", "CORPUS_CACHE", "CORPUS_WORKERS", "CORPUS_MEMORY", "DAGSTER_HOME")


@dataclass(frozen=True)
class Ran:
    """What a run of `corpus` gave."""

    code: int
    out: str
    err: str


def copy_of_starter(folder: Path) -> Path:
    """A new artifacts root with what is tracked of the starter, and nothing that was built."""
    for name in _TRACKED:
        source, target = STARTER / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    return folder


def environment() -> dict[str, str]:
    """This process's environment without its settings of the pipeline."""
    return {name: value for name, value in os.environ.items() if name not in OURS}


def corpus(root: Path, *words: str) -> Ran:
    """`corpus --root ROOT WORDS` in a process of its own, without this process's settings."""
    command = [sys.executable, "-m", "corpus_assets.cli", "--root", str(root), *words]
    done = subprocess.run(command, cwd=PROJECT, env=environment(), capture_output=True, text=True, timeout=900)
    return Ran(done.returncode, done.stdout, done.stderr)


def build(root: Path, version: str, *options: str) -> Ran:
    """Build a version that has to succeed."""
    ran = corpus(root, "build", version, *options)
    assert ran.code == 0, ran.out + ran.err
    return ran


def tokenize(root: Path, tokens: str, *options: str) -> Ran:
    """Make a snapshot, which has to succeed."""
    ran = corpus(root, "tokenize", tokens, *options)
    assert ran.code == 0, ran.out + ran.err
    return ran


def manifest_bytes(root: Path, version: str = "starter.v1") -> bytes:
    return (Layout(root).version(VersionKey.parse(version)) / "_MANIFEST.json").read_bytes()


def documents(root: Path, version: str = "starter.v1") -> list[dict[str, Any]]:
    """The evidence's row of every raw document."""
    folder = Layout(root).evidence(VersionKey.parse(version))
    return pa.Table.from_batches(evidence.read(folder, "documents")).to_pylist()


def counts(root: Path, version: str = "starter.v1") -> dict[str, Any]:
    return json.loads((Layout(root).evidence(VersionKey.parse(version)) / evidence.COUNTS).read_bytes())


def rejects(root: Path) -> Iterator[tuple[str, str]]:
    """(url, reason) of every record that became no document."""
    for folder in sorted((root / "corpus" / "raw").glob("*/2*")):
        yield from ((one["url"], one["reason"]) for one in raw_set_rows.read_rejects(raw_set.open_set(folder)))


def files_as_they_lie(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file below a folder with inode, time of its last change and length: what a rewrite cannot keep."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            stat = path.stat()
            found[str(path.relative_to(folder))] = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
    return found
