"""A published version or snapshot, from an object store into a root that has it not: verified before it is there.

Files are collected in `corpus/work/pulled`, so that a pull that was stopped goes on, and take their places by renames;
the lock comes last, as when a version is built here.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.plans import publication
from corpus_assets.plans.named_snapshot import is_meant, lock_of
from corpus_assets.plans.publication import Publication, StoredFile, VersionNames
from corpus_assets.plans.published_version import CONFIG_COPY, open_published
from formats import durable, ledger, yank
from formats.errors import ConfigError, PublishedError
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey
from formats.snapshot import manifest
from resources.remote.s3 import S3Store

STAGE = "pulled"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Pulled:
    """What a pull did: files fetched, files that were here, and what of config and ledger was taken over."""

    of: str
    fetched: int
    found: int
    taken_over: tuple[str, ...] = ()


def pull(store: S3Store, layout: Layout, name: str, *, say: Say | None = None) -> Pulled:
    """Bring a version, or a snapshot by its id or token set, into the root. What is here is kept where it has the right
    bytes, and replaced where it is damaged.

    Raises ConfigError for what is not published there, PublishedError where the root has a version of that name with
    other bytes, CorruptDataError for an object that is not what the manifest says.
    """
    if is_meant(name):
        return _pull_snapshot(store, layout, name, say)
    key = VersionKey.parse(name)
    with durable.one_at_a_time(layout.work("locks", str(key))):
        return _pull_version(store, layout, key, say)


def snapshot_named(store: S3Store, layout: Layout, name: str) -> str:
    """The id of the snapshot that a name means in the store. Raises ConfigError for what is no name of one there."""
    if name.startswith(manifest.ID_PREFIX) or "." not in name:
        snapshot_id = manifest.ID_PREFIX + name.removeprefix(manifest.ID_PREFIX)
        manifest.folder_of(layout.root, snapshot_id)  # refuses what is no id
        return snapshot_id
    lock = layout.snapshot_lock(TokensKey.parse(name)).relative_to(layout.root).as_posix()
    data = store.read(lock)
    snapshot_id = manifest.ID_PREFIX + (data or b"").decode("ascii", "replace").strip()
    if not manifest.is_id(snapshot_id):
        raise ConfigError(f"{store.url(lock)}: names no snapshot; `corpus push {name}` where it was made")
    return snapshot_id


def fetch_snapshot_head(store: S3Store, root: Path, snapshot_id: str) -> Publication:
    """The manifest into `root`, and what it lists. Raises ConfigError where it is not there."""
    path = manifest.folder_of(root, snapshot_id) / manifest.NAME_ON_DISK
    _bring(store, root, path, f"snapshot {snapshot_id} is not published there")
    return publication.of_snapshot(root, snapshot_id)


def fetch_version_head(store: S3Store, root: Path, key: VersionKey) -> Publication:
    """Lock, manifest and seal into `root`, and what they list. Raises ConfigError where they are not there, and
    CorruptDataError where they do not agree.
    """
    names, here = VersionNames.of(key), Layout(root)
    _bring(store, root, here.lock(key), f"{key} is not published there")
    _bring(
        store, root, root / names.manifest, f"{key} is not published there yet: somebody is at it, or was killed at it"
    )
    _bring(store, root, root / names.seal, f"{key} has no evidence there; remove its manifest and push it again")
    return publication.of_version(here, key)


def _bring(store: S3Store, root: Path, path: Path, missing: str) -> None:
    name = path.relative_to(root).as_posix()
    data = store.read(name)
    if data is None:
        raise ConfigError(f"{store.url(name)}: {missing}; name another one, or `corpus push` it where it was built")
    durable.write_file(path, data)


def _pull_version(store: S3Store, layout: Layout, key: VersionKey, say: Say | None) -> Pulled:
    out, told, lock = layout.version(key), layout.evidence(key), layout.lock(key)
    staging = Layout(layout.work(STAGE, str(key)))
    durable.restore_folder(out)
    durable.restore_folder(told)
    found = fetch_version_head(store, staging.root, key)
    _hold_same(layout, key, found)
    files = (*found.files, found.last, *found.evidence)
    brought = (found.last, found.evidence[-1])
    folders = [(staging.version(key), out, (*found.files, found.last)), (staging.evidence(key), told, found.evidence)]
    folders = [one for one in folders if not all(_is_here(layout.root, file) for file in one[2])]
    fetched = sum(_collect(store, staging.root, layout.root, wanted, brought, say) for _, _, wanted in folders)
    for staged, final, _ in reversed(folders):  # the evidence first, as when it is published here
        final.parent.mkdir(parents=True, exist_ok=True)
        durable.swap_folder(staged, final)
    if not lock.exists():
        durable.write_digest(lock, found.last.sha256)
    shutil.rmtree(staging.root, ignore_errors=True)
    _take_mark(store, layout, yank.path_of_version(layout.root, key.dataset, key.version))
    return Pulled(str(key), fetched, len(files) - fetched, tuple(_take_over(layout, key)))


def _hold_same(layout: Layout, key: VersionKey, found: Publication) -> None:
    lock = layout.lock(key)
    if lock.exists() and (here := durable.read_lock(lock)) != found.last.sha256:
        raise PublishedError(
            f"{lock}: {key} is published here with manifest {here}, and there with {found.last.sha256}; pull it into "
            "another root, and compare them with `corpus diff`"
        )


def _pull_snapshot(store: S3Store, layout: Layout, name: str, say: Say | None) -> Pulled:
    snapshot_id = snapshot_named(store, layout, name)
    final = manifest.folder_of(layout.root, snapshot_id)
    staging = layout.work(STAGE, final.name)
    with durable.one_at_a_time(lock_of(layout, final)):
        durable.restore_folder(final)
        found = fetch_snapshot_head(store, staging, snapshot_id)
        files = (*found.files, found.last)
        fetched = 0
        if not all(_is_here(layout.root, file) for file in files):
            fetched = _collect(store, staging, layout.root, files, (found.last,), say)
            final.parent.mkdir(parents=True, exist_ok=True)
            durable.swap_folder(manifest.folder_of(staging, snapshot_id), final)
        shutil.rmtree(staging, ignore_errors=True)
    if "." in name:
        durable.write_digest(layout.snapshot_lock(TokensKey.parse(name)), final.name)
    for path in yank.places(layout.root, manifest.read(layout.root, snapshot_id)):
        _take_mark(store, layout, path)
    return Pulled(snapshot_id, fetched, len(files) - fetched)


def _collect(
    store: S3Store,
    staging: Path,
    root: Path,
    files: Sequence[StoredFile],
    brought: Sequence[StoredFile],
    say: Say | None,
) -> int:
    """Have all of a folder in `staging`; how many were fetched, those with it that were `brought` there just now."""

    def have(file: StoredFile) -> bool:
        path = staging / file.name
        if _is_here(root, file):
            path.unlink(missing_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            durable.link_or_copy(root / file.name, path)
            return False
        if _is_here(staging, file):
            return file in brought
        durable.remove_unfinished(path)
        store.fetch(file.name, path, file.sha256)
        if say:
            say(file.name)
        return True

    with _threads(store) as threads:
        return sum([one.result() for one in [threads.submit(have, file) for file in files]])


@contextmanager
def _threads(store: S3Store) -> Iterator[ThreadPoolExecutor]:
    threads = ThreadPoolExecutor(store.settings.parallel_files, thread_name_prefix="pull")
    try:
        yield threads
    finally:
        threads.shutdown(cancel_futures=True)


def _is_here(root: Path, file: StoredFile) -> bool:
    path = root / file.name
    return path.is_file() and durable.sha256_of(path) == file.sha256


def _take_mark(store: S3Store, layout: Layout, path: Path) -> None:
    """The mark that the store has of it, where none lies here."""
    name = path.relative_to(layout.root).as_posix()
    if not path.exists() and (data := store.read(name)) is not None:
        yank.parse(data, store.url(name))
        durable.write_file(path, data)


def _take_over(layout: Layout, key: VersionKey) -> Iterator[str]:
    """The config that the version was published with, and the ledger rows of sources that the ledger has not, so that
    a next version can be made of it here.
    """
    version = open_published(layout, key)
    if not layout.config(key).exists():
        data = (version.evidence / CONFIG_COPY).read_bytes()
        layout.config(key).parent.mkdir(parents=True, exist_ok=True)
        durable.write_file(layout.config(key), data)
        yield f"config {layout.config(key)}"
    known = ledger.count_rows(layout.ledger) if layout.ledger.exists() else {}
    for source, row in sorted(version.rows.items()):
        if source not in known:
            ledger.append(layout.ledger, row)
            yield f"ledger row {source}"
