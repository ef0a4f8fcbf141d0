"""No more than so many a second, and so many at once, over all threads of this process. The clock is the caller's, so
that tests need no time.
"""

import threading
import time
from collections.abc import Callable, Hashable


class Pace:
    """So many a second, evenly spaced: a token bucket that holds one, so that nothing comes in a burst."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._per_second, self._clock = per_second, clock
        self._lock, self._free_at = threading.Lock(), 0.0

    def reserve(self, amount: float = 1) -> float:
        """The seconds to wait until `amount` may pass. It counts from then on, whoever asks next waits for it."""
        with self._lock:
            now = self._clock()
            starts = max(self._free_at, now)
            self._free_at = starts + amount / self._per_second
            return starts - now


class Paces:
    """Every pace and bound of one process, by what it holds for; made when first asked for, and shared after that."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._paces: dict[Hashable, Pace] = {}
        self._slots: dict[Hashable, threading.BoundedSemaphore] = {}

    def pace(self, of: Hashable, per_second: float) -> Pace:
        with self._lock:
            if (key := (of, per_second)) not in self._paces:
                self._paces[key] = Pace(per_second, self._clock)
            return self._paces[key]

    def slots(self, of: Hashable, number: int) -> threading.BoundedSemaphore:
        """What `number` at once may hold."""
        with self._lock:
            if (key := (of, number)) not in self._slots:
                self._slots[key] = threading.BoundedSemaphore(number)
            return self._slots[key]


OF_PROCESS = Paces()
