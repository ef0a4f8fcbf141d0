"""Documents without a web address, which site lists, caps of domains and a takedown by URL pass over."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.web_addresses import has_address
from formats.ledger import LedgerRow

MAPPED = ("jsonl", "parquet")
"""Kinds whose records say their URL in a field that the ledger row names."""


def names_places(row: LedgerRow) -> bool:
    """Whether all documents of the source are named by file and line, also where the file lies at a web address."""
    return row.kind in MAPPED and row.fields.url is None


def count_without(row: LedgerRow, urls: Iterable[pa.Array]) -> tuple[int, int]:
    """(documents without a web address, documents) of a source, of the `url` of its documents, batch by batch."""
    without = total = 0
    for batch in urls:
        total += len(batch)
        without += len(batch) if names_places(row) else len(batch) - (pc.sum(has_address(batch)).as_py() or 0)
    return without, total


def what_to_do(row: LedgerRow) -> str:
    """How the documents of a source get a web address."""
    if row.kind in MAPPED:
        return (
            "map the field that holds it (`fields: {url: …}` in the ledger row, `--url-field` of `corpus ledger add`)"
        )
    return "its files name none"
