"""How verdicts change with shingle width and threshold, measured on a sample of a version's documents.

A sample of single documents would have no pairs. So half of it are documents drawn by hash, and the rest is what looks
like one of those by a loose banding of the stored signatures. Memory: the sample's texts and shingle sets.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.bands import CandidatePairs, band_keys, collision_probability
from corpus_assets.kernels.components import components, keeper_walk
from corpus_assets.kernels.minhash import signatures as sign
from corpus_assets.kernels.shingles import is_edge, jaccard, jaccard_millionths, shingle_sets
from corpus_assets.plans.dedup_report import unlike_their_cluster
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.keepers import ranks
from corpus_assets.plans.pinned import Build, Pair
from corpus_assets.plans.source_stages import documents, signatures
from corpus_assets.stages.side_rows import column, rows_of
from formats import dataset
from formats.dedup_rules import NearRules
from formats.errors import ConfigError

LOOSE_BANDS, LOOSE_ROWS = 32, 4
"""Two texts of a Jaccard of 0.5 share a band of these with a chance of 0.87, of 0.7 with 0.9998."""
NUM_BINS = 20
MILLION = 1_000_000
LEAST_THRESHOLD = 0.5
"""Of pairs less alike than this the loose bands find too few to say anything."""
LEAST_RECALL, WORTH_A_CHANGE, SETTLED = 0.9, 0.05, 0.25
"""A setting is suggested whose pairs the version's bands find; in place of the present one only where it is steadier by
so much, and as a default only where less than so much of its drops is unsettled.
"""
LEAST_DROPS = 30
"""Of fewer drops one more or less changes the shares by several per cent: they say nothing of the settings."""


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


@dataclass(frozen=True)
class Sample:
    """Texts in keeper order, out of `of_docs` that came to near dedup."""

    texts: pa.Array
    of_docs: int


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
    sample = _draw(build, pairs, num_docs, seed)
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
    suggested, reason = _suggest(settings, present, grid.unit)
    return Sweep(len(sample.texts), sample.of_docs, grid.unit, present, near, settings, similar, suggested, reason)


def _draw(build: Build, pairs: list[Pair], num_docs: int, seed: int) -> Sample:
    """Half of the sample by hash, the other half what looks like it; all documents where there are no more."""
    ranked = ranks(build, pairs).open()
    signed = dataset.concat([signatures(build, pair).open() for pair in pairs])
    texts = dataset.concat([documents(build, pair).open() for pair in pairs]).select("k", "text")
    if signed.rows <= num_docs:
        chosen: Any = None
        of_docs = signed.rows
    else:
        rank, keys = _loose_keys(signed, ranked)
        of_docs = len(rank)
        place = _mixed(rank, seed)
        seeds = np.argsort(place, kind="stable")[: num_docs // 2]
        alike = np.array(np.isin(keys, keys[seeds]).any(axis=1))
        alike[seeds] = False
        others = np.flatnonzero(alike)
        others = others[np.argsort(place[others], kind="stable")][: num_docs - len(seeds)]
        chosen = np.sort(rank[np.concatenate((seeds, others))])
    found_ranks, found_texts = [np.zeros(0, np.int64)], [pa.array([], pa.large_string())]
    for rank, text in _distinct(texts, ranked, "text"):
        rows = np.arange(len(rank)) if chosen is None else np.flatnonzero(np.isin(rank, chosen))
        found_ranks.append(rank[rows])
        found_texts.append(text.cast(pa.large_string()).take(pa.array(rows)))
    order = np.argsort(np.concatenate(found_ranks), kind="stable")
    return Sample(pa.concat_arrays(found_texts).take(pa.array(order)), of_docs)


def _loose_keys(signed: dataset.Dataset, ranked: dataset.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """(rank, loose band keys) of every document that is no exact duplicate: 264 bytes each."""
    found_ranks, found_keys = [np.zeros(0, np.int64)], [np.zeros((0, LOOSE_BANDS), np.int64)]
    for rank, signature in _distinct(signed, ranked, "signature"):
        found_ranks.append(rank)
        found_keys.append(band_keys(signature, LOOSE_BANDS, LOOSE_ROWS))
    return np.concatenate(found_ranks), np.concatenate(found_keys)


def _distinct(parts: dataset.Dataset, ranked: dataset.Dataset, name: str) -> Iterator[tuple[np.ndarray, pa.Array]]:
    """(ranks, values of the column) of every document that is no exact duplicate, batch by batch."""
    for part in parts.shards:
        side = ranked.shard(part.id)
        if side is None:
            continue
        table = dataset.read_table(dataset.Dataset(ranked.schema, (side,)), columns=("k", "rank", "exact_keeper"))
        for batch in dataset.read_shard(part, columns=("k", name)):
            at = rows_of(batch, table)
            rank = column(table, "rank")[at]
            rows = np.flatnonzero((at >= 0) & (rank == column(table, "exact_keeper")[at]))
            yield rank[rows], batch.column(name).take(pa.array(rows))


def _mixed(values: np.ndarray, seed: int) -> np.ndarray:
    """A hash of each value, so that a sample is no matter of order (SplitMix64)."""
    x = values.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


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


def _suggest(settings: Sequence[Measured], present: Setting, unit: str) -> tuple[Measured, str]:
    """The setting whose drops its neighbours share most, of those whose pairs the version's bands find; the present one
    unless another is clearly steadier. Among equal ones the nearest to the present one.
    """

    def away(one: Measured) -> tuple[float, int]:
        return abs(one.setting.threshold - present.threshold), abs(one.setting.shingle - present.shingle)

    able = [one for one in settings if one.dropped and one.expected_recall >= LEAST_RECALL]
    if not able:
        nearest = min(settings, key=away)
        if not any(one.dropped for one in settings):
            return nearest, "No setting drops anything of this sample, so nothing speaks against the present one."
        return nearest, (
            f"None suggested: the version's bands find less than {LEAST_RECALL:.0%} of the pairs of every setting. "
            f"Take more bands of fewer rows, or higher thresholds."
        )
    if len(settings) == 1:
        return able[0], f"Only {able[0].setting} was measured: there is no neighbour to compare it with."
    if (most := max(one.dropped for one in able)) < LEAST_DROPS:
        nearest = min(able, key=away)
        return nearest, (
            f"No setting drops more than {plural(most, 'document')} of this sample, too few to tell settings apart. "
            f"The nearest to the present {present}: {nearest.setting}. Sweep a version with more near duplicates, or "
            f"look at pairs: corpus dedup sample."
        )
    best = min(able, key=lambda one: (round(one.unsettled, 6), *away(one)))
    own = next((one for one in able if one.setting == present), None)
    if own and own.unsettled - best.unsettled < WORTH_A_CHANGE:
        best = own
    edit = (
        f" A text of {plural(best.words_for_an_edit, 'word')} or more stays near after one word is replaced."
        if unit == "word"
        else ""
    )
    verdict = "Suggested" if best.unsettled < SETTLED else "No clear default; the steadiest"
    return best, (
        f"{verdict}: {best.setting}. One step to a neighbouring setting changes {best.unsettled:.1%} of its drops; "
        f"keepers unlike their cluster in length: {best.keepers_unlike:,}. It differs from the present {present} in "
        f"{plural(best.changed, 'verdict')}.{edit} Look at pairs near the threshold before you change it: corpus "
        f"dedup sample."
    )
