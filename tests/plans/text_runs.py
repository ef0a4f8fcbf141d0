"""JSON lines of any text through the whole text path by the plans, and what became of each record afterwards."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa

from corpus_assets.commands.verify import verify_version
from corpus_assets.plans.pinned import Build, load_pairs
from corpus_assets.plans.source_stages import documents
from formats import (
    corpus_manifest,
    corpus_shard,
    dataset,
    evidence,
    evidence_schemas,
    ledger,
    raw_set,
    raw_set_rows,
    raw_set_writer,
)
from formats.layout import Layout
from formats.naming import VersionKey
from resources.engines.contract import Engine
from resources.engines.local import LocalEngine
from tests.plans import dedup_runs

V1 = VersionKey("any", "v1")
LEAK = "eleven paper boats went down the gutter in the rain and none of them came back"
Files = Sequence[Sequence[bytes]]
"""The lines of each file."""


@dataclass(frozen=True)
class Outcome:
    """Rejects, normalized texts by id, evidence rows by id, published rows in order, the manifest, and digests."""

    rejects: list[dict[str, Any]]
    texts: dict[str, str]
    told: dict[str, dict[str, Any]]
    rows: list[dict[str, Any]]
    manifest: dict[str, Any]
    shards: list[str]

    def content(self) -> list[tuple[object, ...]]:
        """What became of each document, said by texts alone: no id, no place."""

        def text(name: str | None) -> str | None:
            return None if name is None else self.texts[name]

        columns = ("verdict", "rules_failed", "keeper_jaccard", "lang", "lang_score", "n_chars", "n_words", "split",
                   "eval_item", "span_start", "span_end")  # fmt: skip
        return sorted(
            (repr((self.texts[name], text(row["keeper_id"]), text(row["cluster"]), *(row[c] for c in columns))),)
            for name, row in self.told.items()
        )


def line(value: object) -> bytes:
    """A line of JSON, surrogates and controls as escapes."""
    return json.dumps(value).encode()


def run(
    root: Path,
    sources: dict[str, Files],
    *,
    engine: Engine | None = None,
    part_bytes: int = raw_set.PART_BYTES,
    profile: str = "short",
    verify: bool = False,
    **config: Any,
) -> Outcome:
    """Build the sources below `root`; `config` are further settings of the version."""
    layout = _write_inputs(root, sources, profile, config)
    engine = engine or LocalEngine(scratch=root / "scratch", workers=1, processes=False)
    build = Build(layout, engine)
    with (
        mock.patch.object(raw_set_writer, "PART_BYTES", part_bytes),
        mock.patch("os.fsync"),
    ):  # nobody pulls the plug here
        dedup_runs.build(build, V1)
    if verify:
        report = verify_version(layout, V1)
        assert report.ok, [problem for check in report.checks for problem in check.problems]
    return _outcome(build)


def _outcome(build: Build) -> Outcome:
    layout = build.layout
    rejects: list[dict[str, Any]] = []
    texts: dict[str, str] = {}
    for pair in load_pairs(layout, V1):
        [folder] = (path for path in layout.raw_sets(pair.row.source_id).iterdir() if path.is_dir())
        rejects += raw_set_rows.read_rejects(raw_set.open_set(folder))
        for batch in dataset.read(documents(build, pair).open(), columns=["k", "text"]):
            texts |= {f"{pair.row.source_id}:{row['k']}": row["text"] for row in batch.to_pylist()}
    told = pa.Table.from_batches(
        evidence.read(layout.evidence(V1), "documents"), evidence_schemas.DOCUMENTS
    ).to_pylist()
    out = layout.version(V1)
    manifest = corpus_manifest.read(out)
    rows = [row for entry in manifest["shards"] for b in corpus_shard.read_shard(out, entry) for row in b.to_pylist()]
    digests = [shard["sha256"] for shard in manifest["shards"]]
    return Outcome(rejects, texts, {row["id"]: row for row in told}, rows, dict(manifest), digests)


def _write_inputs(root: Path, sources: dict[str, Files], profile: str, more: dict[str, Any]) -> Layout:
    layout = Layout(root)
    layout.corpus.mkdir(parents=True)
    for source, contents in sources.items():
        files = []
        for number, lines in enumerate(contents):
            data = b"".join(one + b"\n" for one in lines)
            path = layout.corpus / f"{source}-{number}.jsonl"
            path.write_bytes(data)
            files.append({"url": path.name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)})
        words = dict.fromkeys(("title", "license_evidence", "attribution", "bucket"), source)
        row = {"source_id": source, "kind": "jsonl", "profile": profile, "files": files, "fields": {"date": "date"}}
        row |= {"retrieved": "2026-11-30", "license_spdx": "CC0-1.0"}
        ledger.append(layout.ledger, ledger.from_json({**row, **words}))
    leaks = json.dumps({"text": LEAK}).encode() + b"\n"
    (root / "leaks.jsonl").write_bytes(leaks)
    leak = {"name": "leaks", "path": "leaks.jsonl", "sha256": hashlib.sha256(leaks).hexdigest()}
    config = {
        "dataset": V1.dataset,
        "version": V1.version,
        "sources": list(sources),
        "licenses": {"allow": ["CC0-1.0"]},
        "shard_rows": 5,
        "val_permille": 300,
        "decontaminate": {"eval_sets": [{**leak, "format": "jsonl", "fields": ["text"]}]},
        **more,
    }
    layout.config(V1).parent.mkdir(parents=True)
    layout.config(V1).write_text(json.dumps(config))
    return layout
