"""Histograms of whole numbers in fixed bins. Where a limit decides, it is an edge between two bins, so that no bin
holds both what passed and what failed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from corpus_assets.plans.reason_words import number
from formats.reasons import Rule

_DECADE = (10, 13, 16, 20, 25, 32, 40, 50, 63, 79)
"""Ten steps of nearly equal ratio, in tenths."""
_DECADES = 13
_WIDTHS = {1_000_000: 25_000, 1_000: 250}
"""Bin width of ratios and of means, in the signal's unit, before it is fitted to the limit."""
_LOGARITHMIC = ("n_chars", "n_words", "ppl")
_SCORES = ("lang_score", "quality", "safety")
"""From 0 to 1, in thousandths."""
MIN_BINS, MAX_BINS, BINS_ABOVE = 12, 120, 40


@dataclass
class Histogram:
    """Counts per bin, in memory that does not grow with the data. Bin i lies between edges i and i + 1; the last one
    takes all beyond it. A value on an edge falls above it, or below where `closed_above`.
    """

    edges: Sequence[int]
    closed_above: bool = False
    counts: Counter[int] = field(default_factory=Counter)

    def add(self, values: np.ndarray) -> None:
        at = np.searchsorted(np.array(self.edges, np.int64), values, side="left" if self.closed_above else "right") - 1
        n = np.bincount(np.clip(at, 0, len(self.edges) - 2))
        bins = np.flatnonzero(n)
        self.counts.update(dict(zip(bins.tolist(), n[bins].tolist(), strict=True)))

    def trimmed(self, keep: int | None = None) -> tuple[list[int], list[int]]:
        """(edges, counts) without the empty bins at both ends, but with the edge `keep` and, if there are, MIN_BINS."""
        marks = [bin_number for bin_number, n in self.counts.items() if n] or [0]
        marks += [] if keep is None else [max(0, keep - 1), min(keep, len(self.edges) - 2)]
        first, last = min(marks), max(marks)
        first = max(0, min(first, last - MIN_BINS + 1))
        last = min(len(self.edges) - 2, max(last, first + MIN_BINS - 1))
        return list(self.edges[first : last + 2]), [self.counts[i] for i in range(first, last + 1)]


def log_edges(anchor: int = 1) -> list[int]:
    """0, then ten edges a decade from 1 to 10^13, or to beyond `anchor`, which is one of them."""
    found = {0, 1, anchor}
    for power in range(_DECADES):
        found.update(anchor * step * 10**power // 10 for step in _DECADE)
        found.update(anchor * step // 10 ** (power + 2) for step in _DECADE)
    return sorted(edge for edge in found if edge <= max(10**_DECADES, 2 * anchor))


def for_rule(rule: Rule, limit: int) -> Histogram:
    """An empty histogram of the rule's signal, with an edge at `limit` and a bin on each side that values can be on."""
    closed_above = rule.bound == "max"
    # 0 itself is within a limit of 0 and all above is not, so it has a bin of its own.
    zero = [-1] if closed_above and limit == 0 else []
    if rule.signal in _LOGARITHMIC:
        return Histogram([*zero, *log_edges(max(1, limit))], closed_above)
    width = 25 if rule.signal in _SCORES else _WIDTHS.get(rule.scale, 1)
    width = max(width, -(-limit // (MAX_BINS - BINS_ABOVE)))
    num_below = -(-limit // width)
    below = [limit * i // num_below for i in range(num_below)]
    top = rule.scale if rule.scale == 1_000_000 or rule.signal in _SCORES else limit + BINS_ABOVE * width
    above = range(limit + width, max(top, limit + 1) + width, width)
    return Histogram([*zero, *below, limit, *above], closed_above)


def edge_words(edges: Sequence[int], rule: Rule | None = None) -> list[str]:
    """The edges in people's unit, short enough to stand below a column. The one below 0 is 0: nothing lies there."""
    edges = [max(0, edge) for edge in edges]
    if rule is None or rule.scale == 1:
        return [_short(edge) for edge in edges]
    shown = rule.scale // 1_000 if rule.scale >= 1_000_000 else rule.scale // 100 if rule.scale >= 1_000 else 1
    return [number(edge // shown * shown, rule.scale) for edge in edges]


def _short(n: int) -> str:
    for step, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if n >= step:
            tenths = n * 10 // step
            return f"{tenths // 10}{letter}" if tenths % 10 == 0 or tenths >= 1000 else f"{tenths / 10:.1f}{letter}"
    return str(n)
