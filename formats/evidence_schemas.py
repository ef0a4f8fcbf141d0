"""The tables of a version's evidence: Parquet with whole numbers only. Spec: evidence.md."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from formats.errors import ConfigError
from formats.stage_tables import COUNTED_SIGNALS, NULLABLE, PII_KINDS, SHA256, table_of

VERSION = 1
FORMAT = "evidence"


def _schema(name: str, *columns: tuple[str, pa.DataType] | tuple[str, pa.DataType, bool]) -> pa.Schema:
    return table_of(*columns).with_metadata({"format": f"{FORMAT}.{name}", "version": str(VERSION)})


DOCUMENTS = _schema(
    "documents",
    ("id", pa.large_string()),
    ("doc_id", pa.large_string()),
    ("source_id", pa.large_string()),
    ("url", pa.large_string()),
    ("raw_part", pa.int32()),
    ("raw_line", pa.int64()),
    ("text_digest", SHA256),
    ("n_chars", pa.int64()),
    ("n_words", pa.int64()),
    ("lang", pa.large_string()),
    ("lang_score", pa.int32(), NULLABLE),
    *((name, pa.int64()) for name in COUNTED_SIGNALS),
    ("quality", pa.int32(), NULLABLE),
    ("rules_failed", pa.int64()),
    ("rules_not_applied", pa.int64()),
    ("verdict", pa.large_string()),
    ("cluster", pa.large_string(), NULLABLE),
    ("keeper_id", pa.large_string(), NULLABLE),
    ("keeper_raw_part", pa.int32(), NULLABLE),
    ("keeper_jaccard", pa.int32(), NULLABLE),
    ("eval_set", pa.large_string(), NULLABLE),
    ("eval_item", pa.large_string(), NULLABLE),
    ("span_start", pa.int64(), NULLABLE),
    ("span_end", pa.int64(), NULLABLE),
    *((f"pii_{kind}", pa.int32(), NULLABLE) for kind in PII_KINDS),
    ("split", pa.large_string(), NULLABLE),
    ("shard", pa.int32(), NULLABLE),
    ("row", pa.int64(), NULLABLE),
)
"""One row a raw document, kept or not. Ratios and Jaccard in millionths, lang_score and quality in thousandths."""
DOCUMENTS_BY_MODELS = DOCUMENTS.append(pa.field("ppl", pa.int32()))
"""DOCUMENTS of a version whose config has models: perplexity in thousandths, null where not measured."""
DOCUMENTS_WITH_SAFETY = DOCUMENTS_BY_MODELS.append(pa.field("safety", pa.int32()))
"""DOCUMENTS_BY_MODELS of a version whose config has a model of safety: its score in thousandths."""


def documents_with(measured: Iterable[str]) -> pa.Schema:
    """The columns of `documents` in a version of which these signals of models are told."""
    names = set(measured)
    if "safety" in names:
        return DOCUMENTS_WITH_SAFETY
    return DOCUMENTS_BY_MODELS if "ppl" in names else DOCUMENTS


FILES = _schema(
    "files",
    ("source_id", pa.large_string()),
    ("url", pa.large_string()),
    ("sha256", SHA256),
    ("num_bytes", pa.int64()),
    ("records", pa.int64()),
    ("documents", pa.int64()),
    ("rejects", pa.int64()),
    ("unique_documents", pa.int64()),
    ("near_duplicates", pa.int64()),
)
"""One row a fetched file: records = documents + rejects."""
CLUSTERS = _schema(
    "clusters",
    ("root", pa.large_string()),
    ("size", pa.int64()),
    ("keepers", pa.int64()),
    ("largest_distance", pa.int32()),
)
"""One row a cluster of two documents or more; largest_distance is 1 - Jaccard of its weakest edge, in millionths."""
LINEAGE = _schema(
    "lineage",
    ("shard", pa.int32()),
    ("source_id", pa.large_string()),
    ("license_spdx", pa.large_string()),
    ("ledger_row_digest", SHA256),
    ("rows", pa.int64()),
)
"""Per shard and ledger row, how many rows of the shard came from it."""
LISTED_SITES = _schema(
    "listed_sites",
    ("id", pa.large_string()),
    ("reason", pa.large_string()),
    ("list", pa.large_string()),
    ("line", pa.int64()),
    ("what", pa.large_string()),
    ("since", pa.large_string(), NULLABLE),
    ("why", pa.large_string(), NULLABLE),
)
"""One row a document that was dropped for its site: the entry of the list, as its line says it."""
LISTED_WORDS = _schema(
    "listed_words",
    ("id", pa.large_string()),
    ("list", pa.large_string()),
    ("listed_words", pa.int64()),
    ("n_words", pa.int64()),
    ("listed_word_ratio", pa.int64()),
    ("too_many", pa.bool_()),
)
"""One row a document and word list that share a word, whatever became of the document."""
CAPPED_DOCUMENTS = _schema(
    "capped_documents", ("id", pa.large_string()), ("domain", pa.large_string()), ("place", pa.int64())
)
"""One row a document that was dropped for the cap of its registered domain; its place in the domain's order, from 0."""
NEAR_ITEMS = _schema(
    "near_items",
    ("id", pa.large_string()),
    ("eval_set", pa.large_string()),
    ("eval_item", pa.large_string()),
    ("shared_ngrams", pa.int64()),
    ("item_ngrams", pa.int64()),
    ("share", pa.int64()),
    ("span_start", pa.int64()),
    ("span_end", pa.int64()),
)
"""One row a document that stayed and holds much of a protected item; `share` in millionths."""
MIXED_LANGUAGES = _schema(
    "mixed_languages",
    ("id", pa.large_string()),
    ("certain", pa.large_string()),
    ("certain_share", pa.int32()),
    ("likely", pa.large_string()),
    ("likely_share", pa.int32()),
)
"""One row a document that is `und` for being in two languages; shares of its letters in thousandths."""
EXTRACTION = _schema(
    "extraction",
    ("id", pa.large_string()),
    ("expected_error", pa.int32()),
    ("extractor", pa.large_string()),
)
"""One row a raw document that the block extractor judged: what it expects wrong, in thousandths, and whose text it has.
"""
SCHEMAS = {"documents": DOCUMENTS, "files": FILES, "clusters": CLUSTERS, "lineage": LINEAGE}
"""Tables of every version."""

OPTIONAL = {
    "listed_sites": LISTED_SITES,
    "listed_words": LISTED_WORDS,
    "capped_documents": CAPPED_DOCUMENTS,
    "near_items": NEAR_ITEMS,
    "mixed_languages": MIXED_LANGUAGES,
    "extraction": EXTRACTION,
}
"""Tables of versions whose config asks for them; near_items and extraction of those that have such documents."""
TABLES = SCHEMAS | OPTIONAL


def table_names(name: str, files: Iterable[str]) -> list[str]:
    """Which of `files` hold the table `name`, in row order: the parts of `documents`, one file for every other."""
    if name not in TABLES:
        raise ConfigError(f"{name!r} is no table of the evidence; there are {', '.join(TABLES)}")
    if name == "documents":
        return sorted((f for f in files if f.startswith("documents/part-")), key=lambda f: (len(f), f))
    return [f for f in files if f == f"{name}.parquet"]


def schema_of(name: str, path: Path) -> pa.Schema:
    """The columns that a file of the table has to have; what cannot be read is for its reader to say."""
    if name != "documents":
        return TABLES[name]
    try:
        columns = pq.read_schema(path).names
    except (pa.ArrowException, OSError):
        columns = []
    return documents_with(columns)
