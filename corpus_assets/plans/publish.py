"""Publication: the shards of a version and their manifest, in one atomic step; a published version never changes."""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus_assets.plans import evidence as evidence_plan
from corpus_assets.plans import release_gate
from corpus_assets.plans.funnel import Funnel
from corpus_assets.plans.keepers import shards_of
from corpus_assets.plans.pinned import Build, Pair, Version, hold_to_published_config
from corpus_assets.plans.placement import placed_rows, scrubbed_version
from corpus_assets.plans.published_version import json_in
from corpus_assets.plans.source_stages import documents, signals
from corpus_assets.plans.work import at_work
from corpus_assets.stages import place_rows
from formats import corpus_manifest, corpus_shard, dataset, durable, evidence_schemas, parquet_file
from formats import evidence as evidence_files
from formats.corpus_manifest import PII_KEYS
from formats.dataset import Dataset
from formats.errors import CorruptDataError, PublishedError
from formats.layout import Layout
from formats.reasons import MANIFEST_FILTERS, Reason
from resources.engines.contract import Dest, First, Task

_STAGES = "corpus_assets.stages"


@dataclass(frozen=True)
class Published:
    """What a publication gave: the manifest, its digest (the version's lock), the bytes of its shards, and which ledger
    rows each shard draws from.
    """

    manifest: Mapping[str, Any]
    digest: str
    num_bytes: int
    funnel: Funnel
    lineage: pa.Table


def publish(build: Build, pairs: list[Pair]) -> Published:
    """Write shards, manifest, evidence and lock of a version.

    A version that is published already is left as it is: with equal bytes nothing is written, with other bytes
    PublishedError says so. What of it is damaged or missing is made again from the stage outputs, and takes its place
    when it has the bytes that the lock names. A new version is held to the rules that block before it is published:
    CorruptDataError says which one it breaks. A kill at any point leaves the version unpublished or whole; a rerun
    finishes it. Cost of a version that is whole: its files are hashed.
    """
    layout, version = build.layout, pairs[0].version
    out, lock = layout.version(version.key), layout.lock(version.key)
    out.parent.mkdir(parents=True, exist_ok=True)
    with durable.one_at_a_time(layout.work("locks", str(version))):
        durable.restore_folder(out)
        durable.restore_folder(layout.evidence(version.key))
        durable.remove_unfinished(lock)
        evidence = evidence_plan.gather(build, pairs)
        evidence_stands = evidence_plan.is_of(layout, version.key, evidence)
        if evidence_stands and lock.exists() and _is_whole(out, durable.read_lock(lock)):
            return _as_published(build, pairs, evidence.funnel)
        temporary = out.with_name(out.name + ".tmp")
        temporary.mkdir()
        try:
            with at_work("shards"):
                shards = _write_shards(build, pairs, temporary)
            manifest = _manifest(pairs, shards.shards, evidence.funnel)
            corpus_manifest.write(temporary, manifest)
            made = hashlib.sha256(corpus_manifest.to_bytes(manifest)).hexdigest()
            _refuse_other_bytes(build.layout, version, made)
            if not lock.exists():
                release_gate.hold(temporary, build, pairs, evidence)
            if not evidence_stands:
                evidence_plan.write(build, pairs, evidence, shards)
            if not _is_whole(out, made):
                durable.swap_folder(temporary, out)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        if not lock.exists():
            durable.write_digest(lock, made)
    return _as_published(build, pairs, evidence.funnel)


def _is_whole(out: Path, digest: str) -> bool:
    """Whether the manifest in `out` has this SHA-256, and every shard there the one that the manifest names."""
    path = out / corpus_manifest.NAME_ON_DISK
    if not path.is_file() or durable.sha256_of(path) != digest:
        return False
    shards = corpus_manifest.read(out)["shards"]
    return all(
        (out / shard["name"]).is_file() and durable.sha256_of(out / shard["name"]) == shard["sha256"]
        for shard in shards
    )


def _as_published(build: Build, pairs: list[Pair], funnel: Funnel) -> Published:
    key = pairs[0].version.key
    out = build.layout.version(key)
    manifest, digest = corpus_manifest.read_locked(out, build.layout.lock(key))
    folder = build.layout.evidence(key)
    num_bytes = json_in(folder, evidence_files.read_seal(folder), evidence_files.COUNTS)["shard_bytes"]
    lineage = pa.Table.from_batches(evidence_files.read(folder, "lineage"), evidence_schemas.LINEAGE)
    return Published(manifest, digest, num_bytes, funnel, lineage)


