"""Dedup labels: what people said of sampled pairs, and how often a drop was wrong. Spec: dedup_labels.md."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from formats import durable
from formats.errors import ConfigError
from formats.json_fields import Choice, Listing, Text, Whole
from formats.json_kinds import HEX_SHA256
from formats.json_tables import table

VERSION = 1
FORMAT = "dedup-labels"
DUPLICATE, DIFFERENT, UNSURE = "duplicate", "different", "unsure"
LABELS = (DUPLICATE, DIFFERENT, UNSURE)
RANDOM, LENGTH = "random", "length"
"""How a pair was drawn: from all near duplicates alike, or since its keeper is unlike its cluster in length."""
Z_95 = 1.959963984540054
_ID = Text(r"[a-z0-9][a-z0-9_-]*:(?:0|[1-9][0-9]*)", "<source>:<k>")


@dataclass(frozen=True)
class Label:
    """One pair; `jaccard` in millionths."""

    dropped: Annotated[str, _ID]
    keeper: Annotated[str, _ID]
    drawn: Annotated[str, Choice((RANDOM, LENGTH))]
    jaccard: Annotated[int, Whole(0, 1_000_000)]
    label: Annotated[str, Choice(LABELS)]


@dataclass(frozen=True)
class DedupLabels:
    """One exported file; `manifest_sha256` is that of the version's manifest when the pairs were drawn."""

    format: Annotated[str, Choice((FORMAT,))]
    version: Annotated[int, Whole(VERSION, VERSION)]
    corpus: Annotated[str, Text(says="<dataset>.<version>")]
    manifest_sha256: Annotated[str, HEX_SHA256]
    seed: Annotated[int, Whole()]
    labels: Annotated[tuple[Label, ...], Listing(table(Label), min_items=1)]


def read(path: Path) -> DedupLabels:
    """Raises ConfigError that names every field that is wrong, and a pair that is labelled twice."""
    try:
        document = durable.json_value(path.read_bytes())
    except OSError as error:
        told = f"{path}: cannot be read ({error.strerror}); give the file that the page of `corpus dedup sample` saved"
        raise ConfigError(told) from None
    except (ValueError, RecursionError) as error:
        where = f" at line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ConfigError(
            f"{path}: is no JSON{where}; expected what the page of `corpus dedup sample` saved; "
            "save the labels from the page again"
        ) from None
    if found := list(table(DedupLabels).problems(document, "")):
        told = "; ".join(f"{field}: {wrong}" if field else wrong for field, wrong in found)
        raise ConfigError(f"{path}: {told}; save the labels from the page again")
    labels: DedupLabels = table(DedupLabels).build(document)
    pairs = [(one.dropped, one.keeper) for one in labels.labels]
    if len(set(pairs)) < len(pairs):
        twice = next(pair for pair in pairs if pairs.count(pair) > 1)
        raise ConfigError(f"{path}: labels: the pair {' and '.join(twice)} stands twice; leave one")
    return labels


@dataclass(frozen=True)
class Rate:
    """Wrong drops among those that somebody decided on, with Wilson's interval at 95 per cent."""

    wrong: int
    decided: int
    unsure: int

    @property
    def value(self) -> float | None:
        return self.wrong / self.decided if self.decided else None

    @property
    def interval(self) -> tuple[float, float]:
        """(0, 1) where nothing was decided."""
        return wilson(self.wrong, self.decided)

    def as_json(self) -> dict[str, Any]:
        low, high = self.interval
        counts = {"wrong": self.wrong, "decided": self.decided, "unsure": self.unsure}
        return {**counts, "rate": self.value, "low": low, "high": high}


def wilson(hits: int, draws: int, z: float = Z_95) -> tuple[float, float]:
    """The interval in which the true share lies, by Wilson's score: right for small numbers and for no hit at all."""
    if draws == 0:
        return 0.0, 1.0
    share, spread = hits / draws, z * z / draws
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / draws + spread / (4 * draws)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def false_positives(labels: Sequence[Label], drawn: str) -> Rate:
    """How many of the pairs drawn so are no duplicates."""
    mine = [one.label for one in labels if one.drawn == drawn]
    unsure = mine.count(UNSURE)
    return Rate(mine.count(DIFFERENT), len(mine) - unsure, unsure)
