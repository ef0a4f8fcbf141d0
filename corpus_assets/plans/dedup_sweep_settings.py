"""The settings of near dedup that a sweep compares, and what is measured of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from formats.errors import ConfigError

LEAST_THRESHOLD = 0.5
"""Of pairs less alike than this the loose bands find too few to say anything."""


@dataclass(frozen=True, order=True)
class Setting:
    shingle: int
    threshold: float

    def __str__(self) -> str:
        return f"shingle {self.shingle}, threshold {self.threshold:g}"


@dataclass(frozen=True)
class Grid:
    """Every width with every threshold, ascending. Raises ConfigError for a setting that the config refuses."""

    shingles: Sequence[int]
    thresholds: Sequence[float]
    unit: str

    def __post_init__(self) -> None:
        if not self.shingles or not all(1 <= width <= 100 for width in self.shingles):
            raise ConfigError(f"--shingle: {list(self.shingles)}; expected widths from 1 to 100")
        if not self.thresholds or not all(LEAST_THRESHOLD <= one <= 1 for one in self.thresholds):
            raise ConfigError(
                f"--threshold: {list(self.thresholds)}; expected a Jaccard from {LEAST_THRESHOLD} to 1: of pairs less "
                f"alike too few are found to say anything"
            )

    def neighbours(self, at: Setting) -> list[Setting]:
        """The settings one step away in either direction."""
        x, y = list(self.shingles).index(at.shingle), list(self.thresholds).index(at.threshold)
        near = ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1))
        inside = ((a, b) for a, b in near if 0 <= a < len(self.shingles) and 0 <= b < len(self.thresholds))
        return [Setting(self.shingles[a], self.thresholds[b]) for a, b in inside]


@dataclass(frozen=True)
class Measured:
    """What one setting does to the sample. `unsettled` is the share of its drops and a neighbour's that only one of the
    two makes, on average over its neighbours. `words_for_an_edit`: shorter texts do not stay near after one word is
    replaced.
    """

    setting: Setting
    dropped: int
    clusters: int
    largest: int
    keepers_unlike: int
    changed: int
    """Verdicts other than at the version's own setting."""
    unsettled: float
    words_for_an_edit: int
    expected_recall: float
    """Of the pairs above the threshold that were found loosely, by the S-curve of the version's banding."""

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), **vars(self.setting), "setting": str(self.setting)}
