"""No more than so many a second, and so many at once: over the threads of this process, or over all processes of this
machine that name the same folder. The clock is the caller's, so that tests need no time.

What processes share lies in small files under locks of the kernel, which end with who holds them: a killed process
leaves nothing that another would wait for. A turn that it took and did not use passes by itself.
"""

import fcntl
import os
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

from formats import canonical, durable

Key = tuple[object, ...]
"""Texts, or tuples of such."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STATE = struct.Struct("<16sd")
"""Of which start of the machine it is, since its clock begins anew; when the next may pass, by that clock."""


class _Turns(Protocol):
    def take(self, now: float, seconds: float) -> float:
        """When the next turn begins, which lasts so long."""


class _OfProcess:
    def __init__(self) -> None:
        self._lock, self._free_at = threading.Lock(), 0.0

    def take(self, now: float, seconds: float) -> float:
        with self._lock:
            starts = max(self._free_at, now)
            self._free_at = starts + seconds
            return starts


class _OfMachine:
    def __init__(self, path: Path, boot: bytes) -> None:
        self._path, self._boot = path, boot

    def take(self, now: float, seconds: float) -> float:
        with _opened(self._path) as fd:
            with durable.naming(self._path):
                fcntl.flock(fd, fcntl.LOCK_EX)
            found = os.pread(fd, _STATE.size, 0)
            boot, free_at = _STATE.unpack(found) if len(found) == _STATE.size else (b"", 0.0)
            starts = max(free_at, now) if boot == self._boot else now
            os.pwrite(fd, _STATE.pack(self._boot, starts + seconds), 0)
            return starts


class Pace:
    """So many a second, evenly spaced: a token bucket that holds one, so that nothing comes in a burst."""

    def __init__(self, per_second: float, clock: Callable[[], float], turns: _Turns | None = None) -> None:
        self._per_second, self._clock, self._turns = per_second, clock, turns or _OfProcess()

    def reserve(self, amount: float = 1) -> float:
        """The seconds to wait until `amount` may pass. It counts from then on, whoever asks next waits for it."""
        now = self._clock()
        return self._turns.take(now, amount / self._per_second) - now


class Slots(Protocol):
    """What so many at once may hold."""

    def take(self, timeout_seconds: float) -> Callable[[], None] | None:
        """What lets go of it again; None where none became free in this time."""


class _SlotsOfProcess:
    def __init__(self, number: int) -> None:
        self._slots = threading.BoundedSemaphore(number)

    def take(self, timeout_seconds: float) -> Callable[[], None] | None:
        return self._slots.release if self._slots.acquire(timeout=timeout_seconds) else None


class _SlotsOfMachine:
    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def take(self, timeout_seconds: float) -> Callable[[], None] | None:
        """Looks once more after that time: nobody says that a lock is free."""
        if (found := self._free()) is None:
            time.sleep(timeout_seconds)
            found = self._free()
        return found

    def _free(self) -> Callable[[], None] | None:
        for path in self._paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = open(path, "ab")  # noqa: SIM115  closed by who took it
            if durable.took(file):
                return file.close
            file.close()
        return None


class Paces:
    """Every pace and bound, by what it holds for; made when first asked for, and shared after that. With `folder` they
    are those of all processes of this machine that name it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, folder: Path | None = None) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._boot = _boot() if folder else None
        self._folder = folder if self._boot else None  # where nobody says when the clock began, it cannot be shared
        self._paces: dict[Key, Pace] = {}
        self._slots: dict[Key, Slots] = {}

    def pace(self, of: Key, per_second: float) -> Pace:
        with self._lock:
            if (key := (of, per_second)) not in self._paces:
                shared = self._folder and self._boot and _OfMachine(self._path(of, "turns"), self._boot)
                self._paces[key] = Pace(per_second, self._clock, shared or None)
            return self._paces[key]

    def slots(self, of: Key, number: int) -> Slots:
        """What `number` at once may hold."""
        with self._lock:
            if (key := (of, number)) not in self._slots:
                paths = [self._path(of, f"slot-{i}") for i in range(number)] if self._folder else []
                self._slots[key] = _SlotsOfMachine(paths) if paths else _SlotsOfProcess(number)
            return self._slots[key]

    def _path(self, of: Key, what: str) -> Path:
        """Named by a digest, since hosts come from outside; and by the machine, whose clock it is."""
        folder = self._folder or Path()
        return folder / f"{canonical.digest([os.uname().nodename, of])[:32]}.{what}"


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield fd
    finally:
        os.close(fd)


@cache
def _boot() -> bytes | None:
    """Which start of this machine it is; None where the system does not say."""
    try:
        return uuid.UUID(_BOOT_ID.read_text("ascii").strip()).bytes
    except (OSError, ValueError):
        return None


OF_PROCESS = Paces()


@cache
def of_machine(folder: Path) -> Paces:
    """The paces that all processes share which name this folder."""
    return Paces(folder=folder)
