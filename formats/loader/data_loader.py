"""Exactly the sequences that the order gives a rank, step after step, from any step on. Order: formats/order/order.md.

Needs numpy and pyarrow alone. Reading runs ahead in threads; what is served never depends on it. Spec: loader.md.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from formats import run_record
from formats.errors import ConfigError, OrderError
from formats.json_words import described
from formats.loader.blocks import BLOCKS, Block, blocks
from formats.loader.open_shards import OpenShards
from formats.loader.read_ahead import ReadAhead
from formats.loader.settings import ReadSettings, settings_of
from formats.loader.shard_files import open_snapshot
from formats.loader.share import Share
from formats.order import state
from formats.order.leg import FOREVER
from formats.order.mixture import Mixture
from formats.order.mixture import Share as Weight
from formats.order.numbers import flag, is_whole, whole
from formats.order.order import CHUNK, Order
from formats.order.steps import Steps
from formats.run_record import RunRecord


@dataclass(frozen=True)
class Batch:
    """A rank's share of one step: `tokens` (rows, seq_len) in the snapshot's dtype, `positions` int64 (rows)."""

    step: int
    positions: np.ndarray
    tokens: np.ndarray


@dataclass(frozen=True)
class Waiting:
    """How long the trainer waited for the loader, of the time since its first batch."""

    waited_seconds: float
    total_seconds: float

    @property
    def share(self) -> float:
        return self.waited_seconds / self.total_seconds if self.total_seconds else 0.0


class DataLoader:
    """An iterator over a rank's batches. Its state is the same on every rank, and goes into the model's checkpoint.

    `mixture`: weights by bucket from the start on, or a list of Mixture. `batches`: the global batch, or a list of
    (first step, global batch). `end`: sequences after which training stops. Whole numbers may be numpy's. Raises
    ConfigError for another `seq_len` than the snapshot's, OrderError for mixtures, schedules or ranks that do not fit
    or could not be read back from a state or run record, CorruptDataError for files that are not what the snapshot
    says.
    """

    def __init__(
        self,
        root: Path | str,
        snapshot_id: str,
        *,
        mixture: Mapping[str, Weight] | Sequence[Mixture],
        seed: int,
        dp_rank: int,
        dp_world: int,
        seq_len: int,
        batches: int | Sequence[tuple[int, int]],
        split: str = "train",
        end: int = FOREVER,
        uneven: bool = False,
        chunk: int = CHUNK,
        settings: ReadSettings | None = None,
    ) -> None:
        self._settings = settings_of(settings)
        files = open_snapshot(root, snapshot_id, self._settings)
        self.snapshot = files.snapshot
        if not is_whole(seq_len) or seq_len != self.snapshot.seq_len:
            raise ConfigError(
                f"seq_len is {described(seq_len)}, expected {self.snapshot.seq_len}: that of snapshot {snapshot_id}; "
                "ask for it, or build a snapshot of another length"
            )
        self.order = Order(self.snapshot.buckets(split), seed, _mixtures_of(mixture), chunk=chunk)
        self.steps = Steps(_schedule_of(batches), end)
        rank, world, is_uneven = whole(dp_rank, "dp_rank"), whole(dp_world, "dp_world"), flag(uneven, "uneven")
        firsts = [first for first, _ in self.steps.batches]
        for first in [*firsts, *([self.steps.step_at(self.steps.end - 1)] if 0 < self.steps.end < FOREVER else [])]:
            self.steps.of_rank(first, rank, world, uneven=is_uneven)
        self._files, self._split = files, split
        self._rank = rank, world, is_uneven
        self._step, self._every = 0, 1
        self._waited, self._began = 0.0, 0.0
        self._is_closed = False
        self._prepare()
        self.run_record()  # what could not be read back is refused now, and not after the training

    def _prepare(self) -> None:
        """What has threads and locks: a process that was forked needs its own."""
        self._process = os.getpid()
        self._share = Share(self.order, self.steps, *self._rank)
        self._shards = OpenShards(self._files, self._split, self._settings)
        self._ahead: ReadAhead | None = None
        self._block: Block | None = None

    @property
    def step(self) -> int:
        """The step that is served next."""
        return self._step

    @property
    def waiting(self) -> Waiting:
        return Waiting(self._waited, time.perf_counter() - self._began if self._began else 0.0)

    @property
    def shards_opened_at_once(self) -> int:
        """The most shards that were being opened at a moment."""
        return self._shards.at_once

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        self._after_a_fork()
        if self._is_closed:
            raise ConfigError(f"the loader is closed, and step {self._step} was asked for; make another loader")
        if self._share.is_over(self._step):
            raise StopIteration
        asked = time.perf_counter()
        self._began = self._began or asked
        block = self._block_of(self._step)
        self._waited += time.perf_counter() - asked
        positions, tokens = block.of_step(self._step)
        self._step += self._every
        return Batch(self._step - self._every, positions, tokens)

    def seek(self, step: int, every: int = 1) -> None:
        """Serve `step` next, and after it every `every`-th step. Costs nothing but what was read ahead.

        Raises OrderError for what is no step; the loader then goes on where it was.
        """
        self._after_a_fork()
        step, every = whole(step, "step"), whole(every, "every")
        self.steps.bounds(step)
        if every < 1:
            raise OrderError(f"every is {every}, expected at least 1; mend the request")
        self._forget()
        self._step, self._every = step, every

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint holds: the next step, and all that the past depends on. JSON values."""
        self._after_a_fork()
        step = self._step
        while step and self._share.is_over(step - 1):  # one that serves every n-th step goes beyond the end
            step -= 1
        return state.state_dict(self.order, self.steps, self.snapshot.snapshot_id, step)

    def load_state_dict(self, saved: Any) -> None:
        """Go on where a state was saved, at whatever number of ranks. Raises OrderError for one that is not of this
        snapshot, seed, past mixtures and past batches.
        """
        self._after_a_fork()
        self.seek(state.load_state_dict(saved, self.order, self.steps, self.snapshot.snapshot_id))

    def run_record(self, before: RunRecord | None = None) -> RunRecord:
        """The record of a process that goes on here, with this loader's split and ranks; `before` is the one that it
        resumes from. Raises OrderError as `formats.run_record.begin` does, which says when to ask for it.
        """
        _, world, uneven = self._rank
        return run_record.begin(self.state_dict(), dp_world=world, uneven=uneven, split=self._split, before=before)

    def close(self) -> None:
        """Stop reading ahead. The state can still be asked for, batches no longer."""
        self._after_a_fork()
        self._is_closed = True
        self._forget()
        self._shards.close()

    def __del__(self) -> None:
        if hasattr(self, "_shards"):  # else it was refused
            self.close()

    def __enter__(self) -> "DataLoader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _after_a_fork(self) -> None:
        """Threads did not come along, and a lock may be held for ever: make them anew, and go on at the same step."""
        if self._process != os.getpid():
            self.order = Order(self.order.buckets, self.order.seed, self.order.mixtures, chunk=self.order.chunk)
            self._prepare()

    def _forget(self) -> None:
        if self._ahead is not None:
            self._ahead.close()
        self._ahead = self._block = None

    def _block_of(self, step: int) -> Block:
        if self._block is None or step not in self._block.steps:
            self._block = None
            if self._ahead is None:
                made = blocks(self._share, step, self._every, self._shards, self._settings)
                self._ahead = ReadAhead(made, BLOCKS - 1, self._settings.max_silence_seconds)
            try:
                self._block = self._ahead.next()
            except BaseException:  # the step is tried again when it is asked for again
                self._forget()
                raise
        if self._block is None:
            raise RuntimeError(f"step {step} is of the order and no block holds it: report this")
        return self._block


def _mixtures_of(mixture: Any) -> list[Mixture]:
    if isinstance(mixture, Mapping):
        return [Mixture(0, mixture)]
    if not isinstance(mixture, list | tuple) or not all(isinstance(one, Mixture) for one in mixture):
        raise OrderError(
            f"mixture is {mixture!r:.100}, expected weights by bucket or a list of Mixture; mend the request"
        )
    return list(mixture)


def _schedule_of(batches: Any) -> tuple[tuple[int, int], ...]:
    if is_whole(batches):
        return ((0, batches),)
    try:
        return tuple((first, size) for first, size in batches)
    except (TypeError, ValueError):
        what = "a global batch, or a list of (first step, global batch)"
        raise OrderError(f"batches is {batches!r:.100}, expected {what}; mend the request") from None
