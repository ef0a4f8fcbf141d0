"""Evidence of the golden corpus (tests/golden/make_corpus_shard): three rows kept, one dropped for each reason."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from formats import dataset, evidence, evidence_schemas
from formats.stage_tables import COUNTED_SIGNALS, PII_KINDS

KEPT = {"books:0": (0, "val"), "web:10": (1, "train"), "web:2": (2, "train")}
DROPPED = {
    "web:0": {"verdict": "language_not_allowed"},
    "web:1": {"verdict": "exact_duplicate", "keeper_id": "web:2", "keeper_raw_part": 0},
    "web:3": {"verdict": "near_duplicate", "keeper_id": "web:2", "keeper_raw_part": 0, "keeper_jaccard": 900_000},
    "web:4": {"verdict": "contaminated", "eval_set": "quiz", "eval_item": "7", "span_start": 0, "span_end": 90},
}


def document(row_id: str, **fields: Any) -> dict[str, Any]:
    source, k = row_id.split(":")
    row: dict[str, Any] = dict.fromkeys(evidence_schemas.DOCUMENTS.names)
    row |= dict.fromkeys(COUNTED_SIGNALS, 0) | dict.fromkeys((f"pii_{kind}" for kind in PII_KINDS), 0)
    row |= {"id": row_id, "doc_id": f"{int(k):032x}", "source_id": source, "url": f"https://example.org/{k}"}
    row |= {"raw_part": 0, "raw_line": int(k), "text_digest": bytes(32), "n_chars": 19, "n_words": 5, "lang": "en"}
    return {**row, "lang_score": 990, "rules_failed": 0, "rules_not_applied": 0, "verdict": "kept", **fields}


def documents() -> list[dict[str, Any]]:
    kept = [document(i, row=row, shard=row // 2, split=split) for i, (row, split) in KEPT.items()]
    return kept + [document(row_id, **fields) for row_id, fields in DROPPED.items()]


ROWS: dict[str, list[dict[str, Any]]] = {
    "documents": documents(),
    "files": [
        {
            "source_id": "web",
            "url": "web.jsonl",
            "sha256": bytes(32),
            "num_bytes": 900,
            "records": 7,
            "documents": 6,
            "rejects": 1,
            "unique_documents": 2,
            "near_duplicates": 1,
        }
    ],
    "clusters": [{"root": "web:2", "size": 3, "keepers": 2, "largest_distance": 100_000}],
    "lineage": [
        {"shard": 0, "source_id": "books", "license_spdx": "CC0-1.0", "ledger_row_digest": bytes(32), "rows": 1},
        {"shard": 0, "source_id": "web", "license_spdx": "CC-BY-4.0", "ledger_row_digest": bytes(32), "rows": 1},
        {"shard": 1, "source_id": "web", "license_spdx": "CC-BY-4.0", "ledger_row_digest": bytes(32), "rows": 1},
    ],
}
OPTIONAL: dict[str, list[dict[str, Any]]] = {
    "listed_sites": [
        {"id": "web:3", "reason": "opt_out", "list": "asked", "line": 1, "what": "example.org", "since": "2026-11-30",
         "why": "by mail"},
        {"id": "web:4", "reason": "blocked_site", "list": "bad", "line": 2, "what": "example.net"},
    ],
    "capped_documents": [{"id": "web:2", "domain": "example.org", "place": 3}],
    "near_items": [
        {"id": "web:2", "eval_set": "quiz", "eval_item": "7", "shared_ngrams": 3, "item_ngrams": 4, "share": 750_000,
         "span_start": 2, "span_end": 60},
    ],
    "mixed_languages": [
        {"id": "web:3", "certain": "en", "certain_share": 510, "likely": "fr", "likely_share": 333},
    ],
    "extraction": [{"id": "web:2", "expected_error": 123, "extractor": "blocks"}],
    "listed_words": [
        {"id": "web:1", "list": "bad", "listed_words": 2, "n_words": 8, "listed_word_ratio": 250_000, "too_many": True},
    ],
}  # fmt: skip


def table(name: str, rows: list[dict[str, Any]] | None = None) -> pa.Table:
    return pa.Table.from_pylist({**ROWS, **OPTIONAL}[name] if rows is None else rows, evidence_schemas.TABLES[name])


def write(folder: Path, tables: dict[str, list[dict[str, Any]]] | None = None) -> None:
    """All tables (some replaced by `tables`), two JSON files, and the seal."""
    for name, rows in {**ROWS, **(tables or {})}.items():
        if name != "documents":
            evidence.write(folder, name, table(name, rows).to_batches())
            continue
        for part, some in enumerate((rows[:2], rows[2:])):
            path = folder / "documents" / evidence.PART_PATTERN.format(id=part)
            dataset.write_shard(
                part, path, table(name, some).to_batches(), evidence_schemas.DOCUMENTS, row_group_bytes=1 << 20
            )
    write_json(folder, evidence.COUNTS, {"web": {"é": 1}})
    write_json(folder, evidence.STAGE_VERSIONS, {})
    seal_as_it_lies(folder)


def write_json(folder: Path, name: str, value: Any) -> None:
    (folder / name).write_bytes(evidence.json_bytes(value))


def seal_as_it_lies(folder: Path) -> None:
    """Seal whatever lies in the folder: what a forger does, or a test that needs other evidence."""
    names = evidence.names_in(folder)
    evidence.seal(folder, {name: evidence.entry_of((folder / name).read_bytes()) for name in names})
