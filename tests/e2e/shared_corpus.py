"""An artifacts root over the shared collection of real documents: ledger, configs and files, and how to build it.

The files are links below the root, so that the ledger names them relative to itself and two roots in different places
have the same ledger.
"""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import zstandard

from corpus_assets.validation import corpus_config
from formats import evidence, ledger
from formats.layout import Layout
from formats.naming import VersionKey
from tests.shared_data import DATA

PROJECT = Path(__file__).resolve().parents[2]
INPUTS = "inputs"
PUBLIC_DOMAIN, THIRD_PARTY = "LicenseRef-Public-Domain-US", "LicenseRef-third-party-web-content"
V1 = VersionKey("shared", "v1")
OPEN_ONLY = VersionKey("shared", "open-only")
"""Like V1, without the licence name of the web pages."""


@dataclass(frozen=True)
class Source:
    """One row of the ledger; `files` are patterns below the shared collection."""

    files: tuple[str, ...]
    license_spdx: str
    kind: str
    profile: str
    rank: int
    floor: int
    """Documents that a build keeps at least; the reason stands above each row."""
    container: str | None = None
    url_field: str | None = None


WARCS = (
    "aut/example*.warc.gz",
    "aut/issue-*.warc",
    "chatnoir-resiliparse/warcfile.warc.gz",
    "derived/warcfile.nodict.warc.zst",
    "warcio/example.warc*",
    "warcio/example-iana.org-chunked.warc",
    "warcio/post-test.warc.gz",
    "webarchive-discovery/*.warc.gz",
    "webarchive-discovery/transfer_compression_*.warc",
    "webarchive-discovery/truncated_datetime.warc",
    "whirlwind-python/whirlwind.warc.gz",
)
"""Without those that are broken on purpose; more containers of these crawls are in tests/records and tests/plans."""

SOURCES: dict[str, Source] = {
    # 32 whole works, none twice: no rule may cost one.
    "books": Source(("books/*-md.tar.zst",), PUBLIC_DOMAIN, "markdown", "prose", 5, 32, "tar"),
    # 13 whole novels, nine of which the books hold in another transcription.
    "novels": Source(("books/novels-txt.tar.zst",), PUBLIC_DOMAIN, "text", "prose", 6, 4, "tar"),
    # 310 stories; a few fables have less than fifty words.
    "stories": Source(("stories/*.jsonl.zst",), PUBLIC_DOMAIN, "jsonl", "prose", 10, 300, url_field="path"),
    # 122 articles, some of them lists.
    "wiki": Source(("encyclopedic/*.jsonl.zst",), "CC-BY-SA-3.0", "jsonl", "prose", 20, 112, url_field="path"),
    # 2,715 pages of three releases in many languages: a release repeats the one before, and pages of nothing but code
    # samples repeat themselves.
    "docs": Source(("docs-fastapi/*.jsonl.zst",), "MIT", "jsonl", "prose", 30, 1_700),
    # 29,910 short pages made after one template; some are alike on several platforms.
    "tldr": Source(("docs-tldr/tldr.jsonl.zst",), "CC-BY-4.0", "jsonl", "short", 40, 28_800, url_field="path"),
    # 3,423 files; no rule of prose may touch code.
    "code": Source(
        ("code/*.jsonl.zst",), "MIT AND Apache-2.0 AND BSD-3-Clause", "jsonl", "code", 50, 3_380, url_field="path"
    ),
    # 219 pages as crawled: one crawl in several containers, forms, lists of links.
    "web": Source(tuple(f"web-warc/{name}" for name in WARCS), THIRD_PARTY, "warc", "prose", 60, 75),
    # One page.
    "wet": Source(("web-warc/whirlwind-python/*.wet.gz",), THIRD_PARTY, "wet", "short", 70, 1),
}
LICENSES = (PUBLIC_DOMAIN, "CC-BY-SA-3.0", "MIT", "CC-BY-4.0", "Apache-2.0", "BSD-3-Clause")
EVAL_SETS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "gsm8k": ("evals/gsm8k/test.jsonl", "jsonl", ("question", "answer")),
    "humaneval": ("evals/humaneval/HumanEval.jsonl.gz", "jsonl", ("prompt", "canonical_solution")),
    "mbpp": ("evals/mbpp/mbpp.jsonl", "jsonl", ("text", "code")),
    "truthfulqa": ("evals/truthfulqa/TruthfulQA.csv", "csv", ("Question", "Best Answer", "Correct Answers")),
}


def files_of(source: str) -> list[Path]:
    """The source's files in the collection, in the order of their names."""
    return sorted({path for pattern in SOURCES[source].files for path in DATA.glob(pattern)})


def make_root(
    root: Path, sources: Iterable[str], *, keys: Sequence[VersionKey] = (V1,), backwards: bool = False
) -> Layout:
    """A ledger of these sources and the configs of `keys`. `backwards` lists rows, files and sources the other way."""
    layout = Layout(root)
    names = sorted(sources, reverse=backwards)
    layout.corpus.mkdir(parents=True)
    (root / INPUTS).symlink_to(DATA)
    rows = [ledger_row(name, backwards=backwards) for name in names]
    layout.ledger.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for key in keys:
        path = layout.config(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(config(key, names), indent=2))
        corpus_config.load(path, key)
    return layout


