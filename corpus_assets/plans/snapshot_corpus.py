"""The corpus behind a snapshot: what the version that it was made of says about its documents, while it is there.

A snapshot is read where its corpus is gone, too. Nothing is guessed then: what cannot be told is named, and why.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from corpus_assets.plans.evidence_lookup import DocumentRows
from corpus_assets.plans.published_version import PublishedVersion, open_published
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey, check_name
from formats.snapshot import manifest
from formats.snapshot.manifest import Snapshot

_COLUMNS = ("id", "doc_id", "source_id", "url")


@dataclass(frozen=True)
class SnapshotCorpus:
    """`version` is None where it cannot be asked, and `why_not` says why."""

    version: PublishedVersion | None
    why_not: str = ""


@dataclass(frozen=True)
class DocumentName:
    """A document as the corpus knows it; None is what only the corpus can tell."""

    id: str
    source_id: str
    doc_id: str | None
    url: str | None


def corpus_of(layout: Layout, snapshot: Snapshot) -> SnapshotCorpus:
    """The published version of a snapshot. Raises CorruptDataError where it is there and damaged."""
    key = version_of(snapshot)
    if not layout.lock(key).exists():
        return SnapshotCorpus(None, f"version {key} is not below {layout.root}")
    version = open_published(layout, key)
    expected = snapshot.document["corpus_manifest_sha256"]
    if version.digest != expected:
        why = (
            f"version {key} below {layout.root} is another build: its manifest is {version.digest}, expected {expected}"
        )
        return SnapshotCorpus(None, why)
    return SnapshotCorpus(version)


def version_of(snapshot: Snapshot) -> VersionKey:
    """Which version a snapshot says it was made of. Its names become paths, so they are held to be names."""
    names = [snapshot.document[key] for key in ("dataset", "corpus_version")]
    try:
        return VersionKey(check_name("dataset", names[0]), check_name("version", names[1]))
    except ConfigError as error:
        path, todo = snapshot.folder / manifest.NAME_ON_DISK, "build the snapshot again"
        raise CorruptDataError(path, "dataset and corpus_version", "names", str(error), todo) from None


def snapshots_below(layout: Layout) -> list[str]:
    """The ids of the snapshots below the root, sorted; what is being made or has no such name is left out."""
    folders = layout.snapshots.iterdir() if layout.snapshots.is_dir() else ()
    ids = (f"{manifest.ID_PREFIX}{folder.name}" for folder in sorted(folders) if folder.is_dir())
    return [one for one in ids if manifest.is_id(one)]


def source_of(name: str) -> str:
    """The source of a document id, `<source>:<k>`."""
    return name.rpartition(":")[0]


def names_of(corpus: SnapshotCorpus, ids: Iterable[str]) -> dict[str, DocumentName]:
    """id -> how the corpus names the document. Raises CorruptDataError where a corpus that is there has no such id."""
    wanted = list(dict.fromkeys(ids))
    if corpus.version is None:
        return {name: DocumentName(name, source_of(name), None, None) for name in wanted}
    rows: dict[str, dict[str, Any]] = {row["id"]: row for row in DocumentRows(corpus.version).of_ids(wanted, _COLUMNS)}
    return {name: DocumentName(**{column: rows[name][column] for column in _COLUMNS}) for name in wanted}
