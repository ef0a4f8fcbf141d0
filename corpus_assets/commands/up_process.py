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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from corpus_assets.commands import live_output, up_guard, up_holder
from formats import durable
from formats.errors import ConfigError
from formats.layout import Layout

_LOCK = "up.lock"
_STOPPED = 130
_LAST_WORDS_SECONDS = 3.0


def lock_of(layout: Layout) -> Path:
    """Held while `corpus up` lives, and as long as its Dagster does; it lies with the history that is one daemon's."""
    return layout.root / ".dagster" / _LOCK


def hold_alone(layout: Layout) -> None:
    """Raises ConfigError, which names the process and its port, where another `corpus up` has this root."""
    lock = lock_of(layout)
    if durable.is_held(lock):
        raise ConfigError(up_holder.words(layout.root, lock))


@contextmanager
def alone(layout: Layout, url: str) -> Iterator[IO[bytes]]:
    """Hold the root for one `corpus up`, at this address. Raises ConfigError where another has it."""
    lock = lock_of(layout)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "a+b") as file:
        if not durable.took(file):
            raise ConfigError(up_holder.words(layout.root, lock))
        file.truncate(0)
        file.write(json.dumps(up_holder.record(url)).encode())
        file.flush()
        yield file


def run(command: Sequence[str], lock: IO[bytes], read: Callable[[int], None]) -> int:
    """Run it with everything it starts until it ends or this process is told to; `read` gets what it prints. Whatever
    ends this process ends all of it, and nothing of it waits for who reads our own output.

    0: told to end; 130: stopped by Ctrl-C; 1: it ended by itself.
    """
    told: list[int] = []
    handled = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # `nohup` means it
        handled.append(signal.SIGHUP)
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
        with up_guard.ended_with_us(child):
            os.close(pipe_write)
            reader = threading.Thread(target=_read_to_the_end, args=(read, pipe_read), daemon=True)
            reader.start()
            threading.Thread(target=_wake_at_end, args=(child, wake_write), daemon=True).start()
            os.read(wake_read, 1)
            if told:
                live_output.say("ending Dagster and what it runs", sys.stderr)
        reader.join(_LAST_WORDS_SECONDS)
        if not told:
            live_output.say(f"corpus: Dagster ended by itself, with {child.returncode}; see above", sys.stderr)
            return 1
        return _STOPPED if told[0] == signal.SIGINT else 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _read_to_the_end(read: Callable[[int], None], pipe: int) -> None:
    """Dagster stands still once its pipe is full, so it is emptied even where `read` failed."""
    try:
        read(pipe)
    finally:
        while os.read(pipe, 65_536):
            pass


def _wake_at_end(child: "subprocess.Popen[bytes]", wake: int) -> None:
    child.wait()
    with contextlib.suppress(OSError):
        os.write(wake, b"!")
