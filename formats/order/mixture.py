"""The consumer's mixture, and which bucket each draw goes to: an exact table, no sampling. Spec: order.md.

Earliest deadline first over the windows of proportionate fair scheduling (Baruah et al. 1996) keeps each bucket within
one draw of its due at every prefix. Cost: some 20 ms for a table, once for each set of units.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from formats.errors import OrderError
from formats.order.numbers import shares, whole

BLOCK = 1 << 16
"""Draws after which every bucket has had exactly its units."""
LANES, RUN = 1024, 512
Share = int | float | str | Fraction
"""A weight or a number of epochs: a number, or a fraction, also in words such as "3/2"."""


@dataclass(frozen=True)
class Mixture:
    """What the consumer wants from `position` on. `lanes` runs are read side by side, `run` rows of each in one draw.

    A bucket in `max_epochs` is served that often and no more; every other repeats for ever. `when_used_up`: go on with
    the other buckets, or stop the order. Numbers may be numpy's; they are kept as a state saves them.
    """

    position: int
    weights: Mapping[str, Share]
    lanes: int = LANES
    run: int = RUN
    max_epochs: Mapping[str, Share] | None = None
    when_used_up: Literal["renormalize", "stop"] = "renormalize"

    def __post_init__(self) -> None:
        """Raises OrderError where `position`, `lanes` or `run` is no whole number."""
        for name in ("position", "lanes", "run"):
            object.__setattr__(self, name, whole(getattr(self, name), f"{name} of a mixture"))
        for name in ("weights", "max_epochs"):
            object.__setattr__(self, name, shares(getattr(self, name)))

    def as_json(self) -> dict[str, Any]:
        """As a state saves it."""
        return asdict(self)

    def check(self, buckets: Sequence[str]) -> None:
        """Raises OrderError for what is no mixture of these buckets. The rules of each field were held before."""
        named = set(self.weights) | set(self.max_epochs or {})
        if unknown := sorted(named - set(buckets)):
            raise self._error("bucket", f"one of {', '.join(buckets)}", ", ".join(unknown))
        try:
            weights, _ = ([Fraction(n) for n in (of or {}).values()] for of in (self.weights, self.max_epochs))
        except (ValueError, ZeroDivisionError) as error:
            raise self._error("a weight or a number of epochs", "a finite number or a fraction", str(error)) from None
        if not any(weights):
            raise self._error("weights", "one above 0", dict(self.weights))

    def _error(self, field: str, expected: object, found: object) -> OrderError:
        return OrderError(f"mixture at {self.position}: {field} is {found}, expected {expected}; mend the mixture")


def units_of(weights: Sequence[Fraction]) -> tuple[int, ...]:
    """Weights as whole draws of a block: largest remainders, ties to the lower index; every weight above zero has one.

    Raises OrderError where more buckets have a weight than a block has draws.
    """
    if sum(1 for weight in weights if weight) > BLOCK:
        raise OrderError(f"{len(weights)} buckets have a weight, expected at most {BLOCK}; join small ones")
    total = sum(weights, Fraction(0))
    due = [weight * BLOCK / total for weight in weights]
    units = [max(int(share), 1 if share else 0) for share in due]
    by_remainder = sorted(range(len(due)), key=lambda i: (int(due[i]) - due[i], i))
    for i in by_remainder[: max(0, BLOCK - sum(units))]:
        units[i] += 1
    while sum(units) > BLOCK:  # the draws given to the smallest
        units[units.index(max(units))] -= 1
    return tuple(units)


@dataclass(frozen=True)
class MixtureTable:
    """One block of draws, int64 arrays: `units` [bucket] draws a block, `bucket` [slot] where a draw goes, `nth` [slot]
    how many earlier draws of the block went there, `slots` [bucket] its slots, rising.

    Before every draw n a bucket of share w has had more than n * w - 1 and less than n * w + 1 draws.
    """

    units: np.ndarray
    bucket: np.ndarray
    nth: np.ndarray
    slots: tuple[np.ndarray, ...]


@lru_cache(maxsize=64)
def mixture_table(units: tuple[int, ...]) -> MixtureTable:
    """The table of `units`, whole numbers with the sum BLOCK."""
    bucket = np.array(_earliest_deadline_first(units), np.int64)
    slots = tuple(np.split(np.argsort(bucket, kind="stable"), np.cumsum(units)[:-1]))
    nth = np.empty(BLOCK, np.int64)
    for own in slots:
        nth[own] = np.arange(len(own))
    return MixtureTable(np.array(units, np.int64), bucket, nth, slots)


def _earliest_deadline_first(units: tuple[int, ...]) -> list[int]:
    """The bucket of each slot.

    Draw i of a bucket of u units may take slots floor(i B / u) to ceil((i + 1) B / u) - 1; of the open draws the
    one of the least deadline is next, of equal ones that of the lower bucket. So the draws in the order of their
    deadlines each get the first slot of their window that those before them left.
    """
    bucket = np.repeat(np.arange(len(units)), units)
    u = np.array(units, np.int64)[bucket]
    i = np.arange(BLOCK) - (np.cumsum(units) - units)[bucket]
    opening, deadline = i * BLOCK // u, -(-(i + 1) * BLOCK // u)
    at = np.lexsort((bucket, deadline))
    order, onward = [0] * BLOCK, list(range(BLOCK + 1))  # onward: a free slot itself, else one on the way to it
    for slot, b in zip(opening[at].tolist(), bucket[at].tolist(), strict=True):
        while onward[slot] != slot:
            onward[slot] = slot = onward[onward[slot]]
        order[slot] = b
        onward[slot] = slot + 1
    return order
