"""What each bucket has left to hand out when a leg begins: what earlier legs opened and left, then what is fresh.

A bucket hands out its u-th sequence of the leg as stream position q: first its carry, in order, then from `fresh` on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

Stretch = tuple[int, int]
"""Half-open: positions lo to hi - 1."""


@dataclass(frozen=True)
class Supply:
    """`fresh` int64 [bucket]: the first stream position never opened; `carry` [bucket]: int64 (m, 2), stretches of the
    stream below it that were opened and not read, rising.
    """

    fresh: np.ndarray
    carry: tuple[np.ndarray, ...]

    @classmethod
    def whole(cls, num_buckets: int) -> "Supply":
        """Of a training that has not begun."""
        return cls(np.zeros(num_buckets, np.int64), (np.zeros((0, 2), np.int64),) * num_buckets)

    @cached_property
    def _ends(self) -> tuple[np.ndarray, ...]:
        """[bucket] how much is carried up to the end of each stretch."""
        return tuple(np.cumsum(stretches[:, 1] - stretches[:, 0]) for stretches in self.carry)

    @cached_property
    def carried(self) -> np.ndarray:
        """int64 [bucket]: how much is carried in all."""
        return np.array([ends[-1] if ends.size else 0 for ends in self._ends], np.int64)

    def left(self, ends: np.ndarray) -> np.ndarray:
        """int64 [bucket]: how many sequences there are up to these stream positions."""
        return ends - self.fresh + self.carried

    def to_stream(self, bucket: np.ndarray, handed: np.ndarray) -> np.ndarray:
        """The stream position of the `handed`-th sequence of the leg, for each (bucket, handed)."""
        position = self.fresh[bucket] + handed - self.carried[bucket]
        from_carry = handed < self.carried[bucket]
        for b in np.unique(bucket[from_carry]):
            at = np.flatnonzero(from_carry & (bucket == b))
            stretch = np.searchsorted(self._ends[b], handed[at], side="right")
            position[at] = self.carry[b][stretch, 1] - (self._ends[b][stretch] - handed[at])
        return position

    def to_handed(self, bucket: int, position: np.ndarray) -> np.ndarray:
        """The inverse, for stream positions of one bucket; -1 where the leg does not hand them out."""
        fresh = self.fresh[bucket]
        handed = np.where(position >= fresh, position - fresh + self.carried[bucket], -1)
        for (lo, hi), end in zip(self.carry[bucket].tolist(), self._ends[bucket].tolist(), strict=True):
            handed = np.where((position >= lo) & (position < hi), end - (hi - position), handed)
        return handed

    def after(self, taken: Sequence[int], unread: Sequence[Sequence[Stretch]]) -> "Supply":
        """What is left once draws were opened up to `taken` [bucket], and of these `unread` [bucket] was not served;
        both count what the leg hands out.
        """
        fresh, carry = self.fresh.copy(), []
        for b, end in enumerate(taken):
            carried = int(self.carried[b])
            waiting = [(end, carried)] if end < carried else []
            fresh[b] += max(0, end - carried)
            pieces = sorted(piece for stretch in [*unread[b], *waiting] for piece in self._pieces(b, *stretch))
            joined = _joined([*pieces, (int(fresh[b]), int(fresh[b]))])
            fresh[b] = joined.pop()[0]  # what reaches up to the fresh part is fresh
            carry.append(np.array(joined, np.int64).reshape(-1, 2))
        return Supply(fresh, tuple(carry))

    def _pieces(self, bucket: int, lo: int, hi: int) -> Iterator[Stretch]:
        """Stretch [lo, hi) of what the leg hands out, as stretches of the stream."""
        begin = 0
        for (position, _), end in zip(self.carry[bucket].tolist(), self._ends[bucket].tolist(), strict=True):
            if lo < end and hi > begin:
                yield position + max(lo, begin) - begin, position + min(hi, end) - begin
            begin = end
        if hi > begin:
            yield int(self.fresh[bucket]) + max(lo, begin) - begin, int(self.fresh[bucket]) + hi - begin


def _joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Sorted stretches, those that touch made one."""
    joined: list[Stretch] = []
    for lo, hi in stretches:
        if joined and joined[-1][1] == lo:
            lo = joined.pop()[0]
        joined.append((lo, hi))
    return joined
