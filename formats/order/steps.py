"""How the order is cut into global batches, and a batch into ranks' shares. Spec: order.md, section 7."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from formats.errors import OrderError
from formats.order import rules
from formats.order.leg import FOREVER
from formats.order.numbers import whole


@dataclass(frozen=True)
class Steps:
    """`batches`: (first step, sequences in a global batch), rising from step 0; `end` (in sequences) cuts the last one.

    Raises OrderError for a schedule that is none. No number of ranks enters.
    """

    batches: tuple[tuple[int, int], ...]
    end: int = FOREVER

    def __post_init__(self) -> None:
        batches = tuple((whole(first, "first step"), whole(size, "global batch")) for first, size in self.batches)
        object.__setattr__(self, "batches", batches)
        object.__setattr__(self, "end", whole(self.end, "end"))
        first_steps = [first for first, _ in self.batches]
        if first_steps[:1] != [0] or any(a >= b for a, b in pairwise(first_steps)):
            raise OrderError(f"batches begin at steps {first_steps}, expected rising ones from 0 on; mend the schedule")
        for field, wrong in rules.batch_problems([list(entry) for entry in self.batches]):
            raise OrderError(f"{field}: {wrong}; mend the schedule")
        if self.end < 0:
            raise OrderError(f"end is {self.end}, expected 0 or more sequences; mend the request")

    def bounds(self, step: int) -> tuple[int, int]:
        """Positions [start, stop) of a step's global batch; empty behind the end."""
        if step < 0:
            raise OrderError(f"step is {step}, expected 0 or more; mend the request")
        start = 0
        for (first, size), (following, _) in pairwise([*self.batches, (FOREVER, 0)]):
            start += (min(step, following) - first) * size
            if step < following:
                return min(start, self.end), min(start + size, self.end)
        raise OrderError(f"step {step} is out of range; mend the request")

    def of_rank(self, step: int, rank: int, world: int, *, uneven: bool = False) -> np.ndarray:
        """int64: every world-th position of the batch from its `rank`-th on.

        Shares of different sizes are refused unless the trainer asks for them: it must then sum losses over sequences
        and divide by the global count, never take the mean of means.
        """
        start, stop = self.bounds(step)
        if world < 1:
            raise OrderError(f"dp_world is {world}, expected at least 1; mend the request")
        if not 0 <= rank < world:
            raise OrderError(f"rank is {rank} of {world}, expected 0 to {world - 1}; mend the request")
        if (stop - start) % world and not uneven:
            raise OrderError(
                f"step {step} has {stop - start} sequences, expected a multiple of {world} ranks; change the global "
                "batch, use fewer ranks, or ask for uneven shares and weigh the loss by sequences"
            )
        return np.arange(start + rank, stop, world)

    def step_at(self, position: int) -> int:
        """The step whose global batch holds a position."""
        start = 0
        for (first, size), (following, _) in pairwise([*self.batches, (FOREVER, 0)]):
            if position < start + (following - first) * size:
                return first + (position - start) // size
            start += (following - first) * size
        raise OrderError(f"position {position} is out of range; mend the request")

    def batch(self, step: int) -> int:
        """The sequences of a step's global batch, before `end` cuts the last one."""
        return next(size for first, size in reversed(self.batches) if first <= step)

    def until_change(self, step: int) -> int:
        """How many steps from `step` on have its batch size."""
        return next((first for first, _ in self.batches if first > step), FOREVER) - step

    def begun(self, step: int) -> Sequence[tuple[int, int]]:
        """The entries that say what was before a step, and the first."""
        return [(first, size) for first, size in self.batches if first < max(step, 1)]
