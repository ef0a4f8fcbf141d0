"""Ends all that `corpus up` runs: `corpus up` does it at its end, and where it is killed, a guard does.

The guard is a process of this file alone, in a session of its own, with 8 MB and nothing to do: it reads a pipe that
ends when `corpus up` does, however that was. Without one, Dagster and its daemon would go on and keep the root.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

END_SECONDS, REST_SECONDS = 12.0, 3.0
"""So long Dagster has to end by itself, and then what it left: service managers give some 20 to 90 seconds."""
_WELL = b"."
"""Told to the guard at an end in order."""


@contextmanager
def ended_with_us(child: "subprocess.Popen[bytes]") -> Iterator[None]:
    """End the child, which leads a group, and the whole group at the end of the block and at that of this process."""
    guard = None
    try:
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(child.pid), str(END_SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,  # whoever reads ours waits for its end
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        yield
    finally:
        end(child.pid, lambda: child.poll() is None, END_SECONDS)
        child.wait()
        if guard:
            guard.communicate(_WELL)


def end(leader: int, lives: Callable[[], bool], seconds: float) -> None:
    """In order: Dagster itself, which ends its servers; then what is left of its group; then by force."""
    if lives():
        with suppress(ProcessLookupError):
            os.kill(leader, signal.SIGTERM)
    _wait(lives, seconds)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _tell_group(leader, number):
            break
        _wait(lambda: _tell_group(leader, 0), REST_SECONDS)


def _wait(lives: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while lives() and time.monotonic() < until:
        time.sleep(0.05)


def _tell_group(group: int, number: int) -> bool:
    """Whether anything of it was there to be told."""
    with suppress(ProcessLookupError):
        os.killpg(group, number)
        return True
    return False


def _is_there(process: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def guard(leader: int, seconds: float) -> None:
    """Wait for the end of whoever began this process, and end the group if that was no end in order."""
    if os.read(sys.stdin.fileno(), 1) != _WELL:
        end(leader, lambda: _is_there(leader), seconds)


if __name__ == "__main__":
    guard(int(sys.argv[1]), float(sys.argv[2]))
