"""Batches across threads: make them ahead of their reader, and stop making them."""

import queue
import threading
from collections.abc import Generator
from contextlib import closing
from typing import Any, Protocol

import pyarrow as pa

from resources.engines.contract import Batches

Stream = Generator[pa.RecordBatch, None, None]


class Stop(Protocol):
    """A flag of threads or of processes."""

    def is_set(self) -> bool: ...
    def set(self) -> None: ...


class StoppedError(Exception):
    """The run is over, so this part of it ends early. Never seen outside a run."""


def until_stopped(batches: Batches, stop: Stop) -> Stream:
    """The batches, until the run is over: then StoppedError, so that a writer drops its temporary file."""
    for batch in batches:
        if stop.is_set():
            raise StoppedError
        yield batch


def ahead(batches: Stream, depth: int, stop: Stop) -> Stream:
    """The same batches, made in a thread of their own, at most `depth` before they are asked for.

    The reader waits in Python, so Ctrl-C reaches it though the maker is deep in a sort. Closing sets `stop`, waits for
    the maker and closes `batches` in its thread.
    """
    asked = threading.Semaphore(depth)
    made: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def make() -> None:
        try:
            with closing(batches):
                for batch in batches:
                    asked.acquire()
                    if stop.is_set():
                        raise StoppedError
                    made.put(batch)
            made.put(None)
        except BaseException as error:  # raised again in the reader's thread
            made.put(error)

    maker = threading.Thread(target=make, name="engine-ahead", daemon=True)
    maker.start()
    try:
        while True:
            asked.release()
            item = made.get()
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        asked.release()
        maker.join()
