"""Shards opened ahead by threads, a bounded number of them; a failure is raised where the shard is used."""

import resource
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future
from threading import Lock

import numpy as np

from formats.loader.settings import ReadSettings
from formats.loader.shard_files import ShardFiles
from formats.loader.threads import Pool


class OpenShards:
    """Memory maps of a split's shards by number. `opened` counts what was opened, `at_once` the most of a moment."""

    def __init__(self, files: ShardFiles, split: str, settings: ReadSettings) -> None:
        self.snapshot, self.num_shards = files.snapshot, files.snapshot.num_shards(split)
        self._files, self._split = files, split
        self._max_open = min(settings.max_open_shards, _most_files() // 2)
        self._lock = Lock()
        self._asked: OrderedDict[int, Future[np.ndarray]] = OrderedDict()
        self.opened, self.at_once, self._opening = 0, 0, 0
        self._threads = Pool(self._open, settings.threads, "open-shards")

    def ask(self, numbers: Iterable[int]) -> None:
        """Begin to open shards that will be read soon."""
        with self._lock:
            for number in numbers:
                if number not in self._asked:
                    self._asked[number] = self._threads.submit(number)
                self._asked.move_to_end(number)
            while len(self._asked) > self._max_open:
                self._asked.popitem(last=False)

    def rows_of(self, number: int) -> np.ndarray:
        """The shard's sequences (n, seq_len), waiting until it is open. Raises what opening it raised."""
        while (future := self._asked.get(number)) is None:
            self.ask([number])
        try:
            return future.result()
        except BaseException:  # asked for again it is tried again
            with self._lock:
                self._asked.pop(number, None)
            raise

    def close(self) -> None:
        self._threads.close()
        with self._lock:
            self._asked.clear()  # what is open is closed now, and not when the collector comes by

    def _open(self, number: int) -> np.ndarray:
        with self._lock:
            self.opened, self._opening = self.opened + 1, self._opening + 1
            self.at_once = max(self.at_once, self._opening)
        try:
            return self._files.map(self.snapshot.shard(self._split, number))
        finally:
            with self._lock:
                self._opening -= 1


def _most_files() -> int:
    """How many files the process may have open."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 30 if limit == resource.RLIM_INFINITY else max(2, limit)
