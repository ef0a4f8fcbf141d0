"""A published version opened for reading: its manifest, its seal and the small files of its evidence, each held to its
hash. The tables of the evidence are read by who needs them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus_assets.validation import corpus_config as config_files
from formats import corpus_manifest, durable, evidence, ledger, raw_set
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.ledger import LedgerRow
from formats.naming import RESERVED, VersionKey
from formats.raw_set import RawSet

CONFIG_COPY = "config.yaml"
_TODO = "restore the evidence folder from a copy, or delete it and build the version again"


@dataclass(frozen=True)
class PublishedVersion:
    """`digest` is the SHA-256 of the manifest, which the lock holds; `sealed` is every file of the evidence."""

    layout: Layout
    key: VersionKey
    digest: str
    manifest: Mapping[str, Any]
    sealed: Mapping[str, Mapping[str, Any]]
    counts: Mapping[str, Any]
    stage_versions: Mapping[str, Any]
    rows: Mapping[str, LedgerRow]

    @property
    def evidence(self) -> Path:
        return self.layout.evidence(self.key)

    @property
    def folder(self) -> Path:
        return self.layout.version(self.key)

    def config(self) -> CorpusConfig:
        """The version's config from the copy that was sealed with it."""
        return config_files.load(verified(self.evidence, self.sealed, CONFIG_COPY), self.key)

    def raw_set(self, source: str) -> RawSet | None:
        """The raw set that the version was made of; None where it is no longer there."""
        digest = self.stage_versions.get("raw_sets", {}).get(source)
        for folder in sorted(self.layout.raw_sets(source).glob("*")):
            if (folder / raw_set.LOCK).exists() and durable.read_lock(folder / raw_set.LOCK) == digest:
                return raw_set.open_set(folder)
        return None


def published_versions(layout: Layout) -> list[VersionKey]:
    """Every version below the root that has a lock, in the order of the keys. A folder that cannot be read raises its
    OSError: what is not seen is not absent.
    """
    found = []
    datasets = layout.corpus.iterdir() if layout.corpus.exists() else ()
    for dataset in datasets:
        if dataset.name in RESERVED or dataset.name.startswith(".") or not dataset.is_dir():
            continue
        locks = (path for path in dataset.iterdir() if path.suffix == ".lock" and not path.name.startswith("."))
        found += [VersionKey.parse(f"{dataset.name}.{lock.stem}") for lock in locks]
    return sorted(found)


def open_published(layout: Layout, key: VersionKey) -> PublishedVersion:
    """Raises ConfigError for a version that is not published, CorruptDataError for a file that changed since."""
    if not layout.lock(key).exists():
        names = ", ".join(map(str, published_versions(layout))) or "none"
        raise ConfigError(f"version {key} is not published below {layout.root}; published are: {names}")
    folder = layout.evidence(key)
    manifest, digest = corpus_manifest.read_locked(layout.version(key), layout.lock(key))
    sealed = evidence.read_seal(folder)
    return PublishedVersion(
        layout,
        key,
        digest,
        manifest,
        sealed,
        json_in(folder, sealed, evidence.COUNTS),
        json_in(folder, sealed, evidence.STAGE_VERSIONS),
        ledger_rows(folder, sealed),
    )


def verified(folder: Path, sealed: Mapping[str, Mapping[str, Any]], name: str) -> Path:
    """The path of a file that the seal must name, once its bytes are those sealed."""
    return evidence.verified(folder, name, _entry(folder, sealed, name))


def json_in(folder: Path, sealed: Mapping[str, Mapping[str, Any]], name: str) -> Any:
    """The JSON value of a file that the seal must name, its bytes those sealed."""
    return durable.json_in(evidence.read_bytes(folder, name, _entry(folder, sealed, name)), folder / name)


def ledger_rows(folder: Path, sealed: Mapping[str, Mapping[str, Any]]) -> dict[str, LedgerRow]:
    """The ledger rows that the version was published with, by source."""
    data = evidence.read_bytes(folder, evidence.LEDGER_ROWS, _entry(folder, sealed, evidence.LEDGER_ROWS))
    rows = [ledger.from_json(json.loads(line)) for line in data.splitlines()]
    return {row.source_id: row for row in rows}


def _entry(folder: Path, sealed: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    if name not in sealed:
        raise CorruptDataError(folder / evidence.SEAL, "files", name, "no such entry", _TODO)
    return dict(sealed[name])


def version_before(layout: Layout, key: VersionKey) -> VersionKey | None:
    """The one published before this of the same dataset, by name."""
    published = (other for other in published_versions(layout) if other.dataset == key.dataset)
    return max((other for other in published if _natural(other) < _natural(key)), key=_natural, default=None)


def _natural(key: VersionKey) -> list[tuple[int, str]]:
    """Orders v2 before v10."""
    digits, found, text = "", [], ""
    for char in key.version + "-":
        if char.isdigit():
            digits += char
            continue
        if digits:
            found.append((int(digits), text))
            digits, text = "", ""
        text += char
    return [*found, (0, text)]
