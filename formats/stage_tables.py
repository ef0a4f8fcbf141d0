"""Schemas of the tables that stages hand to each other, once. large_string and int64 inside; cast at the borders."""

import pyarrow as pa

from formats.reasons import RULES


def table_of(*columns: tuple[str, pa.DataType] | tuple[str, pa.DataType, bool]) -> pa.Schema:
    """Columns are not nullable unless they say so."""
    return pa.schema([pa.field(c[0], c[1], nullable=len(c) > 2 and bool(c[2])) for c in columns])


SHA256 = pa.binary(32)
NULLABLE = True
SIGNATURE_BYTES = 4 * 128

RAW = table_of(
    ("raw_line", pa.int64()),
    ("url", pa.large_string()),
    ("fetched_at", pa.large_string()),
    ("license_spdx", pa.large_string()),
    ("text", pa.large_string()),
)
"""A raw part as its reader gives it; raw_line counts from 0 in its part."""

DOCUMENTS = table_of(
    ("k", pa.int64()),
    ("doc_id", pa.large_string()),
    ("url", pa.large_string()),
    ("crawl_date", pa.large_string()),
    ("raw_part", pa.int32()),
    ("raw_line", pa.int64()),
    ("text", pa.large_string()),
    ("text_digest", SHA256),
    ("n_chars", pa.int64()),
)
"""Normalized text of every raw document; k is its position in the raw set. crawl_date is RFC 3339, UTC, in seconds."""

_KEPT_APART = ("n_chars", "n_words", "lang", "lang_score")
COUNTED_SIGNALS = (
    *dict.fromkeys(rule.signal for rule in RULES if rule.signal not in _KEPT_APART),
    "single_word_ratio",
)
"""What the text-signals kernel counts beside n_words: whole numbers scaled as their rule says."""

SIGNALS = table_of(
    ("k", pa.int64()),
    ("doc_id", pa.large_string()),
    ("crawl_date", pa.large_string()),
    ("exact_digest", SHA256),
    ("n_chars", pa.int64()),
    ("n_words", pa.int64()),
    ("lang", pa.large_string()),
    ("lang_score", pa.int32(), NULLABLE),
    ("quality", pa.int32(), NULLABLE),
    *((name, pa.int64()) for name in COUNTED_SIGNALS),
)
"""What is measured about each document, once. lang_score and quality are in thousandths; null means not measured."""

SIGNALS_BY_MODELS = SIGNALS.append(pa.field("ppl", pa.int32()))
"""SIGNALS of a version whose config has models: quality, where it was measured, and perplexity in thousandths."""

SIGNALS_WITH_SAFETY = SIGNALS_BY_MODELS.append(pa.field("safety", pa.int32()))
"""SIGNALS_BY_MODELS of a version whose config has a model of safety: its score in thousandths."""

VERDICTS = table_of(
    ("k", pa.int64()),
    ("verdict", pa.large_string()),
    ("rules_failed", pa.int64()),
    ("rules_not_applied", pa.int64()),
    ("keeper_k", pa.int64(), NULLABLE),
)
"""`kept` or the reason; rule bits as in formats.reasons; keeper_k where an equal text of the source stays instead."""

SITE_ENTRIES = table_of(
    ("reason", pa.large_string()),
    ("list", pa.large_string()),
    ("line", pa.int64()),
    ("what", pa.large_string()),
    ("since", pa.large_string(), NULLABLE),
    ("why", pa.large_string(), NULLABLE),
    ("is_domain", pa.bool_()),
    ("host", pa.large_string()),
    ("key", pa.large_string()),
)
"""The lines of a version's site lists, in the order in which they decide; what follows `why` is for look-up."""

SITE_MATCHES = table_of(("k", pa.int64()), ("reason", pa.large_string()), ("entry", pa.int64()))
"""Documents that lie at a listed site; entry is a row of SITE_ENTRIES."""

WORD_ENTRIES = table_of(("line", pa.int64()), ("entry", pa.large_string()))
"""The entries of a word list."""

LISTED_WORDS = table_of(
    ("k", pa.int64()),
    ("list", pa.large_string()),
    ("listed_words", pa.int64()),
    ("n_words", pa.int64()),
    ("too_many", pa.bool_()),
)
"""A document that shares a word with a list of its language, and how many of its words are part of a listed entry."""

MIXED_LANGUAGES = table_of(
    ("k", pa.int64()),
    ("certain", pa.large_string()),
    ("certain_share", pa.int32()),
    ("likely", pa.large_string()),
    ("likely_share", pa.int32()),
)
"""A document in two languages, and the share of its letters in pieces of each, in thousandths."""

SIGNATURES = table_of(("k", pa.int64()), ("n_shingles", pa.int64()), ("signature", pa.binary(SIGNATURE_BYTES)))
"""128 x uint32, little-endian, of each document still in that has words."""

PII_KINDS = ("email", "phone", "card", "ip", "key")

SCRUBBED = table_of(
    ("k", pa.int64()),
    ("verdict", pa.large_string()),
    ("eval_set", pa.large_string(), NULLABLE),
    ("eval_item", pa.large_string(), NULLABLE),
    ("span_start", pa.int64(), NULLABLE),
    ("span_end", pa.int64(), NULLABLE),
    ("text", pa.large_string(), NULLABLE),
    ("n_chars", pa.int64()),
    ("sha256", SHA256, NULLABLE),
    *((f"pii_{kind}", pa.int32()) for kind in PII_KINDS),
    ("split", pa.large_string(), NULLABLE),
)
"""Documents still in after dedup. A contaminated one has its item and span (code points of the text) and no text."""

NEAR_ITEMS = table_of(
    ("k", pa.int64()),
    ("eval_set", pa.large_string()),
    ("eval_item", pa.large_string()),
    ("shared_ngrams", pa.int64()),
    ("item_ngrams", pa.int64()),
    ("span_start", pa.int64()),
    ("span_end", pa.int64()),
)
"""A kept document that holds much of a protected item: how many of the item's n-grams, and from where to where."""
