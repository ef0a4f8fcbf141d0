"""Dagster's processes below `corpus up`: one set a root, ended all together by TERM, INT or HUP, as a service manager
asks for it.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from formats import durable
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout

_LOCK = "up.lock"
_END_SECONDS, _REST_SECONDS = 12.0, 3.0
"""So long Dagster has to end by itself, and then what it left: service managers give some 20 to 90 seconds."""
_STOPPED = 130


def lock_of(layout: Layout) -> Path:
    """Held while `corpus up` lives, and as long as its Dagster does; it lies with the history that is one daemon's."""
    return layout.root / ".dagster" / _LOCK


def hold_alone(layout: Layout) -> None:
    """Raises ConfigError, which names the process and its port, where another `corpus up` has this root."""
    lock = lock_of(layout)
    if durable.is_held(lock):
        raise ConfigError(_who(layout, lock))


@contextmanager
def alone(layout: Layout, url: str) -> Iterator[IO[bytes]]:
    """Hold the root for one `corpus up`, at this address. Raises ConfigError where another has it."""
    lock = lock_of(layout)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "a+b") as file:
        if not durable.took(file):
            raise ConfigError(_who(layout, lock))
        file.truncate(0)
        file.write(json.dumps({"process": os.getpid(), "url": url}).encode())
        file.flush()
        yield file


def _who(layout: Layout, lock: Path) -> str:
    who = "another `corpus up`"
    with contextlib.suppress(CorruptDataError, OSError, KeyError, TypeError):  # it may be being written
        found = durable.json_of(lock)
        who = f"`corpus up`, process {found['process']}, at {found['url']},"
    return (
        f"{layout.root}: {who} has this root; two would have two daemons on one history, and each would end what the "
        f"other runs. Use that one, or end it first (`fuser {lock}` names what holds it)"
    )


def run(command: Sequence[str], lock: IO[bytes], read: Callable[[int], None]) -> int:
    """Run it with everything it starts until it ends or this process is told to; `read` gets what it prints.

    0: told to end; 130: stopped by Ctrl-C; 1: it ended by itself.
    """
    told: list[int] = []
    handled = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    (wake_read, wake_write), (pipe_read, pipe_write) = os.pipe(), os.pipe()
    os.set_blocking(wake_write, False)

    def hear(number: int, _frame: object) -> None:
        told.append(number)
        with contextlib.suppress(OSError):
            os.write(wake_write, b"!")

    # Handled here, they are at their defaults in the child: a shell's `&` ignores INT, and Dagster takes TERM for INT.
    before = {number: signal.signal(number, hear) for number in handled}
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=pipe_write,
            stderr=pipe_write,
            start_new_session=True,  # Ctrl-C reaches this process alone, which ends the others in order
            pass_fds=(lock.fileno(),),  # what outlives a killed parent still has the root
        )
        os.close(pipe_write)
        reader = threading.Thread(target=read, args=(pipe_read,), daemon=True)
        reader.start()
        threading.Thread(target=_wake_at_end, args=(child, wake_write), daemon=True).start()
        os.read(wake_read, 1)
        if told:
            print("ending Dagster and what it runs", file=sys.stderr, flush=True)
        _end(child)
        reader.join(_REST_SECONDS)
        if not told:
            print(f"corpus: Dagster ended by itself, with {child.returncode}; see above", file=sys.stderr)
            return 1
        return _STOPPED if told[0] == signal.SIGINT else 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wake_at_end(child: "subprocess.Popen[bytes]", wake: int) -> None:
    child.wait()
    with contextlib.suppress(OSError):
        os.write(wake, b"!")


def _end(child: "subprocess.Popen[bytes]") -> None:
    """In order: Dagster itself, which ends its servers; then what is left of its group; then by force."""
    with contextlib.suppress(ProcessLookupError):
        child.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_END_SECONDS)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _signal_group(child.pid, number):
            break
        until = time.monotonic() + _REST_SECONDS
        while _signal_group(child.pid, 0) and time.monotonic() < until:
            time.sleep(0.05)
    child.wait()


def _signal_group(group: int, number: int) -> bool:
    """Whether anything of it was there to be told."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True
