"""Marks on published versions and snapshots: set, taken away, asked for."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from corpus_assets.plans import named_snapshot
from corpus_assets.plans.pinned import load_version
from corpus_assets.plans.published_version import open_published, published_versions
from formats import durable, yank
from formats.errors import ConfigError, CorpusError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.snapshot import manifest
from formats.yank import Yank

FORCE = "--allow-yanked"
ALLOWED = "CORPUS_ALLOW_YANKED"
"""The environment variable by which `corpus tokenize --allow-yanked` tells the assets."""


def set_mark(layout: Layout, name: str, reason: str) -> Yank:
    """Yank what `name` names. Raises ConfigError for what is not there, or yanked already."""
    key, digest, path = _meant(layout, name)
    if (before := yank.read(path)) is not None and before.manifest_sha256 == digest:
        raise ConfigError(f"{before}; to give another reason, take it away first with --undo")
    return yank.write(path, key, digest, reason, datetime.now(UTC).date().isoformat())


def take_away(layout: Layout, name: str) -> str:
    """Undo it; what `name` names, in full. Raises ConfigError where it is not yanked."""
    key, _, path = _meant(layout, name)
    if not path.exists():
        raise ConfigError(f"{key} is not yanked")
    path.unlink()
    durable.fsync_folder(path.parent)
    return key


def of_version(layout: Layout, key: VersionKey) -> Yank | None:
    """The record of a version that is published; None where there is none, or one of another build."""
    record = yank.read(yank.path_of_version(layout.root, key.dataset, key.version))
    lock = layout.lock(key)
    if record is None or not lock.exists() or durable.read_lock(lock) != record.manifest_sha256:
        return None
    return record


def of_snapshot(layout: Layout, snapshot_id: str) -> Yank | None:
    """The record of a snapshot, or of the version that it was made of."""
    return yank.of_snapshot(layout.root, manifest.read(layout.root, snapshot_id))


def of_named(layout: Layout, name: str) -> Yank | None:
    """The record of a version by its key, or of a snapshot by its id."""
    return of_snapshot(layout, name) if manifest.is_id(name) else of_version(layout, VersionKey.parse(name))


def hold_not_yanked(layout: Layout, key: VersionKey, *, allowed: bool) -> None:
    """Raises ConfigError where tokens would be made of a yanked version."""
    if not allowed and (record := of_version(layout, key)) is not None:
        raise yank.refusal(record, f"no tokens are made of {key}", FORCE)


def of_kin(layout: Layout, key: VersionKey, sources: Sequence[str], old: VersionKey | None = None) -> Iterator[str]:
    """A sentence for each yanked version whose fault this one may share: the one it is copied from, those of its
    dataset with sources of it, and any whose reason names one of its sources.
    """
    for other in published_versions(layout):
        try:
            record = of_version(layout, other)
            theirs = load_version(layout, other).config.sources if record else ()
        except CorpusError as error:
            yield str(error)
            continue
        if record is None or other == key:
            continue
        named = [source for source in sources if re.search(rf"(?<![\w-]){re.escape(source)}(?![\w-])", record.reason)]
        if named:
            yield f"{record}; {key} takes {', '.join(named)}, which that reason names: leave out what may not be used"
        elif other == old or (other.dataset == key.dataset and set(theirs) & set(sources)):
            shared = sum(source in theirs for source in sources)
            yield f"{record}; {key} takes {shared} of its sources: look whether that reason holds for it, too"


def _meant(layout: Layout, name: str) -> tuple[str, str, Path]:
    """(the key or id, the digest of the manifest, where the record lies)."""
    if named_snapshot.is_meant(name):
        snapshot_id = named_snapshot.id_of(layout, name)
        manifest.read(layout.root, snapshot_id)
        digest = snapshot_id.removeprefix(manifest.ID_PREFIX)
        return snapshot_id, digest, yank.path_of_snapshot(layout.root, snapshot_id)
    version = open_published(layout, VersionKey.parse(name))
    key = version.key
    return str(key), version.digest, yank.path_of_version(layout.root, key.dataset, key.version)
