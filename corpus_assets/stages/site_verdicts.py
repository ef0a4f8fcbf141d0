"""Verdicts where a version has site lists: what lies at a listed site leaves for that, before any other rule.

It does not take part in exact dedup within the source either, so that the same text at another site is no duplicate of
a document that is not there.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.exact_duplicates import digest_rows
from corpus_assets.stages.filter_documents import filter_documents
from corpus_assets.stages.side_rows import rows_of, take_or_null
from formats.stage_tables import VERDICTS

CODE_VERSION = "1"


def digest_rows_elsewhere(batch: pa.RecordBatch, matches: pa.Table, *, part: int, num_buckets: int) -> pa.RecordBatch:
    """As `exact_duplicates.digest_rows`, of the documents that lie at no listed site. matches: SITE_MATCHES."""
    return digest_rows(batch.filter(pa.array(rows_of(batch, matches) < 0)), part=part, num_buckets=num_buckets)


def filter_sites_first(batch: pa.RecordBatch, duplicates: pa.Table, matches: pa.Table, **rules: Any) -> pa.RecordBatch:
    """As `filter_documents.filter_documents`, but that a document at a listed site has the list's reason."""
    judged = filter_documents(batch, duplicates, **rules)
    listed = take_or_null(matches, "reason", rows_of(batch, matches))
    columns = {name: judged.column(name) for name in VERDICTS.names}
    columns["verdict"] = pc.coalesce(listed, columns["verdict"])
    return pa.RecordBatch.from_arrays([columns[name] for name in VERDICTS.names], schema=VERDICTS)
