"""The protected item of which a published document holds much; from the evidence."""

from dataclasses import dataclass
from typing import Any

from corpus_assets.plans.evidence_lookup import rows_about
from corpus_assets.plans.published_version import PublishedVersion
from formats import evidence_schemas


@dataclass(frozen=True)
class NearItem:
    """How many of the item's n-grams the document has, and from where to where (code points of the published text)."""

    eval_set: str
    eval_item: str
    shared_ngrams: int
    item_ngrams: int
    span_start: int
    span_end: int

    @property
    def words(self) -> str:
        held = f"{self.shared_ngrams:,} of {self.item_ngrams:,} 5-grams of {self.eval_set}:{self.eval_item}"
        return f"{held}, characters {self.span_start:,} to {self.span_end:,}"


def near_item(version: PublishedVersion, row: dict[str, Any]) -> NearItem | None:
    """What the version's evidence says of a row of the documents table."""
    if not evidence_schemas.table_names("near_items", version.sealed):
        return None
    for found in rows_about(version, "near_items", row["id"]):
        return NearItem(**{name: found[name] for name in NearItem.__dataclass_fields__})
    return None
