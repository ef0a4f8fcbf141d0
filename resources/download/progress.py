"""What a fetch tells while it runs. Calls come from several threads; a file is named by its URL with secrets masked."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TextIO

_log = logging.getLogger("corpus.fetch")


class Progress(Protocol):
    def begin(self, file: str, done: int, total: int, /) -> None:
        """Work on a file starts; `done` bytes of `total` need no download."""

    def advance(self, file: str, done: int, /) -> None:
        """`done` bytes of the file are here now (fewer than before after a restart)."""

    def event(self, file: str, words: str, /) -> None:
        """Something a person may want to know: a failed try, a changed file, bytes cut back, a quarantine."""

    def end(self, file: str, words: str, /) -> None:
        """Work on a file is over."""


class LogProgress:
    """Events to the log `corpus.fetch`: the default, for runs nobody watches."""

    def begin(self, file: str, done: int, total: int) -> None:
        _log.info("%s: begins at %d of %d bytes", file, done, total)

    def advance(self, file: str, done: int) -> None:
        pass

    def event(self, file: str, words: str) -> None:
        _log.warning("%s: %s", file, words)

    def end(self, file: str, words: str) -> None:
        _log.info("%s: %s", file, words)


@dataclass
class _Line:
    total: int
    first: int
    done: int
    since: float


class TerminalProgress:
    """On a terminal one line a file under way, redrawn in place; elsewhere plain lines, without the advances."""

    REDRAW_SECONDS = 0.2

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._tty = stream.isatty()
        self._lines: dict[str, _Line] = {}
        self._drawn, self._drawn_at = 0, float("-inf")
        self._lock = threading.Lock()

    def begin(self, file: str, done: int, total: int) -> None:
        with self._lock:
            self._lines[file] = _Line(total, done, done, self._clock())
            if self._tty:
                self._draw()
            else:
                self._say(f"{file}: {in_units(total)}, {in_units(done)} here")

    def advance(self, file: str, done: int) -> None:
        with self._lock:
            line = self._lines[file]
            line.first = min(line.first, done)
            line.done = done
            if self._tty and self._clock() - self._drawn_at >= self.REDRAW_SECONDS:
                self._draw()

    def event(self, file: str, words: str) -> None:
        with self._lock:
            self._say(f"{file}: {words}")

    def end(self, file: str, words: str) -> None:
        with self._lock:
            self._lines.pop(file, None)
            self._say(f"{file}: {words}")

    def _say(self, words: str) -> None:
        self._erase()
        self._stream.write(words + "\n")
        if self._tty:
            self._draw()
        self._stream.flush()

    def _draw(self) -> None:
        self._erase()
        now = self._clock()
        for file, line in self._lines.items():
            self._stream.write(_as_text(file, line, now) + "\n")
        self._drawn, self._drawn_at = len(self._lines), now
        self._stream.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}A\x1b[J")
        self._drawn = 0


def _as_text(file: str, line: _Line, now: float) -> str:
    seconds = now - line.since
    rate = (line.done - line.first) / seconds if seconds > 0 else 0.0
    left = f"{round((line.total - line.done) / rate)} s left" if rate > 0 else "waiting"
    share = 100 * line.done // line.total if line.total else 100
    name = file if len(file) <= 48 else "…" + file[-47:]  # a line that wraps could not be redrawn
    return f"{name} {share:3d} %  {in_units(line.done)} of {in_units(line.total)}  {in_units(rate)}/s  {left}"


def in_units(num_bytes: float) -> str:
    """Bytes for people: `512 B`, `1.5 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if num_bytes < 1024:
            return f"{num_bytes:.0f} {unit}" if unit == "B" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1024
    return f"{num_bytes:.1f} TiB"
