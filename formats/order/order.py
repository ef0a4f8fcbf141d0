"""Which row is served at which position, as a pure function, and back. Spec: order.md.

Nothing here reads data, keeps a cursor or knows the number of ranks. Cost: a mixture's table to open it, then some
0.1 us a position, vectorized, where lanes are read on; a leg costs O(lanes + buckets) to pass.
"""

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np

from formats.errors import OrderError
from formats.order import rules
from formats.order.leg import FOREVER, Leg, positions_until_lack
from formats.order.mixture import BLOCK, Mixture, mixture_table, units_of
from formats.order.numbers import whole
from formats.order.permutation import MAX_DOMAIN, key_of
from formats.order.streams import Streams
from formats.order.supply import Supply

CHUNK = 512
"""Rows that stay together in a bucket's stream."""
SHRINK = 8
"""A bucket that cannot fill whole runs is finished with runs 8, 64, ... times shorter."""
_TILE = 1 << 15
"""Positions worked on at once, so that the temporaries stay in the processor's cache."""
_Place = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""(bucket, stream position) -> (bucket or shard, row there, how far rows and stream rise together from here on)."""


@dataclass(frozen=True)
class Bucket:
    """One source category of a snapshot: the rows (packed sequences) of its shards, in manifest order."""

    name: str
    shard_rows: tuple[int, ...]


class Order:
    """The order of a snapshot's rows under a seed and mixtures. Safe for threads: legs are opened under a lock.

    Raises OrderError for buckets or mixtures that are none.
    """

    def __init__(
        self, buckets: Sequence[Bucket], seed: int, mixtures: Sequence[Mixture], *, chunk: int = CHUNK
    ) -> None:
        self.buckets = tuple(sorted(buckets, key=lambda b: b.name))
        self.seed, self.chunk = whole(seed, "seed"), whole(chunk, "chunk")
        self.names = [bucket.name for bucket in self.buckets]
        self.mixtures = tuple(sorted(mixtures, key=lambda m: m.position))
        self._check()
        self.rows = np.array([sum(bucket.shard_rows) for bucket in self.buckets], np.int64)
        self._streams = Streams(self.names, self.rows, self.seed, self.chunk)
        shard_rows = [rows for bucket in self.buckets for rows in bucket.shard_rows]
        self._shard_starts = np.concatenate([[0], np.cumsum(shard_rows, dtype=np.int64)])
        self._bucket_starts = np.concatenate([[0], np.cumsum(self.rows)])
        self.legs: list[Leg] = []
        self._more, self._lock = self._legs(), threading.Lock()

    @property
    def end(self) -> int:
        """How many positions there are; FOREVER where a bucket repeats without a cap."""
        return self._reach(FOREVER)

    def available(self, until: int) -> int:
        """`until`, or where the order ends before it. Opens no leg behind."""
        return min(until, self._reach(until - 1)) if until > 0 else 0

    def locate(self, positions: np.ndarray | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """(bucket number in name order, row of the bucket) of each position, int64. Raises OrderError beyond `end`."""
        return self._served(positions, self._row_of_bucket)

    def shards(self, positions: np.ndarray | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """(shard number over all buckets in name order, row of the shard) of each position, int64."""
        return self._served(positions, self._row_of_shard)

    def streams(self, positions: np.ndarray | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """(bucket number, position in the bucket's stream) of each position, int64."""
        positions = np.asarray(positions, np.int64)
        bucket, position = np.empty_like(positions), np.empty_like(positions)
        for at, leg in self._by_leg(positions):
            bucket[at], position[at] = leg.locate(positions[at] - leg.start)
        return bucket, position

    def find(self, name: str, row: int, until: int) -> list[int]:
        """Every position below `until` that serves this row, rising: the way back from a sequence to training steps.

        Raises OrderError for a bucket or row that the snapshot does not have.
        """
        if name not in self.names or not 0 <= row < self.rows[self.names.index(name)]:
            raise OrderError(f"row {row} of {name}: the snapshot has no such row; ask for one of {dict(self._sizes())}")
        b = self.names.index(name)
        self._reach(until - 1)
        legs = [leg for leg in self.legs if leg.start < until]
        if not legs:
            return []
        last = int(legs[-1].close(min(legs[-1].length, until - legs[-1].start)).fresh[b])
        epochs = np.arange(last // int(self.rows[b]) + 1)
        streamed = epochs * self.rows[b] + self._streams.places_of(b, row, epochs)
        found = [local[local >= 0] + leg.start for leg in legs for local in [leg.find(b, streamed)]]
        return sorted(position for position in np.concatenate(found).tolist() if position < until)

    def _served(self, positions: np.ndarray | Sequence[int], place: _Place) -> tuple[np.ndarray, np.ndarray]:
        """What `place` says of each position, asked once for a stretch of a lane that several positions share."""
        positions = np.asarray(positions, np.int64)
        number, row = np.empty_like(positions), np.empty_like(positions)
        for start in range(0, positions.size, _TILE):
            tile = slice(start, start + _TILE)
            for at, leg in self._by_leg(positions[tile]):
                number[tile][at], row[tile][at] = self._in_leg(leg, positions[tile][at] - leg.start, place)
        return number, row

    def _in_leg(self, leg: Leg, local: np.ndarray, place: _Place) -> tuple[np.ndarray, np.ndarray]:
        unit = self.chunk if leg.run % self.chunk == 0 else leg.run
        if (shared := leg.shared(local, unit)) is None:
            return place(*leg.locate(local))[:2]
        first, which, offset = shared
        bucket, streamed = leg.locate(first)
        number, row, left = place(bucket, streamed)
        row = row[which] + offset
        is_whole = (left >= unit) & (leg.locate(first + (unit - 1) * leg.lanes)[1] - streamed == unit - 1)
        number = number[which]
        if not is_whole.all():  # an epoch, a carry or a shard ends within the stretch
            cut = np.flatnonzero(~is_whole[which])
            number[cut], row[cut] = place(*leg.locate(local[cut]))[:2]
        return number, row

    def _row_of_bucket(self, bucket: np.ndarray, streamed: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return bucket, *self._streams.rows_at(bucket, streamed)

    def _row_of_shard(self, bucket: np.ndarray, streamed: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        row, left = self._streams.rows_at(bucket, streamed)
        row += self._bucket_starts[bucket]
        shard = np.searchsorted(self._shard_starts, row, side="right") - 1
        left = np.minimum(left, self._shard_starts[shard + 1] - row)
        return shard, row - self._shard_starts[shard], left

    def _sizes(self) -> Iterator[tuple[str, int]]:
        return zip(self.names, self.rows.tolist(), strict=True)

    def _by_leg(self, positions: np.ndarray) -> Iterator[tuple[np.ndarray | slice, Leg]]:
        """(which of the positions, their leg) for every leg that has some. Raises OrderError beyond `end`."""
        if not positions.size:
            return
        first, last = int(positions.min()), int(positions.max())
        if first < 0 or last >= self._reach(last):
            raise OrderError(f"positions {first} to {last}, expected some of 0 to {self.end - 1}; mend the request")
        starts = [leg.start for leg in self.legs]
        if (one := bisect_right(starts, first)) == bisect_right(starts, last):
            yield slice(None), self.legs[one - 1]
            return
        which = np.searchsorted(starts, positions, side="right") - 1
        for one in np.unique(which):
            yield np.flatnonzero(which == one), self.legs[one]

    def _reach(self, position: int) -> int:
        """Open legs until one holds `position` or none is left; where the last one stops."""
        with self._lock:
            while not self.legs or self.legs[-1].stop <= position:
                if (leg := next(self._more, None)) is None:
                    break
                self.legs.append(leg)
            return self.legs[-1].stop if self.legs else 0

    def _legs(self) -> Iterator[Leg]:
        """Every leg from position 0: declared by a mixture, or forced by a bucket that is used up."""
        supply, position = Supply.whole(len(self.names)), 0
        stops = [*(mixture.position for mixture in self.mixtures[1:]), FOREVER]
        for mixture, stop in zip(self.mixtures, stops, strict=True):
            ends = self._ends_of(mixture)
            if (over := np.flatnonzero(supply.fresh > ends)).size:
                name = self.names[int(over[0])]
                raise OrderError(
                    f"mixture at {mixture.position}: max_epochs of {name} is below what it has served; raise it"
                )
            run, gone_before = mixture.run, None
            while position < stop:
                left = supply.left(ends)
                wanted = [Fraction(mixture.weights.get(name, 0)) for name in self.names]
                gone = [bool(weight) and not rest for weight, rest in zip(wanted, left.tolist(), strict=True)]
                wanted = [Fraction(0) if used_up else weight for weight, used_up in zip(wanted, gone, strict=True)]
                if (any(gone) and mixture.when_used_up == "stop") or not any(wanted):
                    return
                if gone != gone_before:
                    run, gone_before = mixture.run, gone
                table = mixture_table(units_of(wanted))
                possible = positions_until_lack(table, supply, ends, mixture.lanes, run)
                length = min(possible, stop - position)
                if length:
                    key = key_of(self.seed, "lanes", position, run)
                    leg = Leg(position, length, mixture.lanes, run, table, key, supply, ends)
                    yield leg
                    position += length
                    if position < FOREVER:
                        supply = leg.close(length)
                run = max(1, run // SHRINK)

    def _ends_of(self, mixture: Mixture) -> np.ndarray:
        """int64 [bucket]: the stream position at which the mixture's cap ends a bucket."""
        caps = mixture.max_epochs or {}
        ends = [
            min(int(Fraction(caps[name]) * rows), FOREVER) if name in caps else FOREVER for name, rows in self._sizes()
        ]
        return np.array(ends, np.int64)

    def _check(self) -> None:
        if len(set(self.names)) < len(self.names) or not 0 < len(self.names) <= BLOCK:
            raise OrderError(f"buckets are {self.names}, expected 1 to {BLOCK} of different names; mend the snapshot")
        for bucket in self.buckets:
            if not 0 < sum(bucket.shard_rows) < MAX_DOMAIN or min(bucket.shard_rows) < 0:
                raise OrderError(f"bucket {bucket.name} holds no sequence; leave it out")
        for field, wrong in chain(rules.seed_problems(self.seed), rules.chunk_problems(self.chunk)):
            raise OrderError(f"{field}: {wrong}; mend the request")
        positions = [mixture.position for mixture in self.mixtures]
        if not positions or positions[0] != 0 or len(set(positions)) < len(positions):
            raise OrderError(f"mixtures begin at {positions}, expected different positions, the first 0; mend them")
        for mixture in self.mixtures:
            for field, wrong in rules.MIXTURE.problems(mixture.as_json(), f"mixture at {mixture.position}"):
                raise OrderError(f"{field}: {wrong}; mend the mixture")
            mixture.check(self.names)
