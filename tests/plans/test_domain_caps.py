"""A version whose registered domains are capped, over all sources."""

import json
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.commands.verify import verify_version
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.datasheet_words import known_limits
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.tracing import trace
from formats import corpus_manifest, evidence, evidence_schemas
from formats.layout import Layout
from tests.plans import site_corpus, tiny_corpus
from tests.plans.site_corpus import V3, write_config


def make(root: Path, workers: int = 1, **cap: int) -> Layout:
    layout = site_corpus.write_inputs(root)
    write_config(layout, domain_cap=cap)
    tiny_corpus.build(layout, V3, workers)
    return layout


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """example.net has two documents, example.org of `web` two."""
    return make(tmp_path_factory.mktemp("caps") / "root", max_documents=1)


def rows(layout: Layout, table: str) -> list[dict]:
    found = evidence.read(layout.evidence(V3), table)
    return pa.Table.from_batches(found, evidence_schemas.TABLES[table]).to_pylist()


def test_a_domain_has_no_more_than_its_cap_and_what_goes_says_so(layout):
    verdicts = {row["id"]: row["verdict"] for row in rows(layout, "documents")}
    over = {name for name, verdict in verdicts.items() if verdict == "over_domain_cap"}
    assert len(over & {"shop:3", "shop:4"}) == 1
    assert len(over & {"web:1", "web:2"}) == 1
    assert len(over) == 2
    assert verdicts["fables:0"] == verdicts["fables:3"] == "kept"  # files have no domain
    assert {row["id"]: row["place"] for row in rows(layout, "capped_documents")} == dict.fromkeys(over, 1)
    assert {row["domain"] for row in rows(layout, "capped_documents")} == {"example.org", "example.net"}


def test_manifest_funnel_and_verify_account_for_them(layout):
    manifest = corpus_manifest.read(layout.version(V3))
    assert list(manifest["filters"])[-1] == "domain_cap"
    assert manifest["filters"]["domain_cap"] == 2
    counts = json.loads((layout.evidence(V3) / evidence.COUNTS).read_text())
    assert counts["documents"] == counts["kept"] + sum(counts["dropped"].values())
    assert sum(measure(open_published(layout, V3)).funnel()[-1].left) == manifest["n_docs"]
    report = verify_version(layout, V3)
    assert report.ok, [problem for check in report.checks for problem in check.problems]


def test_the_datasheet_says_that_it_was_drawn(layout):
    told = list(known_limits(measure(open_published(layout, V3))))
    assert "A registered domain has at most 1 document; which of its documents stay is drawn, not judged." in told


def test_trace_says_that_the_domain_had_enough(layout):
    [gone] = [row["id"] for row in rows(layout, "capped_documents") if row["domain"] == "example.org"]
    [found] = trace(layout, gone, [V3]).documents
    assert found.reason == "its registered domain has as much as the version takes: example.org (place 1 of its draw)"


def test_one_and_two_workers_give_the_same_bytes(layout, tmp_path):
    other = make(tmp_path / "root", workers=2, max_documents=1)
    for place in (layout.lock, lambda key: layout.evidence(key) / evidence.SEAL):
        path = place(V3)
        assert path.read_bytes() == (other.root / path.relative_to(layout.root)).read_bytes()


def test_the_same_stay_when_the_lines_of_a_source_come_in_another_order(layout, tmp_path, monkeypatch):
    """The draw is by content; k, which counts lines, has no part in it. Of two equal stories the first one stays."""
    stays = {row["text_digest"] for row in rows(layout, "documents") if row["verdict"] == "kept"}
    monkeypatch.setattr(site_corpus, "WEB", site_corpus.WEB[::-1])
    monkeypatch.setattr(site_corpus, "SHOP", [site_corpus.SHOP[i] for i in (4, 3, 2, 0, 1)])
    other = make(tmp_path / "root", max_documents=1)
    assert {row["text_digest"] for row in rows(other, "documents") if row["verdict"] == "kept"} == stays


def test_bytes_are_capped_too(tmp_path):
    layout = make(tmp_path / "root", max_bytes=400)
    sizes = defaultdict(int)
    texts = {row["id"]: row["n_chars"] for row in rows(layout, "documents") if row["verdict"] == "kept"}
    for row in rows(layout, "documents"):
        if row["id"] in texts and row["url"].startswith("http"):
            sizes[row["url"].split("/")[2].lower().split(":")[0].split(".", 1)[-1]] += row["n_chars"]
    assert all(n <= 400 for n in sizes.values())
    assert corpus_manifest.read(layout.version(V3))["filters"]["domain_cap"] >= 2


def test_a_version_without_a_cap_has_no_trace_of_it(tmp_path):
    layout = tiny_corpus.copy(tmp_path / "root")
    assert not (layout.evidence(tiny_corpus.V1) / "capped_documents.parquet").exists()
    assert "domain_cap" not in (layout.evidence(tiny_corpus.V1) / evidence.STAGE_VERSIONS).read_text()
