"""A thread that reads ahead, within bounds, and is not trusted to be alive."""

import time
from collections.abc import Generator
from queue import Empty, Full, Queue
from threading import Event

from formats.errors import TransientError
from formats.loader.blocks import Block
from formats.loader.threads import LoaderThread

_LOOK_SECONDS = 0.2
"""How often one that waits looks whether the other side is still there."""


class ReadAhead:
    """Blocks from a generator that a thread of its own runs, at most `depth` of them made and not taken."""

    def __init__(self, blocks: Generator[Block, None, None], depth: int, max_silence_seconds: float) -> None:
        self._made: Queue[Block | BaseException | None] = Queue(max(1, depth - 1))  # and one in the thread's hands
        self._max_silence_seconds = max_silence_seconds
        self._blocks = blocks
        self._thread = LoaderThread(self._run, "read-ahead")

    def next(self) -> Block | None:
        """The next block, None behind the last. Raises what reading raised, and TransientError where the thread has
        ended without a word or said nothing for too long.
        """
        until = time.monotonic() + self._max_silence_seconds
        while True:
            is_alive = self._thread.is_alive()  # before the look: what it made before it ended is there
            try:
                made = self._made.get(timeout=_LOOK_SECONDS if is_alive else 0)
            except Empty:
                self._still_there(is_alive, until)
                continue
            if isinstance(made, BaseException):
                raise made
            return made

    def close(self) -> None:
        """Have the thread end after what it is at."""
        self._thread.end()

    def _still_there(self, is_alive: bool, until: float) -> None:
        if not is_alive:
            raise TransientError("the thread that reads ahead has ended without a word; ask again and another begins")
        if time.monotonic() > until:
            raise TransientError(
                f"no block was read for {self._max_silence_seconds:g} s; see to the disk or store, then ask again"
            )

    def _run(self, is_over: Event) -> None:
        try:
            while self._put(next(self._blocks, None), is_over):  # and nothing here holds it any longer
                pass
        except BaseException as error:  # raised where the block is asked for
            self._put(error, is_over)
        finally:
            self._blocks.close()
            while is_over.is_set() and not self._made.empty():  # nobody will take it
                self._made.get_nowait()

    def _put(self, made: Block | BaseException | None, is_over: Event) -> bool:
        """Hand it over; whether another is wanted."""
        while not is_over.is_set():
            try:
                self._made.put(made, timeout=_LOOK_SECONDS)
                return made is not None
            except Full:
                continue
        return False
