"""What the S-curve expects of pairs: how many share a band, each by its own Jaccard."""

from dataclasses import dataclass

import numpy as np

from corpus_assets.kernels.bands import collision_probability

TAIL = 0.005
"""Chance that a right S-curve gives fewer hits than the interval, and that it gives more."""


@dataclass(frozen=True)
class Expected:
    """Hits of `of` pairs: on average, and the least and most of independent draws, TAIL left out at either end."""

    of: int
    mean: float
    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.mean:.1f} of {self.of} by the S-curve, {self.least} to {self.most} at 99 %"


def expected(jaccard: np.ndarray) -> Expected:
    """Of pairs with these Jaccards."""
    chances = [collision_probability(one) for one in jaccard.tolist()]
    spread = np.ones(1)
    for chance in chances:
        spread = np.convolve(spread, (1 - chance, chance))
    below = np.cumsum(spread)
    ends = (int(np.searchsorted(below, TAIL)), int(np.searchsorted(below, 1 - TAIL)))
    return Expected(len(chances), sum(chances), *ends)
