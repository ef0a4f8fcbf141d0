"""A rank's share of every global batch, as positions of the order."""

from dataclasses import dataclass

import numpy as np

from formats.order.order import Order
from formats.order.steps import Steps


@dataclass(frozen=True)
class Share:
    """Rank `rank` of `world`; `uneven`: shares may differ by one sequence."""

    order: Order
    steps: Steps
    rank: int
    world: int
    uneven: bool

    def positions(self, steps: range) -> tuple[np.ndarray, np.ndarray]:
        """(positions, where each step's end among them), int64, of steps of one batch size; a batch behind the order's
        end is cut.
        """
        own = self.steps.of_rank(steps[0], self.rank, self.world, uneven=self.uneven)
        size = self.steps.batch(steps[0])
        positions = (own + np.arange(len(steps))[:, None] * (size * steps.step)).ravel()
        ends = np.arange(1, len(steps) + 1) * own.size
        available = self.order.available(self.steps.bounds(steps[-1])[1])
        if positions.size and positions[-1] >= available:
            is_served = positions < available
            ends = np.cumsum(is_served.reshape(len(steps), -1).sum(axis=1))
            positions = positions[is_served]
        return positions, ends

    def rows(self, step: int) -> int:
        """The most sequences of a share at a step."""
        return -(-self.steps.batch(step) // self.world)

    def is_over(self, step: int) -> bool:
        start, stop = self.steps.bounds(step)
        return self.order.available(stop) <= start
