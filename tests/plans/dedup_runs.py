"""Small corpora through the whole pipeline's plans, without Dagster, and what the evidence says of them afterwards."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import clusters, keepers, near_edges, scrub
from corpus_assets.plans.pinned import Build, load_pairs, load_version, pin_row
from corpus_assets.plans.publish import publish
from corpus_assets.plans.raw_set import make_raw_set
from corpus_assets.plans.source_stages import documents, signals, signatures, verdicts
from formats import evidence, evidence_schemas, ledger, raw_set, raw_set_writer
from formats.layout import Layout
from formats.naming import VersionKey
from resources.engines.contract import Engine
from resources.engines.local import LocalEngine
from tests.plans.naive_dedup import Cluster, Rules, Source

V1 = VersionKey("small", "v1")
EVERY_PAIR = {"bands": 64, "rows": 2}
"""Bands so narrow that a pair at 0.6 misses them all once in 10^12: dedup then is exact."""
MEMORY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Outcome:
    """What was published: evidence rows by document id, clusters, counts of dedup, and every file's digest."""

    documents: dict[str, dict[str, Any]]
    clusters: set[Cluster]
    notes: dict[str, int]
    shards: list[str]
    numbers: dict[str, int]
    """minhash_cluster of each published row, by id."""


def run(
    root: Path,
    sources: Iterable[Source],
    rules: Rules,
    *,
    part_bytes: int = raw_set.PART_BYTES,
    engine: Engine | None = None,
    verify: bool = False,
    **near: Any,
) -> Outcome:
    """Build `sources` below `root` with no filter rule; `near` are further settings of dedup.near. `verify` reads it
    all back as `corpus verify` does, which takes longer than the build.
    """
    layout = write_inputs(root, list(sources), rules, {**EVERY_PAIR, **near})
    engine = engine or LocalEngine(scratch=root / "scratch", workers=1, memory_bytes=MEMORY_BYTES, processes=False)
    with (
        mock.patch.object(raw_set_writer, "PART_BYTES", part_bytes),
        mock.patch("os.fsync"),
    ):  # nobody pulls the plug here
        notes = build(Build(layout, engine), V1)
    if verify:
        report = verify_version(layout, V1)
        assert report.ok, [problem for check in report.checks for problem in check.problems]
    told = pa.Table.from_batches(
        evidence.read(layout.evidence(V1), "documents"), evidence_schemas.DOCUMENTS
    ).to_pylist()
    found = pa.Table.from_batches(evidence.read(layout.evidence(V1), "clusters"), evidence_schemas.CLUSTERS).to_pylist()
    shards = sorted(layout.version(V1).glob("*.parquet"))
    rows = [row for shard in shards for row in pq.read_table(shard, columns=["id", "minhash_cluster"]).to_pylist()]
    return Outcome(
        {row["id"]: row for row in told},
        {Cluster(**row) for row in found},
        notes,
        [hashlib.sha256(shard.read_bytes()).hexdigest() for shard in shards],
        {row["id"]: row["minhash_cluster"] for row in rows},
    )


def build(build: Build, key: VersionKey) -> dict[str, int]:
    """Every stage of a version, then its publication; returns the notes of near_edges."""
    layout = build.layout
    for pair in load_version(layout, key).pairs:
        pin_row(layout, pair)
    pairs = load_pairs(layout, key)
    for pair in pairs:
        make_raw_set(layout, pair.row, [layout.corpus / file.url for file in pair.row.files])
        for stage in (documents, signals, verdicts, signatures):
            stage(build, pair).make()
    keepers.ranks(build, pairs).make()
    notes = near_edges.edges(build, pairs).make().notes
    clusters.dedup_clusters(build, pairs).make()
    for pair in pairs:
        scrub.scrubbed_docs(build, pairs, pair).make()
    publish(build, pairs)
    return dict(notes)


def write_inputs(root: Path, sources: list[Source], rules: Rules, near: dict[str, Any]) -> Layout:
    """Ledger, files, and the config of V1 over all sources."""
    layout = Layout(root)
    layout.corpus.mkdir(parents=True)
    for source in sources:
        files = []
        for number, docs in enumerate(source.files):
            lines = (json.dumps({"text": doc.text, "date": doc.date}) + "\n" for doc in docs)
            files.append(_write(layout.corpus / f"{source.name}-{number}.jsonl", lines))
        common = {"kind": "jsonl", "profile": "short", "retrieved": "2026-11-30", "license_spdx": "CC0-1.0"}
        words = dict.fromkeys(("title", "license_evidence", "attribution", "bucket"), source.name)
        row = {"source_id": source.name, "source_rank": source.rank, "files": files, "fields": {"date": "date"}}
        ledger.append(layout.ledger, ledger.from_json({**common, **words, **row}))
    write_config(layout, V1, [source.name for source in sources], rules, near)
    return layout


def write_config(layout: Layout, key: VersionKey, sources: list[str], rules: Rules, near: dict[str, Any]) -> None:
    """The config of a version of these sources, which the ledger has already."""
    root = layout.root
    leaks = _write(root / "leaks.jsonl", (json.dumps({"text": leak}) + "\n" for leak in rules.leaks))
    leaks = {"name": "leaks", "path": "leaks.jsonl", "sha256": leaks["sha256"], "format": "jsonl", "fields": ["text"]}
    config = {
        "dataset": key.dataset,
        "version": key.version,
        "sources": sources,
        "licenses": {"allow": ["CC0-1.0"]},
        "shard_rows": 7,
        "val_permille": rules.val_permille,
        "filters": [],
        "dedup": {
            "near": {
                "drop": rules.drop,
                "jaccard_threshold": rules.threshold_millionths / 1_000_000,
                "shingle": rules.shingle,
                **near,
            }
        },
        "decontaminate": {"eval_sets": [leaks] if rules.leaks else []},
    }
    layout.config(key).parent.mkdir(parents=True, exist_ok=True)
    layout.config(key).write_text(json.dumps(config))


def _write(path: Path, lines: Iterable[str]) -> dict[str, Any]:
    data = "".join(lines).encode()
    path.write_bytes(data)
    return {"url": path.name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
