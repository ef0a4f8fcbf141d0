"""scrub_documents: kept rows are scrubbed, hashed and split; contaminated ones leave their text behind."""

import hashlib

import pyarrow as pa
import pytest

from corpus_assets.stages.scrub_documents import scrub_documents
from formats.corpus_shard import split_of
from formats.stage_tables import PII_KINDS, SCRUBBED

RULES = {"ips": "public", "phone_regions": ("US",), "code": False, "val_permille": 300}


def batch(*rows: tuple[str, str | None]) -> pa.RecordBatch:
    """(text, the evaluation set it meets or None) -> the stage's input."""
    contaminated = [eval_set is not None for _, eval_set in rows]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(range(len(rows)), pa.int64()),
            pa.array([text for text, _ in rows], pa.large_string()),
            pa.array([eval_set for _, eval_set in rows], pa.large_string()),
            pa.array(["q/7" if c else None for c in contaminated], pa.large_string()),
            pa.array([3 if c else None for c in contaminated], pa.int64()),
            pa.array([9 if c else None for c in contaminated], pa.int64()),
        ],
        names=["k", "text", "eval_set", "eval_item", "span_start", "span_end"],
    )


def test_a_kept_document_is_hashed_and_counted_after_scrubbing():
    [row] = scrub_documents(batch(("Écrire à léa@exemple.fr, ou lea@exemple.fr", None)), **RULES).to_pylist()
    text = "Écrire à <EMAIL>, ou <EMAIL>"
    digest = hashlib.sha256(text.encode()).digest()
    assert (row["verdict"], row["text"], row["n_chars"], row["sha256"]) == ("kept", text, len(text), digest)
    assert [row[f"pii_{kind}"] for kind in PII_KINDS] == [2, 0, 0, 0, 0]
    assert row["split"] == split_of(digest, 300)


def test_a_contaminated_document_keeps_its_evidence_and_no_text():
    out = scrub_documents(batch(("Tom has a red ball.", None), ("ask ann@example.org for 13 words", "gsm8k")), **RULES)
    row = out.to_pylist()[1]
    assert (row["verdict"], row["eval_set"], row["eval_item"]) == ("contaminated", "gsm8k", "q/7")
    assert (row["span_start"], row["span_end"]) == (3, 9)
    assert (row["text"], row["sha256"], row["split"], row["n_chars"]) == (None, None, None, 0)
    assert all(row[f"pii_{kind}"] == 0 for kind in PII_KINDS)


@pytest.mark.parametrize("rows", [[], [("", None)], [("a", "set")], [("a", None), ("b", "set"), ("c", None)]])
def test_every_row_comes_out_once_in_its_order_and_schema(rows):
    out = scrub_documents(batch(*rows), **RULES)
    assert out.schema == SCRUBBED
    assert out["k"].to_pylist() == list(range(len(rows)))
    out.validate(full=True)


def test_the_worked_example_gets_its_splits():
    texts = ("Mia naps.", "Tom has a red ball!", "Tom has a red ball.")
    out = scrub_documents(batch(*((text, None) for text in texts)), **RULES)
    assert out["split"].to_pylist() == ["val", "train", "train"]


def test_cuts_into_batches_do_not_show():
    rows = [("call 555-123-4567", None), ("x", "set"), ("", None), ("mail ann@example.org", None)]
    whole = scrub_documents(batch(*rows), **RULES)
    parts = [scrub_documents(batch(*rows).slice(i, 1), **RULES) for i in range(len(rows))]
    assert pa.Table.from_batches(parts).combine_chunks() == pa.Table.from_batches([whole]).combine_chunks()
