"""The guard: batches of items in, for each item its result or what it died of out.

A process starts when the first item needs one, and serves batch after batch. Where it dies, the items of its batch run
one by one; an item is condemned only by what it does alone in a process that has done nothing else. So a result never
depends on an item's neighbours, on the number of processes or on processes that were killed.
"""

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from enum import StrEnum
from typing import Any, TypeVar

from formats.errors import ConfigError, TransientError
from resources.guarded.process import DEFAULT_LIMITS, Cause, DiedError, Limits, Process

Item = tuple[Any, ...]
"""Arguments of one call, picklable."""
Tag = TypeVar("Tag")

MAX_DEATHS = 3
"""An item is condemned when so many fresh processes died of it: memory that others hold is given back by then."""
MAX_KILLS = 20
"""An item's processes that were killed from outside before the machine is called unfit."""
AHEAD = 2
"""Batches a process that are asked for before they are needed."""


class Failure(StrEnum):
    """What an item did instead of giving a result."""

    CRASHED = "crashed"
    TIMED_OUT = "timed_out"


class Guard:
    """Calls `module:function` (an item's arguments in, a JSON value out) in up to `workers` processes.

    The function is pure and says by its value what is wrong with an item: what it raises is raised here, MemoryError
    apart. Its module should import little. Raises ConfigError for less than one worker.

    Used in a `with` block; nothing runs when it ends. `run` may be called from several threads.
    """

    def __init__(self, function: str, *, workers: int = 1, limits: Limits = DEFAULT_LIMITS) -> None:
        if workers < 1:
            raise ConfigError(f"workers of {function} is {workers}; expected at least 1")
        self._function, self._workers, self._limits = function, workers, limits
        self._idle: list[Process] = []
        self._all: set[Process] = set()
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> "Guard":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process at once; calls under way fail."""
        with self._lock:
            self._closed = True
            processes = list(self._all)
        for process in processes:
            process.kill()

    def in_order(self, batches: Iterable[tuple[Tag, Sequence[Item]]]) -> Iterator[tuple[Tag, list[Any | Failure]]]:
        """Each batch's tag with its items' results, in order; some batches are read ahead. A batch without items needs
        no process. Raises what `run` and `batches` raise. Left in the middle, the guard is closed.
        """
        waiting: deque[tuple[Tag, Future[list[Any | Failure]] | None]] = deque()
        with ThreadPoolExecutor(self._workers, thread_name_prefix="guard") as threads:
            try:
                for tag, items in batches:
                    waiting.append((tag, threads.submit(self.run, items) if items else None))
                    while waiting and (waiting[0][1] is None or len(waiting) > AHEAD * self._workers):
                        yield _first(waiting)
                while waiting:
                    yield _first(waiting)
            except BaseException:  # else the threads would go on to the end of what is under way
                self.close()
                threads.shutdown(cancel_futures=True)
                raise

    def run(self, items: Sequence[Item]) -> list[Any | Failure]:
        """The result of every item, or its failure. Raises ConfigError where the function cannot be loaded,
        RuntimeError where it raises (a function says by its value what is wrong with an item), TransientError where
        processes are killed again and again.
        """
        with suppress(DiedError):
            return self._ask(items)
        return [self._alone(item) for item in items]

    def _alone(self, item: Item) -> Any | Failure:
        deaths = kills = 0
        while True:
            try:
                return self._ask([item])[0]
            except DiedError as death:
                if death.cause is Cause.OUTSIDE:
                    kills += 1
                elif death.fresh and death.cause is Cause.TIME:
                    return Failure.TIMED_OUT
                elif death.fresh:
                    deaths += 1
                if deaths == MAX_DEATHS:
                    return Failure.CRASHED
                if kills == MAX_KILLS:
                    raise TransientError(
                        f"{kills} processes of {self._function} were killed from outside ({death}); the machine is "
                        "short of memory, or something ends them: mend that or take fewer workers, then run again"
                    ) from death

    def _ask(self, items: Sequence[Item]) -> list[Any]:
        process = self._free_process()
        try:
            results = process.ask(items)
        except BaseException as error:  # an interrupt leaves a half read answer, too
            process.kill()
            with self._lock:
                self._all.discard(process)
            if self._closed:
                raise ClosedError from error
            raise
        with self._lock:
            self._idle.append(process)
        return results

    def _free_process(self) -> Process:
        with self._lock:
            if self._closed:
                raise ClosedError
            if self._idle:
                return self._idle.pop()
        process = Process(self._function, self._limits)
        with self._lock:
            self._all.add(process)
            closed = self._closed
        if closed:
            process.kill()
            raise ClosedError
        return process


class ClosedError(Exception):
    """The guard was closed while something ran. Never seen by who closed it."""


def _first(waiting: deque[tuple[Tag, Future[list[Any | Failure]] | None]]) -> tuple[Tag, list[Any | Failure]]:
    tag, results = waiting.popleft()
    return tag, [] if results is None else results.result()
