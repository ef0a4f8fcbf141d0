"""How much of a page's main text the block extractor expects to get wrong: rows for the evidence, and what they say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpus_assets.plans.evidence_lookup import rows_about
from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.stages.place_rows import make_ids
from formats import evidence_schemas, judged_pages
from formats.judged_pages import BLOCKS, RESILIPARSE, TRAFILATURA
from formats.raw_set import RawSet

TABLE = "extraction"
_BY = {
    BLOCKS: "by its blocks",
    RESILIPARSE: "by Resiliparse, the second opinion",
    TRAFILATURA: "by trafilatura, the second opinion",
}


def extraction_rows(raw: Sequence[RawSet]) -> Iterator[pa.RecordBatch]:
    """The evidence's rows of these raw sets, by their order, then by k: of pages that the block extractor judged."""
    for one in raw:
        for batch in judged_pages.read(one.judged, one.documents) if one.judged else ():
            columns = [
                make_ids(one.source_id, batch.column("k")),
                batch.column("expected_error"),
                batch.column("extractor"),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=evidence_schemas.EXTRACTION)


@dataclass(frozen=True)
class Extraction:
    """`expected_error` in thousandths; `extractor` is whose text was taken."""

    expected_error: int
    extractor: str

    @property
    def words(self) -> str:
        wrong = f"the block model expects {self.expected_error / 10:g} % of its main text to be wrong"
        return f"{_BY[self.extractor]}; {wrong}"


def extraction_of(version: PublishedVersion, row: dict[str, Any]) -> Extraction | None:
    """What the version's evidence says of a row of the documents table."""
    if not evidence_schemas.table_names(TABLE, version.sealed):
        return None
    for found in rows_about(version, TABLE, row["id"]):
        return Extraction(found["expected_error"], found["extractor"])
    return None
