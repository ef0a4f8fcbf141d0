"""How far the partition at work is: its stage and what that tells, with rate and remaining time where two moments give
them.
"""

import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from corpus_assets.plans.work import stage_at_work
from resources.download.progress import in_units

_BYTES = "bytes of "
_ROWS = re.compile(r"([\d,]+) rows$")
_OF_DOCUMENTS = frozenset(
    {"documents", "doc_signals", "filtered_docs", "minhash_signatures", "scrubbed_docs", "outcomes", "shards"}
)
"""Stages whose rows are documents; those of others are candidates, band keys and the like."""
_HOLDING = re.compile(r"\w+ of ([\d,]+) (\w+)")
"""Things that hold many others, such as "shards of 40,000 rows": what a person reckons in is those, on the average."""


@dataclass
class _Meter:
    """Of one kind of thing, from the first moment it was told on."""

    since: float
    first: int
    done: int
    total: int

    def goes_on(self, done: int, total: int) -> bool:
        """Whether this is more of the same; the next stage counts its own shards from the beginning."""
        return total == self.total and done >= self.done

    def rate(self, now: float) -> float:
        """Things a second; 0 while it is not known."""
        seconds = now - self.since
        return (self.done - self.first) / seconds if seconds > 0 else 0.0


class ProgressLine:
    """Hears what is told in one run. On a terminal one line, drawn over in place; elsewhere a plain line now and then,
    and none of a short run. Calls may come from several threads.
    """

    REDRAW_SECONDS = 0.2
    LINE_SECONDS = 5.0

    def __init__(
        self,
        partition: str,
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
        stage: Callable[[], str] = stage_at_work,
    ) -> None:
        self._partition, self._stream, self._clock, self._stage = partition, stream, clock, stage
        self._tty, self._lock = stream.isatty(), threading.Lock()
        self._meters: dict[str, _Meter] = {}
        self._said = clock()
        if self._tty:
            self._draw("")

    def __call__(self, what: str, done: int, total: int) -> None:
        with self._lock:
            now, stage = self._clock(), self._stage()
            thing, comma, more = what.partition(", ")
            if stage in _OF_DOCUMENTS:
                thing = _ROWS.sub(r"\1 documents", thing)
            meter = self._meters.get(thing)
            if meter is None or not meter.goes_on(done, total):
                meter = self._meters[thing] = _Meter(now, done, done, total)
            meter.done = done
            if now - self._said >= (self.REDRAW_SECONDS if self._tty else self.LINE_SECONDS):
                self._said = now
                words = f"{stage}: " if stage else ""
                words += _as_text(thing, meter, comma + more, now)
                self._draw(words) if self._tty else self._say(words)
            if done >= total > 0:
                del self._meters[thing]

    def _draw(self, words: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r\x1b[K{f'  {self._partition} … {words}'[:width].rstrip()}\r")
        self._stream.flush()

    def _say(self, words: str) -> None:
        self._stream.write(f"  …      {self._partition:32} {words}\n")
        self._stream.flush()


def _as_text(thing: str, meter: _Meter, more: str, now: float) -> str:
    rate, of_bytes = meter.rate(now), thing.startswith(_BYTES)
    done, total = (in_units(value) if of_bytes else f"{value:,}" for value in (meter.done, meter.total))
    counted = f"{done} of {total}" if meter.total else done
    words = [f"{counted} {thing.removeprefix(_BYTES) if of_bytes else thing}{more}"]
    if rate > 0:
        words.append(f"{in_units(rate)}/s" if of_bytes else _per_second(thing, rate, meter.total))
        if meter.total:
            words.append(f"{duration((meter.total - meter.done) / rate)} left")
    return ", ".join(words)


def _per_second(thing: str, rate: float, total: int) -> str:
    if total and (found := _HOLDING.fullmatch(thing)):
        return f"{_number(rate * int(found[1].replace(',', '')) / total)} {found[2]}/s"
    return f"{_number(rate)} {thing.split()[0]}/s"


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def duration(seconds: float) -> str:
    """`8 s`, `3 min`, `2 h 5 min`, `4 d 3 h`: what a person plans with."""
    if (whole := round(seconds)) < 100:
        return f"{whole} s"
    if (minutes := round(seconds / 60)) < 100:
        return f"{minutes} min"
    hours, left = divmod(minutes, 60)
    return f"{hours} h {left} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"
