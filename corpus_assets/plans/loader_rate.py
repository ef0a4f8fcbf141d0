"""What a training run asks of the storage that its ranks read snapshots from."""

from dataclasses import dataclass
from typing import Any

HEADROOM = 2
"""Twice what is consumed: a loader that fell behind, or that opens its next runs, must be able to catch up."""


@dataclass(frozen=True)
class LoaderRate:
    """`ranks` take `sequences` of `seq_len` tokens each a step, a token in `token_bytes`: 2, or 4 beyond
    65,536 ids.
    """

    ranks: int
    sequences: int
    seq_len: int
    token_bytes: int
    step_seconds: float

    @property
    def gb_per_second(self) -> float:
        """10^9 bytes a second, over all ranks."""
        consumed = self.ranks * self.sequences * self.seq_len * self.token_bytes / self.step_seconds
        return HEADROOM * consumed / 1e9

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "gb_per_second": self.gb_per_second}

    def __str__(self) -> str:
        return (
            f"loader: {self.gb_per_second:,.3g} GB/s, {HEADROOM} times what {self.ranks:,} ranks consume that take "
            f"{self.sequences:,} x {self.seq_len:,} tokens of {self.token_bytes} bytes in {self.step_seconds:g} s"
        )
