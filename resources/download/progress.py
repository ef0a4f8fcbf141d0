"""What a fetch tells while it runs. Calls come from several threads; a file is named by its URL with secrets masked."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TextIO

_log = logging.getLogger("corpus.fetch")


@dataclass(frozen=True, eq=False)
class UnderWay:
    """A file that is worked on, as it is shown. No other one is equal: two that differ in what is masked look alike."""

    file: str
    total: int


class Progress(Protocol):
    def begin(self, one: UnderWay, done: int, /) -> None:
        """Work on a file starts; `done` bytes of it need no download."""

    def advance(self, one: UnderWay, done: int, /) -> None:
        """`done` bytes of the file are here now (fewer than before after a restart)."""

    def event(self, file: str, words: str, /) -> None:
        """Something a person may want to know: a failed try, a changed file, bytes cut back, a quarantine."""

    def end(self, one: UnderWay, words: str, /) -> None:
        """Work on a file is over."""


@contextmanager
def under_way(progress: Progress, file: str, done: int, total: int) -> Iterator[Callable[[int], None]]:
    """Work on a file from begin to end; given is what says how many bytes are here."""
    one, words = UnderWay(file, total), "failed"
    progress.begin(one, done)
    try:
        yield partial(progress.advance, one)
        words = "verified"
    finally:
        progress.end(one, words)


class LogProgress:
    """Events to the log `corpus.fetch`: the default, for runs nobody watches."""

    def begin(self, one: UnderWay, done: int) -> None:
        _log.info("%s: begins at %d of %d bytes", one.file, done, one.total)

    def advance(self, one: UnderWay, done: int) -> None:
        pass

    def event(self, file: str, words: str) -> None:
        _log.warning("%s: %s", file, words)

    def end(self, one: UnderWay, words: str) -> None:
        _log.info("%s: %s", one.file, words)


@dataclass
class _Line:
    first: int
    done: int
    since: float


class TerminalProgress:
    """On a terminal one line a file under way, redrawn in place; elsewhere plain lines, without the advances."""

    REDRAW_SECONDS = 0.2

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._tty = stream.isatty()
        self._lines: dict[UnderWay, _Line] = {}
        self._drawn, self._drawn_at = 0, float("-inf")
        self._lock = threading.Lock()

    def begin(self, one: UnderWay, done: int) -> None:
        with self._lock:
            self._lines[one] = _Line(done, done, self._clock())
            if self._tty:
                self._draw()
            else:
                self._say(f"{one.file}: {in_units(one.total)}, {in_units(done)} here")

    def advance(self, one: UnderWay, done: int) -> None:
        with self._lock:
            line = self._lines[one]
            line.first = min(line.first, done)
            line.done = done
            if self._tty and self._clock() - self._drawn_at >= self.REDRAW_SECONDS:
                self._draw()

    def event(self, file: str, words: str) -> None:
        with self._lock:
            self._say(f"{file}: {words}")

    def end(self, one: UnderWay, words: str) -> None:
        with self._lock:
            del self._lines[one]
            self._say(f"{one.file}: {words}")

    def _say(self, words: str) -> None:
        self._erase()
        self._stream.write(words + "\n")
        if self._tty:
            self._draw()
        self._stream.flush()

    def _draw(self) -> None:
        self._erase()
        now = self._clock()
        for one, line in self._lines.items():
            self._stream.write(_as_text(one, line, now) + "\n")
        self._drawn, self._drawn_at = len(self._lines), now
        self._stream.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}A\x1b[J")
        self._drawn = 0


def _as_text(one: UnderWay, line: _Line, now: float) -> str:
    seconds = now - line.since
    rate = (line.done - line.first) / seconds if seconds > 0 else 0.0
    left = f"{round((one.total - line.done) / rate)} s left" if rate > 0 else "waiting"
    share = 100 * line.done // one.total if one.total else 100
    name = one.file if len(one.file) <= 48 else "…" + one.file[-47:]  # a line that wraps could not be redrawn
    return f"{name} {share:3d} %  {in_units(line.done)} of {in_units(one.total)}  {in_units(rate)}/s  {left}"


def in_units(num_bytes: float) -> str:
    """Bytes for people: `512 B`, `1.5 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if num_bytes < 1024:
            return f"{num_bytes:.0f} {unit}" if unit == "B" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1024
    return f"{num_bytes:.1f} TiB"
