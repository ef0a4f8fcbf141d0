"""The process of a run: it holds a lock on a file of its own, which the run's tags name, so that a run whose process is
gone is told from one that lives. Locks, unlike process ids, are never taken over by a stranger.
"""

import multiprocessing
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.util import Finalize
from pathlib import Path

from formats import durable
from formats.layout import Layout

TAG, PLACE_TAG = "corpus/process", "corpus/place"


def lock_of(layout: Layout, token: str) -> Path:
    """What the process of this token holds."""
    return layout.work("locks", f"process-{token}")


def building(layout: Layout) -> int:
    """How many processes that build hold their lock."""
    every = lock_of(layout, "*")
    return sum(durable.is_held(lock) for lock in every.parent.glob(every.name))


def place(layout: Layout) -> str:
    """Where locks can be asked: this machine and root."""
    return f"{socket.gethostname()}:{layout.root}"


@contextmanager
def this_process(layout: Layout) -> Iterator[dict[str, str]]:
    """The tags of this process's runs, while it lives."""
    token = secrets.token_hex(8)
    lock = lock_of(layout, token)
    with durable.one_at_a_time(lock):
        try:
            yield {TAG: token, PLACE_TAG: place(layout)}
        finally:
            with suppress(OSError):  # what went wrong before is the error to see; who buries its runs removes the lock
                lock.unlink()


def is_worker() -> bool:
    """Whether Dagster started this process for one run: from the code server, or by `dagster api execute_run`."""
    return multiprocessing.parent_process() is not None or "execute_run" in sys.argv


def until_it_ends(layout: Layout) -> dict[str, str]:
    """The tags of a process that does one run and ends; it lives until Dagster has noted how the run ended."""
    stack = ExitStack()
    tags = stack.enter_context(this_process(layout))
    Finalize(None, stack.close, exitpriority=0)
    return tags
