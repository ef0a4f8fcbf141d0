"""Threads of a loader: ended in order when the interpreter ends, also where nobody closed the loader.

A thread that is within a library's C++ when the interpreter is torn down aborts the process; a pool of
`concurrent.futures` would first finish all that it was asked for.
"""

import atexit
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Generic, TypeVar
from weakref import WeakSet

_END_SECONDS = 5
"""How long the end of the interpreter waits for a thread, say for one that a store does not answer."""
T = TypeVar("T")


class LoaderThread(Thread):
    """A daemon thread that looks at `is_over` between two pieces of work."""

    def __init__(self, work: Callable[[Event], None], name: str, wake: Callable[[], None] = lambda: None) -> None:
        super().__init__(name=name, daemon=True)
        self.is_over = Event()
        self._work, self._wake = work, wake
        _living.add(self)
        self.start()

    def run(self) -> None:
        self._work(self.is_over)

    def end(self) -> None:
        """Have it end after what it is at."""
        self.is_over.set()
        self._wake()


class Pool(Generic[T]):
    """Threads that make what they are asked for, first come, first served; once it is closed nothing more is begun, and
    what was asked for is cancelled.
    """

    def __init__(self, make: Callable[[int], T], num_threads: int, name: str) -> None:
        self._make = make
        self._asked: SimpleQueue[tuple[Future[T], int] | None] = SimpleQueue()
        self._lock, self._is_closed = Lock(), False
        self._threads: list[LoaderThread] = []
        self._names = [f"{name}-{i}" for i in range(num_threads)]

    def submit(self, number: int) -> "Future[T]":
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                future.cancel()
            else:
                if not self._threads:  # a loader that only says its state needs none
                    self._threads = [LoaderThread(self._work, name, self.close) for name in self._names]
                self._asked.put((future, number))
        return future

    def close(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                for _ in self._threads:
                    self._asked.put(None)

    def _work(self, _: Event) -> None:
        while (asked := self._asked.get()) is not None:
            future, number = asked
            if self._is_closed:
                future.cancel()
                continue
            try:
                future.set_result(self._make(number))
            except BaseException as error:  # raised where it is asked for
                future.set_exception(error)


_living: "WeakSet[LoaderThread]" = WeakSet()


def _end_all() -> None:
    threads = [thread for thread in _living if thread.is_alive()]
    for thread in threads:
        thread.end()
    for thread in threads:
        thread.join(_END_SECONDS)


atexit.register(_end_all)
