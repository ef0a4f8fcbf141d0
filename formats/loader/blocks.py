"""Blocks: some steps' sequences of one rank, read together, so that a lane's run is copied in one piece."""

import sys
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from formats.loader.lookahead import Located, Lookahead
from formats.loader.open_shards import OpenShards
from formats.loader.settings import ReadSettings
from formats.loader.share import Share

BLOCKS = 3
"""At a moment one block is served, one is ready, one is being read."""
MAX_BLOCK_STEPS = 256
PAGE_BYTES = 4096


@dataclass(frozen=True)
class Block:
    """The rank's sequences of `steps`: `positions` and `tokens` of all, those of the i-th step end at `ends[i]`."""

    steps: range
    ends: np.ndarray
    positions: np.ndarray
    tokens: np.ndarray

    def of_step(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """(positions, tokens) of one of its steps."""
        i = self.steps.index(step)
        own = slice(int(self.ends[i - 1]) if i else 0, int(self.ends[i]))
        return self.positions[own], self.tokens[own]


class Rooms:
    """Memory for blocks, used again once nobody holds a view of it: fresh pages cost as much as the copy.

    An array begins with a page, as mapped rows mostly do: where the place in its page of what is copied to lies a few
    bytes behind that of what is copied from, some processors copy five times slower (glibc bug 30994).
    """

    def __init__(self) -> None:
        self._rooms: list[np.ndarray] = []

    def take(self, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
        num_bytes = shape[0] * shape[1] * dtype.itemsize
        room = self._free(num_bytes + PAGE_BYTES)
        begin = -room.ctypes.data % PAGE_BYTES
        return room[begin : begin + num_bytes].view(dtype).reshape(shape)

    def _free(self, num_bytes: int) -> np.ndarray:
        held = _references(self._rooms)
        for room, references in zip(self._rooms, held, strict=True):
            if references == _OWN and num_bytes <= room.size <= 2 * num_bytes:
                return room
        self._rooms = [room for room, references in zip(self._rooms, held, strict=True) if references > _OWN]
        self._rooms = [*self._rooms[-BLOCKS:], np.empty(num_bytes, np.uint8)]
        return self._rooms[-1]


def _references(rooms: list[np.ndarray]) -> list[int]:
    """How often each is referred to; every view of an array refers to it."""
    return [sys.getrefcount(room) for room in rooms]


_OWN = _references([np.empty(1)])[0]
"""Of one that nobody else refers to."""


def blocks(
    share: Share, first: int, every: int, shards: OpenShards, settings: ReadSettings
) -> Generator[Block, None, None]:
    """The blocks of every `every`-th step from `first` on, until the order is over. Raises what opening a shard raises.

    The first block is one step, so that training begins soon; the next ones double.
    """
    lookahead = Lookahead(share, shards, first, every, settings.lead_steps)
    step, num_steps, rooms = first, 1, Rooms()
    while not share.is_over(step):
        steps = range(step, step + every * min(num_steps, _most_steps(share, step, every, shards, settings)), every)
        while share.is_over(steps[-1]):
            steps = steps[:-1]
        located = lookahead.take(steps)
        if step != first:  # the first block is waited for
            lookahead.reach(steps.stop)
        yield read_block(located, shards, rooms)
        step, num_steps = steps.stop, min(2 * num_steps, MAX_BLOCK_STEPS)


def read_block(located: Located, shards: OpenShards, rooms: Rooms) -> Block:
    """Read some steps' sequences, a lane's consecutive rows at once."""
    shard, row = located.shard, located.row
    tokens = rooms.take((located.positions.size, shards.snapshot.seq_len), shards.snapshot.dtype)
    at = np.lexsort((row, shard))
    shard, row = shard[at], row[at]
    is_begin = np.ones(at.size, bool)
    is_begin[1:] = (np.diff(shard) != 0) | (np.diff(row) != 1)
    begins = np.flatnonzero(is_begin)
    ends = np.append(begins[1:], at.size)[: begins.size]
    which = dict.fromkeys(shard[begins].tolist())
    shards.ask(which)
    rows_of = {number: shards.rows_of(number) for number in which}
    runs = (shard[begins], row[begins], begins, ends, at[begins], _strides(at, begins, ends))
    for number, first, begin, end, to, stride in zip(*(column.tolist() for column in runs), strict=True):
        rows = rows_of[number][first : first + end - begin]
        if stride:
            tokens[to : to + (end - begin - 1) * stride + 1 : stride] = rows
        else:
            tokens[at[begin:end]] = rows
    return Block(located.steps, located.ends, located.positions, tokens)


def _strides(at: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """By how much `at` rises within each stretch, 0 where it does not rise evenly: even ones are copied faster."""
    rises = np.append(np.diff(at), 1)
    turns = np.append(0, np.cumsum(rises[1:] != rises[:-1]))  # how often the rise was another one
    is_one = ends - begins == 1
    is_even = (turns[np.maximum(ends - 2, begins)] == turns[begins]) & (rises[begins] > 0)
    return np.where(is_one, 1, np.where(is_even, rises[begins], 0))


def _most_steps(share: Share, step: int, every: int, shards: OpenShards, settings: ReadSettings) -> int:
    """As many as fit into the memory for reading ahead, of one batch size."""
    row_bytes = shards.snapshot.seq_len * shards.snapshot.dtype.itemsize
    fitting = settings.prefetch_bytes // (BLOCKS * max(1, share.rows(step) * row_bytes))
    return max(1, min(fitting, -(-share.steps.until_change(step) // every)))
