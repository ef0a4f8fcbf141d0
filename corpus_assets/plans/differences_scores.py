"""What models said of the documents that differ between two versions: for somebody who compares filters."""

from collections.abc import Iterable

from corpus_assets.plans.evidence_lookup import DocumentRows
from corpus_assets.plans.published_version import PublishedVersion

SCALE = 1_000
"""Scores are stored in thousandths."""


def scores_of(version: PublishedVersion, ids: Iterable[str]) -> dict[str, dict[str, float]]:
    """By id the scores of the models that the version has; a document that a model was not asked about has none."""
    names = version.config().model_filters
    wanted = list(ids)
    if not names or not wanted:
        return {}
    rows = DocumentRows(version).of_ids(wanted, ("id", *names))
    return {row["id"]: {name: row[name] / SCALE for name in names if row[name] is not None} for row in rows}


def in_words(scores: dict[str, float]) -> str:
    """`quality 0.31, ppl 250`; empty where there are none."""
    return ", ".join(f"{name} {score:g}" for name, score in scores.items())
