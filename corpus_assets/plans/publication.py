"""What a published version or snapshot consists of, file by file, each with its SHA-256: the unit that is stored
elsewhere, read back and taken over.

It is told by the small files alone: lock, manifest and seal of a version, the manifest of a snapshot.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.plans import ngram_index
from corpus_assets.plans.audit_snapshot import all_shards
from corpus_assets.plans.published_version import open_published
from formats import corpus_manifest, durable, evidence
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.snapshot import manifest


@dataclass(frozen=True)
class StoredFile:
    """`name` is its path below the artifacts root, in a store its key below the prefix."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Publication:
    """`claim` says first which bytes are being published under a name that does not say it itself; `last` makes the
    publication, once all other files are there. `evidence` ends with its seal; a snapshot has none.
    """

    of: str
    claim: StoredFile | None
    files: tuple[StoredFile, ...]
    evidence: tuple[StoredFile, ...]
    last: StoredFile

    @property
    def all_files(self) -> tuple[StoredFile, ...]:
        return (*([self.claim] if self.claim else []), *self.files, *self.evidence, self.last)


@dataclass(frozen=True)
class VersionNames:
    """The names of a version's small files below an artifacts root."""

    lock: str
    manifest: str
    seal: str

    @classmethod
    def of(cls, key: VersionKey) -> "VersionNames":
        here = Layout(Path())
        paths = (
            here.lock(key),
            here.version(key) / corpus_manifest.NAME_ON_DISK,
            here.evidence(key) / evidence.SEAL,
        )
        return cls(*(path.as_posix() for path in paths))


def of_version(layout: Layout, key: VersionKey) -> Publication:
    """Raises CorruptDataError where lock, manifest and seal are not there or do not agree."""
    names = VersionNames.of(key)
    listed, digest = corpus_manifest.read_locked(layout.version(key), layout.lock(key))
    seal = layout.evidence(key) / evidence.SEAL
    sealed = evidence.read_seal(layout.evidence(key))
    shards = [StoredFile(f"{_folder(names.manifest)}/{one['name']}", one["sha256"]) for one in listed["shards"]]
    told = [StoredFile(f"{_folder(names.seal)}/{name}", one["sha256"]) for name, one in sealed.items()]
    return Publication(
        str(key),
        StoredFile(names.lock, hashlib.sha256(f"{digest}\n".encode()).hexdigest()),
        tuple(shards),
        (*told, StoredFile(names.seal, durable.sha256_of(seal))),
        StoredFile(names.manifest, digest),
    )


def of_snapshot(root: Path, snapshot_id: str) -> Publication:
    """Raises ConfigError for what is no id, CorruptDataError for a manifest that is not the id's."""
    found = manifest.read(root, snapshot_id)
    folder = manifest.folder_of(Path(), snapshot_id).as_posix()
    files = [
        StoredFile(f"{folder}/{name}", digest)
        for shard in all_shards(found)
        for name, digest in ((shard.name, shard.sha256), (shard.index_name, shard.index_sha256))
    ]
    last = StoredFile(f"{folder}/{manifest.NAME_ON_DISK}", snapshot_id.removeprefix(manifest.ID_PREFIX))
    return Publication(snapshot_id, None, tuple(files), (), last)


def hold_complete(layout: Layout, key: VersionKey) -> None:
    """Raises ConfigError for a version whose evidence will still grow: what is stored elsewhere is written once."""
    version = open_published(layout, key)
    missing = [] if evidence.DATASHEET_HTML in version.sealed else ["datasheet"]
    if version.config().ngram_index.form != ngram_index.NOT_KEPT and ngram_index.HEAD not in version.sealed:
        missing.append("ngram_index")
    if missing:
        raise ConfigError(f"{key}: {' and '.join(missing)} not made yet; `corpus build {key}` makes it, then go on")


def _folder(name: str) -> str:
    return name.rpartition("/")[0]
