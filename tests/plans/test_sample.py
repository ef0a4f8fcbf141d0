"""A version of a part of its documents: who is in it, what the others leave as, and that a larger sample holds it."""

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from corpus_assets.commands import diff, verify_evidence
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.datasheet_questions import questions
from corpus_assets.plans.datasheet_words import known_limits
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.tracing import trace
from corpus_assets.stages.sample_documents import is_in_sample
from corpus_assets.validation import corpus_config as config_files
from formats import corpus_manifest, evidence
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from tests.plans import site_corpus, tiny_corpus
from tests.plans.site_corpus import V3, write_config

PERMILLE, SEED = 500, 3
V4 = VersionKey("tiny", "v4")


def make(root: Path, workers: int = 1) -> Layout:
    """V3 takes half of all documents, with site lists; V4 the same half, and asks for longer texts."""
    layout = site_corpus.write_inputs(root)
    sample = {"sample_permille": PERMILLE, "sample_seed": SEED}
    write_config(layout, sites=site_corpus.site_lists(root), **sample)
    config = json.loads(layout.config(V3).read_text())
    longer = {"version": "v4", "profiles": {"prose": {"too_short": 330}}}
    layout.config(V4).write_text(json.dumps({**config, **longer}))
    for key in (V3, V4):
        tiny_corpus.build(layout, key, workers)
    return layout


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return make(tmp_path_factory.mktemp("sample") / "root")


def documents(layout: Layout, key: VersionKey = V3) -> list[dict]:
    found = evidence.read(layout.evidence(key), "documents")
    return pa.Table.from_batches(found).to_pylist()


def in_sample(rows: list[dict], permille: int = PERMILLE, seed: int = SEED) -> set[str]:
    drawn = is_in_sample(pa.array([row["doc_id"] for row in rows], pa.large_string()), permille=permille, seed=seed)
    return {row["id"] for row, inside in zip(rows, drawn, strict=True) if inside}


def test_who_is_not_drawn_leaves_as_not_sampled_unless_a_site_list_names_it(layout):
    rows = documents(layout)
    inside = in_sample(rows)
    assert 0 < len(inside) < len(rows)
    for row in rows:
        at_site = row["verdict"] in ("opt_out", "blocked_site")
        assert at_site or (row["verdict"] == "not_sampled") == (row["id"] not in inside)
    assert any(row["verdict"] in ("opt_out", "blocked_site") and row["id"] not in inside for row in rows)


def test_no_document_of_the_sample_is_a_duplicate_of_one_that_is_not_in_it(layout):
    inside = in_sample(documents(layout))
    assert all(row["keeper_id"] in inside for row in documents(layout) if row["keeper_id"] is not None)


def test_the_manifest_the_funnel_trace_and_the_datasheet_say_that_it_is_a_sample(layout):
    filters = corpus_manifest.read(layout.version(V3))["filters"]
    out = [row["id"] for row in documents(layout) if row["verdict"] == "not_sampled"]
    assert filters["sample"] == len(out)
    version = open_published(layout, V3)
    assert [sum(step.taken) for step in measure(version).funnel() if step.name == "filter sample"] == [len(out)]
    assert "of a thousand documents 500 were looked at" in " ".join(known_limits(measure(version)))
    answers = {one.asks: one.answer for one in questions(measure(version))}
    for asks in ("How was it sampled?", "Is it all there is, or a sample?"):
        assert answers[asks].startswith("A sample: 500 of a thousand documents were drawn")
    [found] = trace(layout, out[0], [V3]).documents
    assert found.reason == "it is not in the sample that the version takes"


def test_verify_holds_the_sample_to_the_draw(layout):
    report = verify_version(layout, V3)
    assert report.ok, [problem for check in report.checks for problem in check.problems]
    told = SimpleNamespace(folder=layout.evidence(V3), of_verdict=lambda: Counter({"not_sampled": 2}))
    config = config_files.load(layout.config(V3), V3)
    assert list(verify_evidence._sample(told, config)) == []
    of_another_seed = list(verify_evidence._sample(told, replace(config, sample_seed=SEED + 1)))
    assert len(of_another_seed) == 2
    assert "the draw takes them" in of_another_seed[0]
    [of_all] = verify_evidence._sample(told, replace(config, sample_permille=1000))
    assert "takes all of them" in of_all


def test_diff_says_what_two_versions_of_one_sample_keep(layout):
    told = diff.differences(layout, str(V3), str(V4), documents=True).documents
    both, one, other = told.kept["both"], told.kept["A alone"], told.kept["B alone"]
    kept = [{row["id"] for row in documents(layout, key) if row["verdict"] == "kept"} for key in (V3, V4)]
    assert (both, one, other) == (len(kept[0] & kept[1]), len(kept[0] - kept[1]), len(kept[1] - kept[0]))
    assert one > 0


def test_a_larger_sample_holds_the_smaller_one_and_all_is_a_thousand():
    rows = [{"id": str(i), "doc_id": f"{i * 0x9E3779B97F4A7C15 % 2**128:032x}"} for i in range(5000)]
    nested = [in_sample(rows, permille) for permille in (1, 30, 31, 500, 999, 1000)]
    assert all(small <= large for small, large in pairwise(nested))
    assert len(nested[-1]) == 5000
    assert 2300 < len(nested[3]) < 2700
    assert nested[3] != in_sample(rows, 500, SEED + 1)


def test_one_and_two_workers_give_the_same_bytes(layout, tmp_path):
    other = make(tmp_path / "root", workers=2)
    for place in (layout.lock, lambda key: layout.evidence(key) / evidence.SEAL):
        path = place(V3)
        assert path.read_bytes() == (other.root / path.relative_to(layout.root)).read_bytes()


def test_a_version_of_no_document_is_refused(layout):
    path = layout.config(VersionKey("tiny", "v5"))
    path.write_text(re.sub('"sample_permille": [0-9]+', '"sample_permille": 0', layout.config(V3).read_text()))
    with pytest.raises(ConfigError, match="sample_permille"):
        config_files.load(path, VersionKey("tiny", "v5"))
