"""What may be deleted below a root: what no version, pin, lock or evidence needs (`needed`), and what killed processes
left behind. Whatever a living process holds a lock on stays.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.plans import named_snapshot, trained_models, work
from corpus_assets.plans import raw_set as raw_sets
from corpus_assets.plans.model_standing import unneeded_files
from corpus_assets.plans.needed import Needed, needed
from corpus_assets.plans.pinned import Build
from corpus_assets.plans.pull import STAGE as PULLED
from formats import durable, raw_set
from formats.errors import ConfigError, CorpusError
from formats.layout import Layout
from formats.naming import RESERVED, VersionKey
from resources.download.cache import Cache
from resources.engines import scratch

STAGES = (
    "documents",
    "site_entries",
    "site_matches",
    "word_entries",
    "listed_words",
    "left_out",
    "doc_signals",
    "filtered_docs",
    "model_signals",
    "model_verdicts",
    "minhash_signatures",
    "band_parts",
    "keeper_ranks",
    "near_edges",
    "dedup_clusters",
    "scrubbed_docs",
    "near_items",
    "mixed_languages",
    "withheld",
    "domain_caps",
    "placed_rows",
    "outcomes",
    "ngram_index",
    "contamination",
    "tokenized",
    "packed",
)
"""Those of which `needed` knows all that a build would ask for. What lies in `corpus/work` beside them stays."""
STAGE_OUTPUT, EVAL_INDEX, RAW_SET, FETCHED = "stage outputs", "eval indexes", "raw sets", "fetched files"
MODEL = "trained models"
UNFINISHED, SCRATCH, QUARANTINE = "unfinished", "scratch", "quarantine"
_DIGEST = re.compile("[0-9a-f]{64}")
_RAW_SET = re.compile("[0-9]{8}(-[0-9a-f]{8})?")


@dataclass(frozen=True)
class Garbage:
    """A file or folder that may go. `lock` is the one that whoever makes such a thing holds; None where none is."""

    kind: str
    path: Path
    num_bytes: int
    lock: Path | None = None


def find(build: Build) -> list[Garbage]:
    """All that may go, by kind and path. `build` is a fresh one. Raises as `needed` does."""
    layout, must_stay = build.layout, needed(build)
    found = [*_stage_outputs(layout, must_stay), *_raw_sets(layout, must_stay), *_cache(layout, must_stay)]
    found += [*_unfinished(layout), *_scratch(layout)]
    found += [
        Garbage(MODEL, path, size(path), trained_models.lock_of(layout, name)) for path, name in unneeded_files(layout)
    ]
    return sorted((one for one in found if one.lock is None or not durable.is_held(one.lock)), key=_order)


def _order(one: Garbage) -> tuple[str, str]:
    return one.kind, str(one.path)


def delete(one: Garbage) -> bool:
    """Remove it under its lock, whole or not at all: a kill leaves it under a name that nothing reads. False where
    somebody has taken the lock meanwhile, or it is gone.
    """
    if one.lock is not None and durable.is_held(one.lock):
        return False
    with _held(one.lock):
        if not os.path.lexists(one.path):
            return False
        if one.path.is_dir() and not one.path.is_symlink():
            going = one.path.with_name(f"{one.path.name.removesuffix('.tmp')}.{secrets.token_hex(4)}.tmp")
            one.path.rename(going)
            shutil.rmtree(going)
        else:
            one.path.unlink()
    return True


@contextmanager
def _held(lock: Path | None) -> Iterator[None]:
    """A lock that is not there is nobody's, and is not made: it would be one more thing to remove."""
    if lock is None or not lock.exists():
        yield
        return
    with durable.one_at_a_time(lock):
        yield