def ledger_row(name: str, *, backwards: bool = False) -> dict[str, Any]:
    """The row as written, its files in the order of their names or the other way."""
    source = SOURCES[name]
    files = [
        {
            "url": f"../{INPUTS}/{path.relative_to(DATA)}",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bytes": path.stat().st_size,
        }
        for path in sorted(files_of(name), reverse=backwards)
    ]
    row = {
        "source_id": name,
        "title": name,
        "kind": source.kind,
        "files": files,
        "license_spdx": source.license_spdx,
        "license_evidence": "README.md of the collection",
        "attribution": "as the collection's manifest names it",
        "retrieved": "2026-11-30",
        "bucket": name,
        "profile": source.profile,
        "source_rank": source.rank,
    }
    if source.container:
        row["container"] = source.container
    if source.url_field:
        row["fields"] = {"url": source.url_field}
    ledger.from_json(row)
    return row


def config(key: VersionKey, sources: list[str]) -> dict[str, Any]:
    """Default rules, but novels may be as long as they are; all eval sets are protected."""
    protected = [
        {
            "name": name,
            "path": f"{INPUTS}/{path}",
            "sha256": hashlib.sha256((DATA / path).read_bytes()).hexdigest(),
            "format": kind,
            "fields": list(fields),
        }
        for name, (path, kind, fields) in EVAL_SETS.items()
    ]
    return {
        "dataset": key.dataset,
        "version": key.version,
        "sources": sources,
        "licenses": {"allow": [*LICENSES, *([] if key == OPEN_ONLY else [THIRD_PARTY])]},
        "shard_rows": 4000,
        "profiles": {"prose": {"too_many_words": None}},
        "decontaminate": {"eval_sets": protected},
    }


@dataclass(frozen=True)
class Ran:
    """What a run of `corpus` gave."""

    code: int
    out: str
    err: str


_WITH_PROCESSES = """
from resources.engines import local
local.PROCESSES_FROM_BYTES = local.PROCESSES_FROM_WORKERS = 0
from corpus_assets.cli import main
raise SystemExit(main())
"""
"""`corpus` with worker processes for inputs of any size and any number of workers; by itself it takes threads."""


def command(root: Path, *words: str, processes: bool = False) -> list[str]:
    program = ["-c", _WITH_PROCESSES] if processes else ["-m", "corpus_assets.cli"]
    return [sys.executable, *program, "--root", str(root), *words]


def environment(**settings: str) -> dict[str, str]:
    """This process's environment, with no setting of the pipeline but those given."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CORPUS_") and k != "DAGSTER_HOME"}
    return inherited | settings


def corpus(root: Path, *words: str, processes: bool = False, **settings: str) -> Ran:
    """`corpus --root ROOT WORDS` in a process of its own; settings are environment variables."""
    done = subprocess.run(
        command(root, *words, processes=processes),
        cwd=PROJECT,
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=1800,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def build(root: Path, key: VersionKey = V1, *, processes: bool = False, **settings: str) -> Ran:
    """Build a version that has to succeed."""
    ran = corpus(root, "build", str(key), processes=processes, **settings)
    assert ran.code == 0, ran.out + ran.err
    return ran


def table(root: Path, name: str, columns: Sequence[str] | None = None, key: VersionKey = V1) -> pa.Table:
    """A table of the version's evidence."""
    return pa.Table.from_batches(evidence.read(Layout(root).evidence(key), name, columns=columns))


def digests(root: Path, key: VersionKey = V1) -> dict[str, str]:
    """SHA-256 of everything that was published: shards, manifest, lock, and every file of the evidence."""
    layout = Layout(root)
    paths = [layout.lock(key), *layout.version(key).rglob("*"), *layout.evidence(key).rglob("*")]
    found = {}
    for path in sorted(paths):
        if path.is_file() and path.name != evidence.SIDECAR:
            found[str(path.relative_to(layout.corpus))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def records_in(path: Path, expected_warc: Mapping[str, int]) -> int:
    """How many records a file of the collection has, counted without the pipeline's readers."""
    if path.is_relative_to(DATA / "web-warc"):
        return expected_warc[str(path.relative_to(DATA / "web-warc"))]
    with open(path, "rb") as file:
        data = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        if ".tar." in path.name:
            with tarfile.open(fileobj=data, mode="r|") as tar:
                return sum(1 for _ in tar)
        return sum(1 for line in data.read().split(b"\n") if line.strip())


def expected_warc_records() -> dict[str, int]:
    """Records of each WARC file as warcio counted them; as FastWARC did where warcio gave up."""
    counted = {}
    for entry in json.loads((DATA / "web-warc" / "expected-records.json").read_bytes()):
        for reader in ("fastwarc", "warcio"):
            if reader in entry and not entry[reader]["error"]:
                counted[entry["file"]] = sum(entry[reader]["records"].values())
    return counted


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a compressed file of JSON lines."""
    data = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    yield from (json.loads(line) for line in data.splitlines())