def _refuse_other_bytes(layout: Layout, version: Version, new: str) -> None:
    """Raise PublishedError when the version is published with another manifest than the one just made, of SHA-256
    `new`. The lock tells, also where the folder is damaged and is made again; without one (a kill came between) the
    manifest that lies there.
    """
    out, lock = layout.version(version.key), layout.lock(version.key)
    published = out / corpus_manifest.NAME_ON_DISK
    if not lock.exists() and not published.exists():
        return
    lies_there = durable.sha256_of(published) if published.exists() else None
    old = durable.read_lock(lock) if lock.exists() else lies_there
    if old == new:
        return
    if lies_there == new:
        raise CorruptDataError(lock, "sha256", new, old, "the lock alone changed; restore it from a copy")
    if lock.exists():
        with suppress(CorruptDataError):  # damaged evidence cannot say which input changed
            hold_to_published_config(layout, version)
    unlocked = "" if lock.exists() else f". It has no lock: if a killed build left it so, delete {out} and run again"
    raise PublishedError(
        f"{out}: is published with manifest {old}, and this build makes {new}: inputs, rules or libraries changed "
        "since. A published version is immutable: make a new one with "
        f"`corpus config new <new> --from {out.parent.name}.{out.name}`{unlocked}"
    )


def _write_shards(build: Build, pairs: list[Pair], folder: Path) -> Dataset:
    """The published rows in the order of their ids, cut every `shard_rows` rows. Notes: bytes of text by source."""
    config = pairs[0].config
    placed = placed_rows(build, pairs).open()
    num_shards = corpus_shard.num_shards(placed.rows, config.shard_rows)
    per_shard = {
        shard: {"source_id": pair.row.source_id, "license_spdx": pair.row.license_spdx}
        for pair, mine in zip(pairs, shards_of(build, pairs), strict=True)
        for shard in mine
    }
    first = First(
        Task(f"{_STAGES}.place_rows:output_rows", {"shard_rows": config.shard_rows}, per_shard),
        place_rows.OUTPUT,
        sides=(
            placed.select("k", "row", "cluster"),
            _concat(build, pairs, signals).select("k", "lang"),
            _concat(build, pairs, documents).select("k", "url"),
        ),
    )
    dest = Dest(
        folder,
        corpus_shard.SCHEMA,
        config.row_group_bytes,
        writer="formats.corpus_shard:write_shard",
        name=corpus_shard.name_pattern(num_shards),
    )
    rows, task = scrubbed_version(build, pairs), Task(f"{_STAGES}.count_text:as_counted_shard")
    made = build.engine.sort_reduce(rows, task, dest, bucket="out_shard", keys=("row",), first=first)
    if made.shards:
        return made
    empty = corpus_shard.write_shard(0, dest.path(0), [], corpus_shard.SCHEMA, row_group_bytes=config.row_group_bytes)
    return Dataset(corpus_shard.SCHEMA, (empty,))


def _concat(build: Build, pairs: list[Pair], stage: Any) -> Dataset:
    return dataset.concat([stage(build, pair).open() for pair in pairs])


def _manifest(pairs: list[Pair], shards: Sequence[parquet_file.Shard], funnel: Funnel) -> dict[str, Any]:
    config = pairs[0].config
    near = config.dedup.near
    dropped = funnel.dropped
    others = [name for name in config.all_filters if name not in MANIFEST_FILTERS]
    return corpus_manifest.build(
        shards,
        dataset=config.dataset,
        version=config.version,
        filters={name: funnel.by_filter.get(name, 0) for name in (*MANIFEST_FILTERS, *others)},
        dedup={
            "exact_dropped": dropped.get(Reason.EXACT_DUPLICATE, 0),
            "near_dropped": dropped.get(Reason.NEAR_DUPLICATE, 0) + dropped.get(Reason.TRAIN_NEAR_VAL, 0),
            "decontaminated": dropped.get(Reason.CONTAMINATED, 0),
            "jaccard_threshold": near.jaccard_threshold,
            "num_perm": near.num_perm,
            "bands": near.bands,
            "ngram": config.decontaminate.ngram,
        },
        pii={kind: funnel.pii.get(kind, 0) for kind in PII_KEYS},
        config_sha256=config.config_sha256,
    )
