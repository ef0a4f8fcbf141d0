"""Whether languages and lengths of a version are about those of the version before it: what moved, and by how much.

Read from the evidence of both, batch by batch; memory grows with sources and languages, not with documents.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow.compute as pc

from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.published_version import version_before
from formats import evidence
from formats.layout import Layout
from formats.naming import VersionKey
from formats.reasons import Reason

MAX_LANGUAGE_DRIFT = 0.1
"""By how much the share of a language may move: a tenth of all documents."""
MAX_LENGTH_DRIFT = 1.25
"""By which factor a length may move."""
MIN_DRIFT_DOCS = 100
"""Of fewer documents, a share and a quantile say little."""
QUANTILES = {"10%": 0.1, "median": 0.5, "90%": 0.9}
WHOLE = "all sources"
_BINS_A_DOUBLING = 64
"""Lengths are counted in bins of one percent."""
_NUM_BINS = 64 * _BINS_A_DOUBLING


@dataclass
class Shape:
    """Languages and lengths of the published documents of one source, or of all."""

    languages: Counter[str] = field(default_factory=Counter)
    lengths: np.ndarray = field(default_factory=lambda: np.zeros(_NUM_BINS, np.int64))

    @property
    def documents(self) -> int:
        return self.languages.total()

    def share(self, language: str) -> float:
        return self.languages[language] / self.documents

    def length(self, quantile: float) -> int:
        """Characters, to a percent."""
        at = int(np.searchsorted(np.cumsum(self.lengths), quantile * self.documents))
        return round(2 ** ((min(at, _NUM_BINS - 1) + 0.5) / _BINS_A_DOUBLING))


def drift(layout: Layout, key: VersionKey) -> Finding:
    """Shares of languages and quantiles of lengths, of the whole version and of each source that both have, against the
    version published before this one.
    """
    before = version_before(layout, key)
    if before is None:
        return Finding(True, "no earlier version of the dataset is published")
    now, then = shapes(layout, key), shapes(layout, before)
    held = [name for name in sorted(now.keys() & then.keys()) if _says_something(now[name], then[name])]
    if not held:
        few = f"no source, nor all together, has {MIN_DRIFT_DOCS} documents in both"
        return Finding(True, f"against {before}: {few}, so nothing is compared", {"compared": 0})
    moved = [words for name in held for words in _moved(name, now[name], then[name])]
    figures: dict[str, int | float | str] = {
        "before": str(before),
        "compared": len(held),
        "moved": len(moved),
        "max_language_drift": MAX_LANGUAGE_DRIFT,
        "max_length_drift": MAX_LENGTH_DRIFT,
        "largest_language_drift": max(_largest_share(now[name], then[name]) for name in held),
        "largest_length_drift": max(_largest_factor(now[name], then[name]) for name in held),
    }
    if WHOLE in held:
        for label, quantile in QUANTILES.items():
            told = label.replace("%", "_percent")
            figures[f"length_{told}"] = now[WHOLE].length(quantile)
            figures[f"length_{told}_before"] = then[WHOLE].length(quantile)
    limits = f"a language may move by {100 * MAX_LANGUAGE_DRIFT:.0f} points, a length by a factor of {MAX_LENGTH_DRIFT}"
    told = "; ".join(moved) or f"languages and lengths are about the same ({', '.join(held)})"
    return Finding(not moved, f"against {before}: {told}; {limits}", figures)


def shapes(layout: Layout, key: VersionKey) -> Mapping[str, Shape]:
    """Shape of each source's published documents, and of all under WHOLE."""
    found: dict[str, Shape] = defaultdict(Shape)
    columns = ["source_id", "verdict", "lang", "n_chars"]
    for batch in evidence.read(layout.evidence(key), "documents", columns=columns):
        kept = batch.filter(pc.equal(batch.column("verdict"), Reason.KEPT.value))
        for source in pc.unique(kept.column("source_id")).to_pylist():
            mine = kept.filter(pc.equal(kept.column("source_id"), source))
            languages = {one["values"]: one["counts"] for one in pc.value_counts(mine.column("lang")).to_pylist()}
            chars = np.maximum(mine.column("n_chars").to_numpy(zero_copy_only=False), 1)
            lengths = np.bincount((np.log2(chars) * _BINS_A_DOUBLING).astype(np.int64), minlength=_NUM_BINS)
            for shape in (found[source], found[WHOLE]):
                shape.languages.update(languages)
                shape.lengths += lengths
    return found


def _says_something(now: Shape, then: Shape) -> bool:
    return min(now.documents, then.documents) >= MIN_DRIFT_DOCS


def _moved(name: str, now: Shape, then: Shape) -> Iterator[str]:
    for language in sorted(now.languages.keys() | then.languages.keys()):
        a, b = then.share(language), now.share(language)
        if abs(b - a) > MAX_LANGUAGE_DRIFT:
            yield f"{name}: {language} {a:.1%} -> {b:.1%} of the documents ({100 * (b - a):+.1f} points)"
    for label, quantile in QUANTILES.items():
        a, b = then.length(quantile), now.length(quantile)
        if _factor(a, b) > MAX_LENGTH_DRIFT:
            yield f"{name}: {label} length {a:,} -> {b:,} characters ({b / a - 1:+.0%})"


def _largest_share(now: Shape, then: Shape) -> float:
    names = now.languages.keys() | then.languages.keys()
    return max((abs(now.share(name) - then.share(name)) for name in names), default=0.0)


def _largest_factor(now: Shape, then: Shape) -> float:
    return max(_factor(now.length(quantile), then.length(quantile)) for quantile in QUANTILES.values())


def _factor(a: int, b: int) -> float:
    return max(a, b) / max(1, min(a, b))
