"""A leg: the positions under one mixture, one run length and one set of live buckets. Spec: order.md, section 6.

In every round each lane takes one draw and reads `run` rows of it, one a tick, side by side with the other lanes.
"""

from dataclasses import dataclass

import numpy as np

from formats.order.mixture import BLOCK, MixtureTable
from formats.order.permutation import permute, subkey
from formats.order.supply import Stretch, Supply

FOREVER = 1 << 62
"""No position, draw or stream position reaches it."""
_MIN_CELLS = 1 << 16
"""Stretches that are always looked through for those that positions share."""


@dataclass(frozen=True)
class Leg:
    """Positions [start, start + length). `ends` int64 [bucket]: the stream position at which a bucket is used up."""

    start: int
    length: int
    lanes: int
    run: int
    table: MixtureTable
    key: np.uint64
    supply: Supply
    ends: np.ndarray

    @property
    def stop(self) -> int:
        return self.start + self.length

    def locate(self, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(bucket, stream position) of positions counted from `start`."""
        tick, lane = np.divmod(local, self.lanes)
        rounds, offset = np.divmod(tick, self.run)
        bucket, before = self._draws(rounds * self.lanes + self._place(rounds, lane))
        return bucket, self.supply.to_stream(bucket, before * self.run + offset)

    def shared(self, local: np.ndarray, unit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """(first position of each stretch of `unit` ticks of a lane, which stretch a position lies in, its place there)
        for positions counted from `start`; `unit` divides the run. None where stretches are not shared.
        """
        tick = local // self.lanes
        stretch = tick // unit
        lowest = int(stretch.min())
        num_cells = (int(stretch.max()) - lowest + 1) * self.lanes
        if num_cells > 4 * local.size + _MIN_CELLS:
            return None
        cell = (stretch - lowest) * self.lanes + (local - tick * self.lanes)
        is_taken = np.zeros(num_cells, bool)
        is_taken[cell] = True
        taken = np.flatnonzero(is_taken)
        if 2 * taken.size > local.size:
            return None
        which = np.empty(num_cells, np.int64)
        which[taken] = np.arange(taken.size)
        first = (taken // self.lanes + lowest) * unit * self.lanes + taken % self.lanes
        return first, which[cell], tick - stretch * unit

    def find(self, bucket: int, position: np.ndarray) -> np.ndarray:
        """Where the leg serves stream positions of one bucket, counted from `start`; -1 where it does not."""
        if not self.table.units[bucket]:
            return np.full_like(position, -1)
        handed = self.supply.to_handed(bucket, position)
        before, offset = np.divmod(np.maximum(handed, 0), self.run)
        block, nth = np.divmod(before, self.table.units[bucket])
        rounds, place = np.divmod(block * BLOCK + self.table.slots[bucket][nth], self.lanes)
        local = (rounds * self.run + offset) * self.lanes + self._place(rounds, place, inverse=True)
        return np.where((handed >= 0) & (local < self.length), local, -1)

    def close(self, length: int) -> Supply:
        """What the next leg inherits after `length` positions: nothing served is left, nothing left is lost."""
        tick, served = divmod(length, self.lanes)
        rounds, offset = divmod(tick, self.run)
        is_open = bool(offset or served)
        block, slot = divmod((rounds + is_open) * self.lanes, BLOCK)
        draws = [block * len(slots) + int(np.searchsorted(slots, slot)) for slots in self.table.slots]
        unread: list[list[Stretch]] = [[] for _ in self.table.slots]
        if is_open:
            lane = np.arange(self.lanes)
            bucket, before = self._draws(rounds * self.lanes + self._place(np.full_like(lane, rounds), lane))
            lo, hi = before * self.run + offset + (lane < served), (before + 1) * self.run
            for b, *stretch in zip(bucket.tolist(), lo.tolist(), hi.tolist(), strict=True):
                if stretch[0] < stretch[1]:
                    unread[b].append((stretch[0], stretch[1]))
        return self.supply.after([number * self.run for number in draws], unread)

    def _place(self, rounds: np.ndarray, lane: np.ndarray, *, inverse: bool = False) -> np.ndarray:
        """The place of a lane within its round; the lane itself at run 1, so that such a leg may end anywhere."""
        return lane if self.run == 1 else permute(lane, self.lanes, subkey(self.key, rounds), inverse=inverse)

    def _draws(self, draw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(bucket, how many earlier draws of the leg it had) of each draw."""
        block, slot = np.divmod(draw, BLOCK)
        bucket = self.table.bucket[slot]
        return bucket, block * self.table.units[bucket] + self.table.nth[slot]


def positions_until_lack(table: MixtureTable, supply: Supply, ends: np.ndarray, lanes: int, run: int) -> int:
    """How many positions a leg can have: whole rounds that every bucket can fill; at run 1, draws."""
    first_lack = FOREVER
    for b in np.flatnonzero((table.units > 0) & (ends < FOREVER)):
        whole_runs = int(supply.left(ends)[b]) // run
        block, nth = divmod(whole_runs, int(table.units[b]))
        first_lack = min(first_lack, block * BLOCK + int(table.slots[b][nth]))
    if first_lack == FOREVER:
        return FOREVER
    return first_lack if run == 1 else first_lack // lanes * run * lanes
