"""What the metadata of a version or a snapshot says, in the sections in which two of them are compared."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from corpus_assets.plans.published_version import PublishedVersion
from formats import canonical, evidence, ledger
from formats.snapshot.manifest import SPLITS, Snapshot

_NAMES = ("dataset", "version", "config_sha256")
"""Of a config: not settings, or of all settings together."""
_OF_SNAPSHOT = ("tokens", "seq_len", "packing", "dtype", "vocab_size", "eos_id", "pad_id", "token_config_sha256")


@dataclass
class Facts:
    """`sections` hold JSON values by name. `stages_of_sources`: source -> stage -> what it was made with; `raw_sets`:
    source -> digest of the raw set, in which ids of the form `<source>:<k>` count; `languages`: label -> published
    documents, which are shown and not compared: they follow from the rest.
    """

    name: str
    sections: dict[str, dict[str, Any]]
    stages_of_sources: dict[str, Any] = field(default_factory=dict)
    raw_sets: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    languages: dict[str, int] = field(default_factory=dict)


def facts_of_version(version: PublishedVersion) -> Facts:
    """From the sealed config, counts, stage versions and ledger rows of a version."""
    config = {name: value for name, value in version.config().as_json().items() if name not in _NAMES}
    made_of = _made_of(version.stage_versions)
    counts = version.counts
    licences: dict[str, int] = {}
    for batch in evidence.read(version.evidence, "lineage", columns=["license_spdx", "rows"]):
        for row in batch.to_pylist():
            licences[row["license_spdx"]] = licences.get(row["license_spdx"], 0) + row["rows"]
    documents = {name: counts[name] for name in ("records", "documents", "kept", "dropped", "rejects")}
    of_sources = {
        source: {name: one[name] for name in ("documents", "verdicts", "rejects", "splits")}
        for source, one in counts["sources"].items()
    }
    pii = {source: one["pii"] for source, one in counts["sources"].items()}
    rows = {source: {**ledger.to_json(row), "digest": row.digest} for source, row in version.rows.items()}
    for row in rows.values():
        row["files"] = canonical.digest(row["files"])  # thousands of them, perhaps: told as one
    sections = {
        "settings": config,
        "models": made_of.libraries,
        "sources": {source: {**row, "raw_set": made_of.raw_sets.get(source)} for source, row in rows.items()},
        "stages": made_of.stages,
        "documents": {**documents, "sources": of_sources, "licenses": licences, "pii": pii},
        "shards": _shards({"": [(entry["sha256"], entry["rows"]) for entry in version.manifest["shards"]]}),
    }
    languages: Counter[str] = Counter()
    for one in counts["sources"].values():
        languages.update(one["languages"])
    return Facts(str(version.key), sections, made_of.by_source, made_of.raw_sets, languages=dict(languages))


def facts_of_snapshot(snapshot: Snapshot) -> Facts:
    """From the manifest alone, which names what the corpus was made of, too: the corpus may be gone."""
    document = snapshot.document
    made_of = _made_of(document["stage_versions"].get("corpus"))
    own = {name: value for name, value in document["stage_versions"].items() if name != "corpus"}
    rows = made_of.ledger_rows
    sources = {
        source: {"digest": rows.get(source), "raw_set": made_of.raw_sets.get(source)}
        for source in sorted(rows.keys() | made_of.raw_sets.keys())
    }
    counts = document["counts"]
    tokens = {name: value for name, value in counts.items() if name.startswith("tokens") or name == "padding"}
    buckets: dict[str, dict[str, int]] = {}
    shards: dict[str, list[tuple[str, int]]] = {}
    for split in SPLITS:
        for shard in snapshot.shards(split):
            sums = buckets.setdefault(f"{split}/{shard.bucket}", {"sequences": 0, "tokens": 0})
            sums["sequences"] += shard.sequences
            sums["tokens"] += shard.tokens
            shards.setdefault(f"{split}/{shard.bucket}", []).append((shard.sha256, shard.sequences))
    sections = {
        "settings": {name: document[name] for name in _OF_SNAPSHOT} | {"corpus_config_sha256": made_of.config_sha256},
        "models": {"tokenizer": document["tokenizer"], **made_of.libraries},
        "sources": sources,
        "stages": {**own, **made_of.stages},
        "documents": {name: value for name, value in counts.items() if name not in tokens},
        "tokens": {**tokens, "buckets": buckets},
        "shards": _shards(shards),
    }
    return Facts(snapshot.snapshot_id, sections, made_of.by_source, made_of.raw_sets)


@dataclass
class _MadeOf:
    """Stage versions as the evidence writes them. Parts that are not there, or of another kind, are left empty: a
    snapshot's manifest may hold anything under this key.
    """

    stages: dict[str, Any]
    by_source: dict[str, Any]
    libraries: dict[str, Any]
    ledger_rows: dict[str, str]
    raw_sets: dict[str, str]
    config_sha256: Any


def _made_of(value: Any) -> _MadeOf:
    top = _object(value)
    stages = _object(top.get("stages"))
    identities = {"outcomes": top.get("outcomes"), **_object(stages.get("version"))}
    whole = {name: _made_with(identity) for name, identity in identities.items() if isinstance(identity, Mapping)}
    by_source = {
        source: {name: _made_with(identity) for name, identity in _object(of_source).items()}
        for source, of_source in _object(stages.get("sources")).items()
    }
    libraries: dict[str, Any] = {}
    for stage in [*whole.values(), *(stage for of_source in by_source.values() for stage in of_source.values())]:
        for name, version in stage.pop("libraries").items():
            libraries.setdefault(name, set()).add(str(version))
    return _MadeOf(
        whole,
        by_source,
        {"libraries": {name: ", ".join(sorted(versions)) for name, versions in libraries.items()}},
        {name: str(digest) for name, digest in _object(top.get("ledger_rows")).items()},
        {name: str(digest) for name, digest in _object(top.get("raw_sets")).items()},
        top.get("config_sha256"),
    )


def _made_with(identity: Any) -> dict[str, Any]:
    """What decides a stage's bytes beside its inputs, which follow from the rest."""
    known = _object(identity)
    columns = known.get("columns")
    return {
        "code_version": known.get("code_version"),
        "settings": _object(known.get("settings")),
        "libraries": _object(known.get("libraries")),
        "columns": None if columns is None else canonical.digest(columns)[:16],
    }


def _shards(shards: Mapping[str, list[tuple[str, int]]]) -> dict[str, Any]:
    """How many there are, and one digest over all: equal ones are equal byte for byte."""
    return {
        name or "all": {"count": len(listed), "sha256_of_all": canonical.digest([list(one) for one in listed])}
        for name, listed in shards.items()
    }


def _object(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}
