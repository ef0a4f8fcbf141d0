"""A document's row is found wherever its part lies."""

from corpus_assets.plans.evidence_lookup import DocumentRows
from corpus_assets.plans.published_version import open_published
from formats.layout import Layout
from tests.plans import dedup_runs
from tests.plans.naive_dedup import Doc, Rules, Source

TEXTS = [" ".join(f"word{n}x{i}" for i in range(40)) for n in range(30)]


def test_every_document_of_a_source_of_several_parts_is_found(tmp_path):
    docs = [Doc(text) for text in (*TEXTS, *TEXTS[-3:])]
    sources = [Source("books", 1, (tuple(docs[:4]),)), Source("web", 2, (tuple(docs),))]
    dedup_runs.run(tmp_path / "root", sources, Rules(), part_bytes=3_000)
    layout = Layout(tmp_path / "root")
    rows = DocumentRows(open_published(layout, dedup_runs.V1))
    assert len(list(layout.evidence(dedup_runs.V1).glob("documents/*"))) > 4
    found = [rows.at("web", k) for k in range(len(docs))]
    assert [row["id"] for row in found] == [f"web:{k}" for k in range(len(docs))]
    assert [row["raw_part"] for row in found] == sorted(row["raw_part"] for row in found)
    assert found[-1]["raw_part"] > 1
    assert (found[-1]["verdict"], found[-1]["keeper_id"]) == ("exact_duplicate", "web:29")
    assert rows.at("web", len(docs)) is None