def _stage_outputs(layout: Layout, must_stay: Needed) -> Iterator[Garbage]:
    for stage in STAGES:
        if stage in must_stay.whole_stages:
            continue
        for folder in layout.work(stage, "").glob("*"):
            if folder.is_dir() and _DIGEST.fullmatch(folder.name) and folder not in must_stay.folders:
                yield Garbage(STAGE_OUTPUT, folder, size(folder), layout.work("locks", stage))
    for path in layout.work("eval_index", "").glob("*"):
        if path.is_file() and _DIGEST.match(path.name) and path not in must_stay.folders:
            yield Garbage(EVAL_INDEX, path, size(path))


def _raw_sets(layout: Layout, must_stay: Needed) -> Iterator[Garbage]:
    """One that cannot be opened stays: it does not say whose it is."""
    for folder in (layout.corpus / "raw").glob("*/*"):
        lock = raw_sets.lock_of(folder.parent)
        if folder.is_dir() and _RAW_SET.fullmatch(folder.name):
            with suppress(CorpusError):
                held = raw_set.open_set(folder)
                digests = {held.identity, held.digest, held.as_dataset().digest}
                if not digests & must_stay.raw_sets:
                    yield Garbage(RAW_SET, folder, size(folder), lock)
        elif folder.is_dir() and folder.suffix == ".tmp":
            yield Garbage(UNFINISHED, folder, size(folder), lock)


def _cache(layout: Layout, must_stay: Needed) -> Iterator[Garbage]:
    """Only of a cache that is the root's own: what other roots need of a shared one, nobody here knows."""
    if layout.cache != layout.corpus / "cache" or layout.cache.is_symlink():
        return
    for path in layout.cache.glob("*"):
        digest = path.name.partition(".")[0]
        if path.name == QUARANTINE:
            yield from (Garbage(QUARANTINE, wrong, size(wrong)) for wrong in path.iterdir())
        elif _DIGEST.fullmatch(digest):
            complete = path.name == digest
            if digest not in must_stay.files or (not complete and (layout.cache / digest).exists()):
                kind = FETCHED if complete else UNFINISHED
                yield Garbage(kind, path, size(path), Cache(layout.cache).flock(digest))


def _unfinished(layout: Layout) -> Iterator[Garbage]:
    """What killed makers of stage outputs, versions and snapshots left, and stopped pulls. A version's `.old` without
    the version itself is its only copy: the next build puts it back.
    """
    for folder in (*layout.work("", "").glob("*/*.tmp"), *layout.snapshots.glob("*.tmp")):
        if folder.is_dir():
            yield Garbage(UNFINISHED, folder, size(folder), work.lock_of(folder))
    for folder in layout.work(PULLED, "").glob("*"):
        of_snapshot = _DIGEST.fullmatch(folder.name)
        lock = named_snapshot.lock_of(layout, folder) if of_snapshot else layout.work("locks", folder.name)
        yield Garbage(UNFINISHED, folder, size(folder), lock)
    for folder in layout.corpus.glob("*/*"):
        out = folder.with_suffix("")
        if folder.parent.name in RESERVED or not folder.is_dir() or folder.suffix not in (".tmp", ".old"):
            continue
        version = f"{folder.parent.name}.{out.name.removesuffix('.evidence')}"
        if _is_version(layout, version) and (folder.suffix == ".tmp" or out.exists()):
            yield Garbage(UNFINISHED, folder, size(folder), layout.work("locks", version))


def _is_version(layout: Layout, words: str) -> bool:
    """Whether something here says that there is or was such a version: other folders are people's own."""
    try:
        key = VersionKey.parse(words)
    except ConfigError:
        return False
    return any(path.exists() for path in (layout.config(key), layout.lock(key), layout.work("locks", words)))


def _scratch(layout: Layout) -> Iterator[Garbage]:
    for folder in layout.work("scratch", "").glob("**/sort-*"):
        if folder.is_dir():
            yield Garbage(SCRATCH, folder, size(folder), scratch.lock_of(folder))


def size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not path.is_dir():
        return path.lstat().st_size
    return sum((Path(at) / name).lstat().st_size for at, _, names in os.walk(path) for name in names)
