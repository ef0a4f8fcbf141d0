"""Where alerts wait until their receivers took them: a file for each alert and receiver, so that one that is down holds
no other up, and gets what it missed when it is back.

`<folder>/<receiver>/<alert>.json` waits, `<folder>/<receiver>/told/<alert>.json` was taken, and is the reason why an
alert of this name is told once, for `TOLD_SECONDS`. One may come twice, after a kill between the send and the rename.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from formats import durable
from formats.errors import ConfigError, CorpusError, CorruptDataError, TransientError

Alert = dict[str, Any]
SECONDS_A_PASS = 20.0
"""After so long no further alert is sent to a receiver in one pass: Dagster gives a sensor's tick a minute."""
PAUSE_SECONDS = 20.0
"""So long a receiver that was down is left alone: a tick may have many alerts, and each try may take a timeout."""
MAX_PAUSE_SECONDS = 3600.0
"""The longest that a receiver may ask for."""
TOLD_SECONDS = 90 * 24 * 3600.0
"""So long it is known what was told; nobody asks later: a sensor looks at a run when it ends."""
_MAX_THREADS = 8


class RefusedError(TransientError):
    """The receiver is there and will not take this one alert; others it may take. Tried again behind them."""


class BusyError(TransientError):
    """The receiver says when it may be asked again."""

    def __init__(self, words: str, seconds: float) -> None:
        super().__init__(words)
        self.seconds = seconds


class Receiver(Protocol):
    """One place that alerts go to."""

    @property
    def name(self) -> str:
        """Of its folder and in messages; no secret is in it."""

    def send(self, name: str, alert: Alert) -> None:
        """Returns once the alert was taken; `name` is the same for each try. Raises ConfigError for settings that a
        person has to mend, RefusedError, BusyError, and TransientError for all else. No message holds a credential.
        """


@dataclass(frozen=True)
class Outbox:
    """The waiting alerts below one folder."""

    folder: Path
    clock: Callable[[], float] = time.time

    def put(self, name: str, alert: Alert, receivers: Sequence[Receiver]) -> None:
        """Let an alert wait for each of the receivers that was not told it already."""
        for receiver in receivers:
            box = self.folder / receiver.name
            if not (box / "told" / f"{name}.json").exists():
                durable.write_file(box / f"{name}.json", json.dumps(alert).encode())

    def deliver(self, receivers: Sequence[Receiver]) -> int:
        """Send what waits, the oldest first, to all receivers at once; returns how many were taken. Raises
        TransientError at the end, which names every receiver that did not take what it should.
        """
        if not receivers:
            return 0
        with ThreadPoolExecutor(min(len(receivers), _MAX_THREADS)) as threads:
            passes = list(threads.map(self._deliver_to, receivers))
        if failed := [words for _, words in passes if words]:
            raise TransientError("; ".join(failed))
        return sum(taken for taken, _ in passes)

    def waiting(self, receivers: Sequence[Receiver]) -> int:
        """How many alerts wait for these receivers."""
        return sum(1 for receiver in receivers for _ in (self.folder / receiver.name).glob("*.json"))

    def _deliver_to(self, receiver: Receiver) -> tuple[int, str]:
        """How many were taken, and what went wrong, if anything."""
        box, taken, wrong = self.folder / receiver.name, 0, ""
        with durable.one_at_a_time(box / ".lock"):
            if self.clock() < _not_before(box):
                return 0, ""
            until = time.monotonic() + SECONDS_A_PASS
            for path in _oldest_first(box):
                if time.monotonic() > until:
                    break
                told = box / "told" / path.name
                try:
                    told.parent.mkdir(exist_ok=True)  # a disk that is full says so before anything is sent
                    if told.exists():
                        path.unlink()
                        continue
                    receiver.send(path.stem, durable.json_of(path, "delete it; the alert in it is lost"))
                except (RefusedError, CorruptDataError) as error:
                    os.utime(path)  # behind the others
                    wrong = str(error)
                except (TransientError, ConfigError) as error:
                    self._pause(box, error)
                    return taken, str(error)
                else:
                    os.utime(path, (self.clock(), self.clock()))
                    path.replace(told)
                    taken += 1
            if taken:
                self._forget(box / "told")
        return taken, wrong

    def _forget(self, told: Path) -> None:
        before = self.clock() - TOLD_SECONDS
        for path in told.iterdir():
            if path.stat().st_mtime < before:
                path.unlink()

    def _pause(self, box: Path, error: CorpusError) -> None:
        seconds = max(PAUSE_SECONDS, error.seconds) if isinstance(error, BusyError) else PAUSE_SECONDS
        durable.write_file(box / ".not_before", str(self.clock() + min(seconds, MAX_PAUSE_SECONDS)).encode())


def _not_before(box: Path) -> float:
    with suppress(OSError, ValueError):
        return float((box / ".not_before").read_bytes())
    return 0.0


def _oldest_first(box: Path) -> Iterator[Path]:
    return iter(sorted(box.glob("*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name)))
