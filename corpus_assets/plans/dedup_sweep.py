"""How verdicts change with shingle width and threshold, measured on a sample of a version's documents.

Memory: the sample's texts and shingle sets, and 264 bytes a document while the sample is drawn.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.bands import CandidatePairs, band_keys, collision_probability
from corpus_assets.kernels.components import components, keeper_walk
from corpus_assets.kernels.minhash import signatures as sign
from corpus_assets.kernels.shingles import is_edge, jaccard, jaccard_millionths, shingle_sets
from corpus_assets.plans.dedup_report import unlike_their_cluster
from corpus_assets.plans.dedup_sweep_advice import suggest
from corpus_assets.plans.dedup_sweep_sample import LOOSE_BANDS, LOOSE_ROWS, draw
from corpus_assets.plans.dedup_sweep_settings import Grid, Measured, Setting
from corpus_assets.plans.pinned import Build, Pair
from formats.dedup_rules import NearRules

NUM_BINS = 20
MILLION = 1_000_000


@dataclass(frozen=True)
class Sweep:
    """`similar`: per width, pairs of the sample by Jaccard, in NUM_BINS from 0 to 1."""

    num_docs: int
    of_docs: int
    unit: str
    present: Setting
    near: NearRules
    settings: tuple[Measured, ...]
    similar: Mapping[int, list[int]]
    suggested: Measured
    reason: str

    def as_json(self) -> dict[str, Any]:
        return {
            "documents": self.num_docs,
            "of_documents": self.of_docs,
            "unit": self.unit,
            "present": str(self.present),
            "suggested": str(self.suggested.setting),
            "reason": self.reason,
            "settings": [one.as_json() for one in self.settings],
        }


def measure(
    build: Build,
    pairs: list[Pair],
    grid: Grid,
    *,
    num_docs: int,
    seed: int,
    say: Callable[[str], None] = lambda _: None,
) -> Sweep:
    """Raises ConfigError where the version's signatures or ranks are not made yet."""
    near = pairs[0].config.dedup.near
    say("drawing the sample")
    sample = draw(build, pairs, num_docs, seed)
    present = Setting(near.shingle, near.jaccard_threshold)
    decided: dict[Setting, _Decided] = {}
    similar: dict[int, list[int]] = {}
    for width in grid.shingles:
        say(f"shingles of {width}")
        found = _pairs(sample.texts, width, grid.unit, near)
        similar[width] = np.histogram(found.score, NUM_BINS, (0, MILLION))[0].tolist()
        for threshold in grid.thresholds:
            decided[Setting(width, threshold)] = _decide(found, threshold, sample.texts, near)
    now = decided.get(present) if grid.unit == near.shingle_unit else None
    if now is None:
        say("the present setting")
        found = _pairs(sample.texts, near.shingle, near.shingle_unit, near)
        now = _decide(found, near.jaccard_threshold, sample.texts, near)
    dropped = {at: one.dropped for at, one in decided.items()}
    settings = tuple(
        Measured(
            setting=at,
            changed=int((one.dropped != now.dropped).sum()),
            unsettled=_unsettled(dropped, at, grid),
            words_for_an_edit=_words_for_an_edit(at) if grid.unit == "word" else 0,
            **one.figures,
        )
        for at, one in decided.items()
    )
    suggested, reason = suggest(settings, present, grid.unit)
    return Sweep(len(sample.texts), sample.of_docs, grid.unit, present, near, settings, similar, suggested, reason)


@dataclass(frozen=True)
class _Pairs:
    """Pairs that share a loose band, with the sizes of intersection and union, and the Jaccard in millionths."""

    a: np.ndarray
    b: np.ndarray
    common: np.ndarray
    union: np.ndarray
    score: np.ndarray


def _pairs(texts: pa.Array, width: int, unit: str, near: NearRules) -> _Pairs:
    signature, num_shingles = sign(texts, shingle=width, unit=unit, seed=near.seed)
    rows = np.flatnonzero(num_shingles > 0)
    keys = band_keys(signature.take(pa.array(rows)), LOOSE_BANDS, LOOSE_ROWS)
    rank = np.repeat(rows, LOOSE_BANDS)
    order = np.lexsort((rank, keys.reshape(-1)))
    found = CandidatePairs(near.max_bucket, near.hot_keepers)
    parts = [found.feed(keys.reshape(-1)[order], rank[order]), found.finish()]
    pairs = np.unique(np.concatenate([np.stack(part, axis=1) for part in parts]), axis=0)
    sets = shingle_sets(texts, width, unit)
    common, union = jaccard(*(sets.take(pa.array(side)) for side in pairs.T))
    return _Pairs(pairs[:, 0], pairs[:, 1], common, union, jaccard_millionths(common, union))


@dataclass(frozen=True)
class _Decided:
    """Which documents one setting drops, and what is measured of that."""

    dropped: np.ndarray
    figures: dict[str, Any]


def _decide(found: _Pairs, threshold: float, texts: pa.Array, near: NearRules) -> _Decided:
    edge = is_edge(found.common, found.union, round(threshold * MILLION))
    nodes, keeper, _ = keeper_walk(found.a[edge], found.b[edge], found.score[edge])
    _, root = components(found.a[edge], found.b[edge])
    dropped = np.zeros(len(texts), np.bool_)
    dropped[nodes[nodes != keeper]] = True
    lengths = np.array([len(texts[int(node)].as_py()) for node in nodes], np.int64)
    unlike = unlike_their_cluster(root, lengths, near.max_keeper_length_ratio) & np.isin(nodes, keeper[nodes != keeper])
    sizes = np.unique(root, return_counts=True)[1]
    chances = [collision_probability(one / MILLION, near.bands, near.rows) for one in found.score[edge].tolist()]
    figures = {
        "dropped": int(dropped.sum()),
        "clusters": len(sizes),
        "largest": int(sizes.max(initial=0)),
        "keepers_unlike": int(unlike.sum()),
        "expected_recall": float(np.mean(chances)) if chances else 1.0,
    }
    return _Decided(dropped, figures)


def _unsettled(dropped: Mapping[Setting, np.ndarray], at: Setting, grid: Grid) -> float:
    shares = []
    for other in grid.neighbours(at):
        either = int((dropped[at] | dropped[other]).sum())
        shares.append(int((dropped[at] ^ dropped[other]).sum()) / either if either else 0.0)
    return sum(shares) / len(shares) if shares else 0.0


def _words_for_an_edit(at: Setting) -> int:
    """One replaced word takes `shingle` of m shingles away and adds as many: (m - s) / (m + s) >= threshold."""
    millionths = round(at.threshold * MILLION)
    if millionths >= MILLION:
        return 0
    shingles = -(-at.shingle * (MILLION + millionths) // (MILLION - millionths))
    return int(shingles) + at.shingle - 1
