"""Documents that hold much of a protected item without a run of it: in the evidence, and told by trace and verify."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.commands.trace_words import document_lines
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import audit_text
from corpus_assets.plans.tracing import trace
from formats import corpus_shard, evidence, evidence_schemas
from formats.layout import Layout
from tests.formats import evidence_rows
from tests.plans import tiny_corpus
from tests.plans.tiny_corpus import FABLES, FERRY, QUIZ, V1, WEB

EDITED = QUIZ.replace("hang above", "sway over")
"""No 13 words of it are those of the item."""
NEAR = {
    "url": "https://example.org/near",
    "text": f"{FERRY.replace('mules', 'goats').replace('trade', 'boats')} {EDITED}",
}


def make(root: Path, workers: int = 1) -> Layout:
    layout = tiny_corpus.write_inputs(root, {"fables": FABLES, "web": [*WEB, NEAR]})
    config = json.loads(layout.config(V1).read_text())
    config["dedup"] = {"near": {"drop": False}}
    layout.config(V1).write_text(json.dumps(config))
    tiny_corpus.build(layout, V1, workers)
    return layout


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return make(tmp_path_factory.mktemp("near") / "root")


def near_rows(layout: Layout) -> list[dict]:
    return pa.Table.from_batches(evidence.read(layout.evidence(V1), "near_items")).to_pylist()


def documents(layout: Layout) -> list[dict]:
    return pa.Table.from_batches(evidence.read(layout.evidence(V1), "documents")).to_pylist()


def text_of(layout: Layout, row_id: str) -> str:
    return next(doc.text for doc in corpus_shard.read_shards(layout.version(V1)) if doc.id == row_id)


def test_item_share_and_span_of_the_published_text_stand_in_the_evidence(layout):
    [row] = near_rows(layout)
    assert (row["id"], row["eval_set"], row["eval_item"]) == ("web:4", "quiz", "0.question")
    assert (row["shared_ngrams"], row["item_ngrams"]) == (8, 14)
    assert row["share"] == 1_000_000 * 8 // 14
    held = text_of(layout, "web:4")[row["span_start"] : row["span_end"]]
    assert held == EDITED.removesuffix("?")


def test_trace_says_it_and_verify_passes(layout):
    [found] = trace(layout, "web:4", [V1]).documents
    [row] = near_rows(layout)
    words = f"8 of 14 5-grams of quiz:0.question, characters {row['span_start']:,} to {row['span_end']:,}"
    assert ("near item", words) in list(document_lines(found, whole_text=False))
    assert found.verdict == "kept"
    assert [one.near_item for one in trace(layout, "web:2", [V1]).documents] == [None]
    report = verify_version(layout, V1)
    assert report.ok, [problem for check in report.checks for problem in check.problems]


def test_the_check_over_the_shards_finds_the_same(layout):
    found = audit_text.no_contamination(layout, V1)
    assert (found.passed, found.figures["near"]) == (True, 1)
    assert "web:4 has 8 of 14 of quiz:0.question" in found.words


def test_verify_finds_a_row_of_a_document_that_did_not_stay(tmp_path):
    layout = make(tmp_path / "root")
    [row] = near_rows(layout)
    leak = next(row["id"] for row in documents(layout) if row["verdict"] == "contaminated")
    table = pa.Table.from_pylist([row, {**row, "id": leak}], evidence_schemas.NEAR_ITEMS)
    evidence.write(layout.evidence(V1), "near_items", table.to_batches())
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    problems = [problem for check in verify_version(layout, V1).checks for problem in check.problems]
    assert any(f"near_items names {leak}, which decontamination did not let through" in str(one) for one in problems)


def test_one_and_two_workers_give_the_same_evidence(layout, tmp_path):
    other = make(tmp_path / "root", workers=2)
    assert (layout.evidence(V1) / evidence.SEAL).read_bytes() == (other.evidence(V1) / evidence.SEAL).read_bytes()


def test_a_version_without_such_documents_has_no_such_table(tmp_path):
    layout = tiny_corpus.copy(tmp_path / "root")
    assert not (layout.evidence(V1) / "near_items.parquet").exists()
