"""The fetcher: wanted files in, verified local paths out; nothing whose checksum is right is downloaded again.

A file is right when its SHA-256 is the ledger's, and gets its final name only then. Memory: one interval for each of
`parallel_files`. Local files are local.py's, others download.py's, from HTTP (http.py) or a store (stores.py).
"""

import errno
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from formats import durable
from formats.errors import ConfigError, CorpusError, TransientError
from formats.ledger_urls import STORE_SCHEMES
from resources.download import local
from resources.download.access import Access
from resources.download.cache import Cache
from resources.download.download import Download
from resources.download.partial_file import has_checkpoint, survey
from resources.download.progress import LogProgress, Progress, in_units, under_way
from resources.download.settings import FetchSettings
from resources.download.sources import Sources
from resources.download.stores import require_driver
from resources.download.wanted import Planned, Wanted, check

T = TypeVar("T")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOT_WRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST})


class _Stopped(Exception):
    """Another thread's sign to stop; what is held has been kept."""


class Fetcher:
    """Fetches into one cache folder. `wait(seconds)` is how it sleeps between tries; None: until the time or a stop.
    `access` says how fast and with which credentials; all that is wanted is of its source.
    """

    def __init__(
        self,
        cache: Path,
        settings: FetchSettings | None = None,
        progress: Progress | None = None,
        wait: Callable[[float], None] | None = None,
        access: Access | None = None,
    ) -> None:
        self._cache = Cache(cache)
        self._settings = settings or FetchSettings()
        self._progress: Progress = progress or LogProgress()
        self._stop = threading.Event()
        self._wait = wait or self._wait_for_stop
        self._access = access or Access()

    def plan(self, wanted: Sequence[Wanted]) -> list[Planned]:
        """What `fetch_all` would do, in the same order; reads and hashes what is here, changes nothing, asks nobody.

        Raises ConfigError, and CorruptDataError for a local file that changed.
        """
        self._check(wanted)
        return self._in_parallel(self._plan, wanted)

    def fetch_all(self, wanted: Sequence[Wanted], *, resume_only: bool = False) -> list[Path]:
        """The paths to open, in the order of `wanted`. Every file is worked on, also when another fails; then the first
        failure in that order is raised, with the others as its notes.

        Raises ConfigError (before any work: a bad row, no room, `resume_only` and nothing to go on from; later: an
        answer such as 404), CorruptDataError (wrong bytes, which lie in quarantine), TransientError (the tries are used
        up, or the disk is full; what was verified stays, and a rerun goes on from there).
        """
        self._check(wanted)
        if resume_only:
            self._require_checkpoints(wanted)
        self._require_room(wanted)
        self._access.check((one.url for one in wanted if one.scheme and not self._is_here(one)), self._settings)
        self._stop.clear()
        with Sources(self._settings, self._access, self._pause) as sources:
            return self._in_parallel(lambda one: self._fetch(one, sources, resume_only), wanted)

    def _check(self, wanted: Sequence[Wanted]) -> None:
        for one in wanted:
            check(one)
            if one.scheme in STORE_SCHEMES:
                require_driver(one.url)

    def _in_parallel(self, work: Callable[[Wanted], T], wanted: Sequence[Wanted]) -> list[T]:
        with ThreadPoolExecutor(self._settings.parallel_files, "fetch") as pool:
            futures = [pool.submit(work, one) for one in wanted]
            try:
                failures = [error for future in futures if (error := _failure_of(future)) is not None]
            except BaseException:  # an interrupt: let each thread keep what it holds, then pass it on
                self._stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        if failures:
            for other in failures[1:]:
                failures[0].add_note(f"also: {other}")
            raise failures[0]
        return [future.result() for future in futures]

    def _plan(self, wanted: Wanted) -> Planned:
        if wanted.local_path is not None and not self._settings.copy_local:
            local.verify(wanted)
            return Planned(wanted.name, "verified", wanted.num_bytes, wanted.num_bytes)
        if self._cache.verified(wanted) is not None:
            return Planned(wanted.name, "verified", wanted.num_bytes, wanted.num_bytes)
        if wanted.local_path is not None:
            return Planned(wanted.name, "planned", wanted.num_bytes, 0)
        done = survey(self._cache.partial(wanted.sha256), wanted.name, wanted.num_bytes).pair.verified_bytes
        return Planned(wanted.name, "partial" if done else "planned", wanted.num_bytes, done)

    def _require_checkpoints(self, wanted: Sequence[Wanted]) -> None:
        """Refuse what would start from zero, as far as it can be told without reading the files themselves."""
        fresh = [one for one in wanted if not self._can_go_on(one)]
        if fresh:
            raise ConfigError(
                f"--resume-only: {len(fresh)} of {len(wanted)} files have no checkpoint to go on from, "
                f"the first is {fresh[0].name}; run without it to start them"
            )

    def _can_go_on(self, wanted: Wanted) -> bool:
        here = wanted.local_path is not None or self._is_here(wanted)
        return here or has_checkpoint(self._cache.partial(wanted.sha256))

    def _is_here(self, wanted: Wanted) -> bool:
        return self._cache.final(wanted.sha256).exists()

    def _require_room(self, wanted: Sequence[Wanted]) -> None:
        """Refuse at once what cannot fit; what others write meanwhile is found when it happens."""
        missing = {
            one.sha256: one.num_bytes - _size(self._cache.partial(one.sha256))
            for one in wanted
            if (one.local_path is None or self._settings.copy_local) and not self._is_here(one)
        }
        folder = self._cache.folder.absolute()
        while not folder.exists():
            folder = folder.parent
        free = shutil.disk_usage(folder).free
        if (needed := sum(max(0, num_bytes) for num_bytes in missing.values())) > free:
            raise ConfigError(
                f"{self._cache.folder}: {in_units(needed)} are to be fetched, {in_units(free)} are free; "
                "make room or choose another cache folder"
            )

    def _fetch(self, wanted: Wanted, sources: Sources, resume_only: bool) -> Path:
        try:
            if wanted.local_path is not None and not self._settings.copy_local:
                return local.verify(wanted)
            path = self._cache.verified(wanted)
            if path is not None and not self._cache.has_leftovers(wanted.sha256):
                return path
            busy = "another process fetches it; waiting"
            with self._cache.lock(wanted.sha256, self._pause, lambda: self._progress.event(wanted.name, busy)):
                return self._fetch_alone(wanted, sources, resume_only)
        except OSError as error:
            raise self._as_corpus_error(error, wanted) from None

    def _fetch_alone(self, wanted: Wanted, sources: Sources, resume_only: bool) -> Path:
        """Under the file's lock: what the one before may have brought is looked for first."""
        if (path := self._cache.verified(wanted)) is not None:
            self._cache.remove_leftovers(wanted.sha256)
            return path
        if (final := self._cache.final(wanted.sha256)).exists():
            found = durable.sha256_of(final)
            if resume_only:
                raise ConfigError(f"--resume-only: {final} has sha256 {found}; run without it to fetch it again")
            there = self._cache.quarantine(final, wanted.sha256, found)
            self._progress.event(wanted.name, f"the cached file has sha256 {found}; moved to {there}, fetched again")
        if wanted.local_path is not None:
            with under_way(self._progress, wanted.name, 0, wanted.num_bytes) as advance:
                return local.copy(wanted, self._cache, advance)
        return Download(wanted, self._cache, self._settings, self._progress, self._pause, sources, resume_only).run()

    def _pause(self, seconds: float) -> None:
        """Wait, unless the caller stopped meanwhile; with 0 only look."""
        if seconds > 0:
            self._wait(seconds)
        if self._stop.is_set():
            raise _Stopped

    def _wait_for_stop(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def _as_corpus_error(self, error: OSError, wanted: Wanted) -> CorpusError:
        where = error.filename or self._cache.folder
        if error.errno in _NO_ROOM:
            return TransientError(
                f"{where}: {error.strerror} while fetching {wanted.name}; nothing is lost or half named: "
                "make room and run again, it goes on from the last checkpoint"
            )
        if error.errno in _NOT_WRITABLE:
            return ConfigError(f"{where}: {error.strerror}; make the cache folder writable or choose another one")
        if error.errno == errno.EISDIR:
            return ConfigError(f"{where}: a folder lies where a file belongs; move it away and run again")
        return TransientError(f"{where}: {error.strerror or error} while fetching {wanted.name}; check the disk")


def _failure_of(future: "Future[T]") -> CorpusError | None:
    try:
        future.result()
    except CorpusError as error:
        return error
    return None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
