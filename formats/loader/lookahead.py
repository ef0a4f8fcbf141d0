"""Where a rank's next sequences lie: computed once, early enough to open their shards before they are read."""

import heapq
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from formats.loader.share import Share
from formats.order.permutation import mix64

_PIECE_ROWS = 1 << 16
"""Sequences located at once: enough for the order's arithmetic to be fast."""


class Asked(Protocol):
    """What begins to open shards."""

    num_shards: int

    def ask(self, numbers: Iterable[int]) -> None: ...


@dataclass(frozen=True)
class Located:
    """The rank's sequences of `steps`: int64 arrays of positions, shards and rows; those of step i end at `ends[i]`."""

    steps: range
    ends: np.ndarray
    positions: np.ndarray
    shard: np.ndarray
    row: np.ndarray


class Lookahead:
    """A rank's sequences from a step on, located up to `2 * lead` steps ahead of what was taken.

    All lanes change runs at the same step, on all ranks. So a shard that was not in use is asked for `lead` to
    `2 * lead - 1` steps before its use, by its number: those that are needed at one step take turns.
    """

    def __init__(self, share: Share, shards: Asked, first: int, every: int, lead: int) -> None:
        self._share, self._shards, self._every, self._lead = share, shards, every, lead
        self._next = first
        self._pieces: deque[Located] = deque()
        self._used_at = np.full(shards.num_shards, -1 - 2 * lead, np.int64)
        self._asks: list[tuple[int, int]] = []

    def take(self, steps: range) -> Located:
        """The sequences of the next steps, which have one batch size and follow those taken before."""
        taken: list[Located] = []
        while len(taken) < len(steps):
            if not self._pieces:
                self._locate(len(steps) - len(taken))
            taken.append(self._pieces.popleft())
        ends = np.cumsum([piece.positions.size for piece in taken])
        columns = [[getattr(piece, name) for piece in taken] for name in ("positions", "shard", "row")]
        return Located(steps, ends, *(column[0] if len(taken) == 1 else np.concatenate(column) for column in columns))

    def reach(self, step: int) -> None:
        """Locate what lies less than `2 * lead` behind `step`, and ask for the shards whose turn is before it."""
        while self._next < step + 2 * self._lead * self._every and not self._share.is_over(self._next):
            self._locate(self._lead)
        turn = []
        while self._asks and self._asks[0][0] < step:
            turn.append(heapq.heappop(self._asks)[1])
        self._shards.ask(dict.fromkeys(turn))

    def _locate(self, num_steps: int) -> None:
        share, every, lead = self._share, self._every, self._lead * self._every
        most = max(1, _PIECE_ROWS // share.rows(self._next))
        same_size = -(-share.steps.until_change(self._next) // every)
        steps = range(self._next, self._next + every * min(num_steps, self._lead, most, same_size), every)
        positions, ends = share.positions(steps)
        shard, row = share.order.shards(positions)
        begins = np.concatenate([[0], ends[:-1]])
        used_at = np.repeat(np.array(steps), ends - begins)
        first_used = np.flatnonzero(used_at - self._used_at[shard] > lead)[::-1]
        new = dict(zip(shard[first_used].tolist(), used_at[first_used].tolist(), strict=True))
        turns = mix64(np.array(list(new), np.uint64)) % np.uint64(self._lead)
        for (number, used), turn in zip(new.items(), turns.tolist(), strict=True):
            heapq.heappush(self._asks, (used - lead - turn * every, number))
        self._used_at[shard] = used_at
        self._pieces += [
            Located(steps[i : i + 1], np.array([end - begin]), positions[begin:end], shard[begin:end], row[begin:end])
            for i, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True))
        ]
        self._next = steps.stop
