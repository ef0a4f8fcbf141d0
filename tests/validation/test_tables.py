"""Tables held to their values: a bad value in any column is found and named, whatever pandera's environment says."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.validation import tables
from formats import evidence_schemas
from formats.corpus_shard import SCHEMA
from formats.errors import ConfigError, SchemaMismatchError
from formats.stage_tables import COUNTED_SIGNALS
from tests.formats import evidence_rows

SHARD_ROW = {
    "id": "web:0",
    "text": "",
    "source_id": "web",
    "url": "u",
    "license_spdx": "MIT",
    "lang": "und",
    "n_chars": 0,
    "sha256": bytes(32),
    "minhash_cluster": 0,
    "pii_redactions": 0,
    "split": "val",
}
RIGHT = {
    **evidence_rows.ROWS,
    **evidence_rows.OPTIONAL,
    "corpus_shard": [SHARD_ROW, {**SHARD_ROW, "id": "web:1", "lang": "en"}],
}


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table whose nullability is left to the model."""
    schema = tables.ARROW_SCHEMAS[name]
    return pa.Table.from_pylist(rows, pa.schema([f.with_nullable(True) for f in schema]))


@pytest.mark.parametrize("name", RIGHT)
def test_right_rows_pass_as_table_as_batch_and_as_nothing(name):
    right = table(name, RIGHT[name])
    tables.validate(right, name)
    tables.validate(right.to_batches()[0], name)
    tables.validate(right.slice(0, 0), name)


KEPT, EXACT, CONTAMINATED = 0, 4, 6
BAD_VALUES = [
    ("documents", KEPT, {"id": "web"}, "id"),
    ("documents", KEPT, {"id": "web:01"}, "id"),
    ("documents", KEPT, {"doc_id": "0" * 31}, "doc_id"),
    ("documents", KEPT, {"doc_id": "0" * 32 + "\n"}, "doc_id"),
    ("documents", KEPT, {"url": ""}, "url"),
    ("documents", KEPT, {"url": None}, "url"),
    ("documents", KEPT, {"text_digest": None}, "text_digest"),
    ("documents", KEPT, {"n_chars": -1}, "n_chars"),
    ("documents", KEPT, {COUNTED_SIGNALS[-1]: -1}, COUNTED_SIGNALS[-1]),
    ("documents", KEPT, {"lang_score": 1001}, "lang_score"),
    ("documents", KEPT, {"verdict": "rule_7"}, "verdict"),
    ("documents", KEPT, {"verdict": None}, "verdict"),
    ("documents", KEPT, {"split": "test"}, "split"),
    ("documents", KEPT, {"split": None}, "row"),
    ("documents", KEPT, {"shard": None}, "row"),
    ("documents", KEPT, {"source_id": "other"}, "row"),
    ("documents", KEPT, {"keeper_id": "web:2"}, "row"),
    ("documents", KEPT, {"eval_set": "quiz", "eval_item": "1"}, "row"),
    ("documents", KEPT, {"pii_key": -1}, "pii_key"),
    ("documents", EXACT, {"keeper_id": None}, "row"),
    ("documents", EXACT, {"keeper_id": "web:1"}, "row"),
    ("documents", EXACT, {"keeper_jaccard": 1_000_001}, "keeper_jaccard"),
    ("documents", EXACT, {"shard": 0, "row": 1}, "row"),
    ("documents", CONTAMINATED, {"eval_item": None}, "row"),
    ("documents", CONTAMINATED, {"span_end": None}, "row"),
    ("documents", CONTAMINATED, {"span_start": 91}, "row"),
    ("near_items", 0, {"shared_ngrams": 5, "share": 1_250_000}, "share"),
    ("near_items", 0, {"shared_ngrams": 0, "share": 0}, "shared_ngrams"),
    ("near_items", 0, {"share": 740_000}, "row"),
    ("near_items", 0, {"span_end": 2}, "row"),
    ("near_items", 0, {"eval_set": ""}, "eval_set"),
    ("extraction", 0, {"expected_error": 1001}, "expected_error"),
    ("extraction", 0, {"extractor": "readability"}, "extractor"),
    ("files", 0, {"records": 8}, "row"),
    ("files", 0, {"unique_documents": 7}, "row"),
    ("files", 0, {"near_duplicates": 3}, "row"),
    ("files", 0, {"num_bytes": -1}, "num_bytes"),
    ("clusters", 0, {"size": 1}, "size"),
    ("clusters", 0, {"keepers": 0}, "keepers"),
    ("clusters", 0, {"keepers": 4}, "row"),
    ("clusters", 0, {"largest_distance": 1_000_001}, "largest_distance"),
    ("lineage", 0, {"rows": 0}, "rows"),
    ("lineage", 0, {"license_spdx": ""}, "license_spdx"),
    ("lineage", 2, {"ledger_row_digest": None}, "ledger_row_digest"),
    *[("corpus_shard", 1, {name: None}, name) for name in SCHEMA.names],
    ("corpus_shard", 1, {"lang": "english"}, "lang"),
    ("corpus_shard", 1, {"n_chars": -1}, "n_chars"),
    ("corpus_shard", 1, {"id": "books:1"}, "row"),
]


@pytest.mark.parametrize(("name", "row", "change", "field"), BAD_VALUES)
def test_a_bad_value_is_found_and_its_column_named(name, row, change, field):
    rows = [{**values, **change} if i == row else values for i, values in enumerate(RIGHT[name])]
    with pytest.raises(SchemaMismatchError) as caught:
        tables.validate(table(name, rows), name, Path("somewhere"))
    assert (caught.value.field, caught.value.path) == (field, "somewhere")


@pytest.mark.parametrize("name", evidence_schemas.TABLES)
def test_other_columns_order_or_types_are_refused(name):
    right = table(name, RIGHT[name])
    first = right.schema.names[0]
    for wrong in (
        right.drop_columns([first]),
        right.append_column("more", pa.nulls(len(right))),
        right.select(right.schema.names[::-1]),
    ):
        with pytest.raises(SchemaMismatchError, match="columns"):
            tables.validate(wrong, name)
    narrow = {pa.large_string(): pa.string(), pa.int32(): pa.int64()}[right.schema.field(0).type]
    with pytest.raises(SchemaMismatchError, match=f"{first} is {narrow}"):
        tables.validate(right.set_column(0, first, right[first].cast(narrow)), name)


def test_unknown_table_is_refused():
    with pytest.raises(ConfigError, match="no table"):
        tables.validate(table("files", []), "file")


def test_the_environment_cannot_turn_value_checks_off():
    """pandera reads these variables when it is imported."""
    code = (
        "from tests.validation.test_tables import *\n"
        "try: tables.validate(table('clusters', [{**RIGHT['clusters'][0], 'size': 1}]), 'clusters')\n"
        "except SchemaMismatchError as error: print(error.field)"
    )
    env = {**os.environ, "PANDERA_VALIDATION_DEPTH": "SCHEMA_ONLY", "PANDERA_VALIDATION_ENABLED": "False"}
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "size\n"
