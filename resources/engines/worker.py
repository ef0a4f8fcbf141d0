"""What a worker process does before its first task. Imports nothing heavy: thread counts are read at import."""

import multiprocessing
import os
import signal
import threading
from ctypes import c_bool
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")


class Flag:
    """What the parent sets when the run is over, and its workers look at between batches. A byte of shared memory, no
    Event of multiprocessing: that has a lock, and one that is killed while it looks would never give it back.
    """

    def __init__(self, context: BaseContext) -> None:
        self._value = context.RawValue(c_bool, False)

    def set(self) -> None:
        self._value.value = True

    def is_set(self) -> bool:
        return self._value.value


stop: Flag | None = None


def start(run_is_over: Flag) -> None:
    """One thread a process; Ctrl-C is the parent's to handle; and no worker outlives its parent."""
    global stop
    stop = run_is_over
    for name in _ONE_THREAD:
        os.environ[name] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
