"""Which snapshot a person means: by its id, by the name of its folder, or by the token set that it was made of last."""

import re
from pathlib import Path

from corpus_assets.plans.snapshot_corpus import snapshots_below
from formats import durable
from formats.errors import ConfigError
from formats.json_words import described
from formats.layout import Layout
from formats.naming import TokensKey
from formats.run_record import RunRecord
from formats.snapshot import manifest

METAVAR = "SNAPSHOT"
HELP = "sha256:… of a snapshot (also without sha256:), or <dataset>.<version>.<tokens>"
_FOLDER = re.compile("[0-9a-f]{64}")
_SHOWN = 5


def lock_of(layout: Layout, folder: Path) -> Path:
    """Held while a snapshot is put in its place, or collected for it; `folder` bears the name of that place."""
    return layout.work("locks", f"snapshot-{folder.name}")


def is_meant(name: str) -> bool:
    """Whether a name that may be a version's, too, is meant as that of a snapshot."""
    return name.startswith(manifest.ID_PREFIX) or bool(_FOLDER.fullmatch(name)) or name.count(".") > 1


def id_of(layout: Layout, name: str) -> str:
    """The id of the snapshot, whose folder is there.

    Raises ConfigError for what is no name of one, and for one that is not below the root (it lists those that are);
    CorruptDataError for a lock that holds no digest.
    """
    if is_meant(name) and not name.startswith(manifest.ID_PREFIX) and "." in name:
        key = TokensKey.parse(name)
        return _there(layout, last_id(layout, key), f", which the lock of {key} names,")
    snapshot_id = manifest.ID_PREFIX + name if _FOLDER.fullmatch(name) else name
    if not manifest.is_id(snapshot_id):
        forms = f"{manifest.ID_PREFIX} and 64 hex digits, these digits alone, or <dataset>.<version>.<tokens>"
        raise ConfigError(f"snapshot id is {described(name)}, expected {forms}; {_here(layout)}")
    return _there(layout, snapshot_id, "")


def id_in_record(layout: Layout, record: RunRecord, where: object) -> str:
    """The id that a run record or state names. Raises ConfigError where that snapshot is not below the root."""
    return _there(layout, record.snapshot_id, f", which {where} names,")


def last_id(layout: Layout, key: TokensKey) -> str:
    """The id of the snapshot that was made last of a token set. Raises ConfigError where none was made,
    CorruptDataError for a lock that holds no digest.
    """
    lock = layout.snapshot_lock(key)
    if not lock.exists():
        raise ConfigError(f"{key} has no snapshot below {layout.root}; make it with `corpus tokenize {key}`")
    return manifest.ID_PREFIX + durable.read_lock(lock, f"delete it and run `corpus tokenize {key}`")


def _there(layout: Layout, snapshot_id: str, named_by: str) -> str:
    if not manifest.folder_of(layout.root, snapshot_id).is_dir():
        raise ConfigError(
            f"there is no snapshot {snapshot_id}{named_by} below {layout.root}; {_here(layout)}; copy it there, or "
            f"name another --root"
        )
    return snapshot_id


def _here(layout: Layout) -> str:
    found = snapshots_below(layout)
    if not found:
        return "no snapshot is here"
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    return f"here are {', '.join(found[:_SHOWN])}{more}"
