"""Documents without a web address, which site lists, caps of domains and a takedown by URL pass over."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.for_people import plural
from corpus_assets.stages.web_addresses import has_address
from formats.corpus_config import CorpusConfig
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


def asks_for_sites(config: CorpusConfig) -> str:
    """What of a version decides by the site of a document, in words; empty where nothing does."""
    lists = ["site lists"] if config.sites.configured else []
    return " and ".join([*lists, *(["the cap of domains"] if config.domain_cap.configured else [])])


def in_words(rules: str, row: LedgerRow, without: int, total: int) -> str:
    """That the rules pass over a source, or over some of its documents."""
    if without == total:
        none = f"none of its {plural(total, 'document')} has a web address"
        return f"{rules} apply to no document of source {row.source_id}: {none}"
    return f"{rules} cannot meet {without:,} of {plural(total, 'document')} of source {row.source_id}: no web address"
