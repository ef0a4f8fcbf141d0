"""Inside the process that is hurt: it stops at the n-th change of the disk below its root, until the lab has done its
worst. A moment of the work, not of the clock, so that it is the same moment every time.
"""

import json
import os
import sys
import threading
import time

VARIABLE = "FAULTLAB"
_PATH_FIRST = frozenset(
    {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "os.chmod", "os.listdir"}
)
_RELATIVE = frozenset({"os.remove", "os.rmdir"})
"""What shutil.rmtree does by names relative to an open folder."""


def install(root: str, stop_at: int | None, say: int, hear: int, slow_from: int | None, clock_seconds: float) -> None:
    """From now on count; at event `stop_at` write a byte to the descriptor `say` and wait for one from `hear`. From
    event `slow_from` on 300 events take 2 ms each. `clock_seconds` moves the clock of this process.
    """
    seen, lock = 0, threading.Lock()

    def hook(event: str, args: tuple) -> None:
        nonlocal seen
        if event not in _PATH_FIRST:
            return
        below = isinstance(args[0], str | os.PathLike) and os.fspath(args[0]).startswith(root)
        if not below and not (event in _RELATIVE and args[1] != -1):
            return
        with lock:
            seen += 1
            number = seen
        if number == stop_at:
            os.write(say, b"!")
            os.read(hear, 1)
        if slow_from is not None and slow_from <= number < slow_from + 300:
            _real_sleep(0.002)

    if clock_seconds:
        _move_clock(clock_seconds)
    if stop_at is not None or slow_from is not None:
        sys.addaudithook(hook)


_real_sleep = time.sleep


def _move_clock(seconds: float) -> None:
    now, now_ns = time.time, time.time_ns
    time.time = lambda: now() + seconds
    time.time_ns = lambda: now_ns() + int(seconds * 1e9)


def install_from_environment() -> None:
    """For a process of its own: what the lab wrote into the variable. Children of that process are left alone."""
    if told := os.environ.pop(VARIABLE, None):
        install(**json.loads(told))
