"""How far long work is: told by stages and fetcher, heard by whoever listens; a run's log where nobody does.

Progress never reaches an output. Calls may come from several threads.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from resources.download.progress import LogProgress, UnderWay

Listener = Callable[[str, int, int], None]
"""(what, done, of how many, 0 where nobody knows); `what` names the unit, such as "shards" or "bytes of" a file, and
after a comma what else is to be said.
"""

LOG_EVERY_SECONDS = 10.0
_log = logging.getLogger("corpus.progress")


class _Log:
    """A line in the log now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._lock = threading.Lock()

    def __call__(self, what: str, done: int, total: int) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._last < LOG_EVERY_SECONDS:
                return
            self._last = now
        if total:
            _log.info("%s: %d of %d", what, done, total)
        else:
            _log.info("%d %s", done, what)


_listener: Listener = _Log()


def tell(what: str, done: int, total: int) -> None:
    """Say how far something is; cheap enough to be called often."""
    _listener(what, done, total)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Let `listener` hear what is told meanwhile, in this process."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


class FetchProgress(LogProgress):
    """Bytes of each file under way are told, events go to the log."""

    def begin(self, one: UnderWay, done: int) -> None:
        super().begin(one, done)
        self.advance(one, done)

    def advance(self, one: UnderWay, done: int) -> None:
        tell(f"bytes of {one.file}", done, one.total)
