"""What a worker process does before its first task. Imports nothing heavy: thread counts are read at import."""

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait
from multiprocessing.synchronize import Event

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")

stop: Event | None = None
"""Set by the parent when the run is over; tasks look at it between batches."""


def start(run_is_over: Event) -> None:
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
