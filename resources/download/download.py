"""One file from elsewhere: tries until it is whole and right. Decides what an answer brings and what a failure costs.

Bytes survive a dropped connection in memory and a killed process by checkpoints; a file that changed on the server is
fetched anew.
"""

import random
from collections.abc import Callable
from pathlib import Path

from formats.errors import ConfigError, CorruptDataError, TransientError
from resources.download.cache import Cache
from resources.download.http_answer import Answer, FailedTry, WrongTotal
from resources.download.partial_file import PartialFile, Survey, Validators, survey
from resources.download.progress import Progress, under_way
from resources.download.settings import FetchSettings
from resources.download.sources import Sources
from resources.download.wanted import Wanted


class Download:
    """The fetch of one file; the caller holds its lock. `pause(seconds)` waits, or raises when it is time to stop."""

    def __init__(
        self,
        wanted: Wanted,
        cache: Cache,
        settings: FetchSettings,
        progress: Progress,
        pause: Callable[[float], None],
        sources: Sources,
        resume_only: bool,
    ) -> None:
        self._wanted, self._cache, self._settings, self._progress = wanted, cache, settings, progress
        self._pause, self._sources, self._resume_only = pause, sources, resume_only
        self._failed_tries, self._wrong_totals, self._refetches = 0, 0, 0
        self._farthest = 0  # the highest position ever: a server that starts over for ever never gets past it
        self._ask_whole = False
        # What fills the budget of tries again: an interval, or a hundredth of a small file.
        self._step_bytes = max(1, min(settings.interval_bytes, wanted.num_bytes // 100))

    def run(self) -> Path:
        """The final path. Raises CorruptDataError, TransientError, ConfigError, OSError."""
        path, total = self._cache.partial(self._wanted.sha256), self._wanted.num_bytes
        found = survey(path, self._wanted.name, total)
        with under_way(self._progress, self._wanted.name, found.pair.verified_bytes, total) as self._advance:
            return self._until_right(path, found)

    def _until_right(self, path: Path, found: Survey) -> Path:
        total = self._wanted.num_bytes
        while True:
            if found.words:
                self._event(found.words)
            if total > 0:
                self._refuse_fresh_start(found.pair.verified_bytes, found.words or "no checkpoint")
            self._farthest = max(self._farthest, found.pair.verified_bytes)
            with PartialFile(path, self._wanted.name, total, self._settings.interval_bytes, found) as file:
                while not file.whole:
                    try:
                        self._take_answer(file)
                    except FailedTry as failure:
                        self._after(failure, file)
                if (final := self._finish(file)) is not None:
                    return final
            found = survey(path, self._wanted.name, total)

    def _take_answer(self, file: PartialFile) -> None:
        """Ask once, and take what comes. Raises FailedTry when the file is not whole and no further than before."""
        ask_from = 0 if self._ask_whole else file.position
        self._ask_whole = False
        with self._sources.get(self._wanted.url, ask_from, file.validators.if_range) as answer:
            self._place(answer, file)
            while not file.whole and (answer.stop is None or file.position < answer.stop):
                block = answer.read(file.room if answer.stop is None else min(file.room, answer.stop - file.position))
                if not block:
                    break
                file.add(block)
                self._advance(file.position)
                self._pause(0)
                self._count_progress(file.position, self._step_bytes)
            if file.whole and answer.stop is None and answer.read(1):
                self._refuse_excess(file)
        if not file.whole and not (file.position == answer.stop and self._count_progress(file.position, 1)):
            raise FailedTry(f"the answer ended after {file.position} of {self._wanted.num_bytes} bytes")

    def _place(self, answer: Answer, file: PartialFile) -> None:
        """Decide where the answer's bytes go: after those that are here, or at the start; else raises FailedTry."""
        if answer.total is not None and answer.total != self._wanted.num_bytes:
            raise WrongTotal(answer.total, self._wanted.num_bytes, answer.encoding)
        if answer.stop is not None and answer.stop > self._wanted.num_bytes:
            raise WrongTotal(answer.stop, self._wanted.num_bytes, answer.encoding)
        first, now = file.validators, answer.validators
        if answer.start == file.position > 0:
            if (first.etag and now.etag and first.etag != now.etag) or (
                first.last_modified and now.last_modified and first.last_modified != now.last_modified
            ):
                raise FailedTry("the file changed on the server, which sent a part of the new one", ask_whole=True)
            file.guarded = file.guarded and first.if_range is not None and first.if_range == now.if_range
            if first == Validators():  # bytes of another address, or of a server that named nothing until now
                file.validators = now
        elif answer.start == 0:
            if file.position > 0:
                changed = first != now and first != Validators()
                why = "the file changed on the server" if changed else "the server sent it from its start"
                self._refuse_fresh_start(0, why)
                self._event(f"{why}: {file.position} bytes discarded, fetched from zero")
                file.restart()
            file.validators = now
            file.guarded = answer.in_one_piece
        else:
            raise FailedTry(f"asked for byte {file.position}, the answer begins at {answer.start}", ask_whole=True)

    def _after(self, failure: FailedTry, file: PartialFile) -> None:
        """Count a failed try and wait; raises when it was the last one."""
        self._failed_tries += 1
        self._ask_whole = failure.ask_whole
        name, done, total = self._wanted.name, file.position, self._wanted.num_bytes
        if isinstance(failure, WrongTotal):
            self._wrong_totals += 1
            if self._wrong_totals > 1:  # once may be a proxy's error page, twice is the file
                todo = "the publisher's file is not the ledger's: check it, then mend the ledger or the url"
                raise CorruptDataError(name, "num_bytes", total, failure.found, todo) from None
        if self._failed_tries >= self._settings.max_tries:
            raise TransientError(
                f"{name}: given up after {self._failed_tries} tries without progress, {done} of {total} bytes here; "
                f"last: {failure}; run again to go on"
            ) from None
        longest = min(
            self._settings.max_backoff_seconds, self._settings.backoff_seconds * 2.0 ** min(self._failed_tries - 1, 60)
        )
        seconds = longest * random.uniform(0.5, 1.0)  # jitter: many that failed together must not come back together
        if failure.retry_after_seconds is not None:
            if failure.retry_after_seconds > self._settings.max_retry_after_seconds:
                raise TransientError(
                    f"{name}: the server asks to wait {failure.retry_after_seconds:.0f} s ({failure}), at most "
                    f"{self._settings.max_retry_after_seconds:.0f} s are waited; run again later, {done} bytes are here"
                ) from None
            seconds += failure.retry_after_seconds
        self._event(f"{failure}; {done} of {total} bytes are here, try {self._failed_tries + 1} in {seconds:.1f} s")
        self._pause(seconds)

    def _finish(self, file: PartialFile) -> Path | None:
        """The final path, when the disk gives back what the ledger says; None when it is to be fetched again."""
        found, expected = file.digest_on_disk(), self._wanted.sha256
        if found == expected:
            return self._cache.publish(expected)
        damaged = found != file.digest_as_received
        if (damaged or not file.guarded) and self._refetches == 0:
            self._refetches += 1
            if damaged:  # the next survey keeps what still fits a checkpoint
                self._event(f"the disk gave back sha256 {found}, {file.digest_as_received} was written; fetched again")
                return None
            why = f"sha256 is {found}, expected {expected}, joined from answers that no validator tied together"
            self._refuse_fresh_start(0, why)
            self._event(f"{why}: fetched once more from zero")
            file.restart()
            return None
        there = self._cache.quarantine(self._cache.partial(expected), expected, found)
        todo = f"these bytes lie in {there}; "
        todo += "check the disk" if damaged else "check the publisher's file, then mend the ledger or the url"
        raise CorruptDataError(self._wanted.name, "sha256", expected, found, todo)

    def _refuse_excess(self, file: PartialFile) -> None:
        """The body goes on beyond the ledger's length: not one byte more is taken, and what is here is set aside."""
        found = file.digest_on_disk()
        there = self._cache.quarantine(self._cache.partial(self._wanted.sha256), self._wanted.sha256, found)
        total = self._wanted.num_bytes
        todo = (
            f"stopped there, the first {total} bytes lie in {there}; check the publisher's file, then mend the ledger"
        )
        raise CorruptDataError(self._wanted.name, "num_bytes", total, f"more than {total}", todo)

    def _refuse_fresh_start(self, kept_bytes: int, why: str) -> None:
        if self._resume_only and kept_bytes == 0:
            raise ConfigError(f"--resume-only: {self._wanted.name}: {why}; run without it to start from zero")

    def _count_progress(self, position: int, least: int) -> bool:
        """Whether the file got `least` bytes beyond its farthest point; if so the budget of tries is full again."""
        if position < self._farthest + least:
            return False
        self._farthest, self._failed_tries = position, 0
        return True

    def _event(self, words: str) -> None:
        self._progress.event(self._wanted.name, words)
