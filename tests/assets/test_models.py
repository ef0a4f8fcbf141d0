"""A version with models in the graph: its checks, its metadata and datasheet, and what counts as made."""

import dagster as dg
import pytest

from corpus_assets.plans import stored
from corpus_assets.plans.pinned import load_pairs
from formats import evidence
from formats.errors import CorruptDataError
from formats.layout import Layout
from tests import faults
from tests.assets import graph, tiny
from tests.plans import model_corpus, tampering
from tests.plans.model_corpus import FILTERED

pytest.importorskip("kenlm")
pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Layout, list[dg.ExecuteInProcessResult]]:
    layout = tiny.copy(tmp_path_factory.mktemp("models") / "root")
    sections = model_corpus.with_limits(model_corpus.train(layout), 0.9, 250)
    tiny.write_config(layout, FILTERED, **sections)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = list(graph.build(defs, instance, FILTERED))
    assert all(one.success for one in ran), [graph.failures(one) for one in ran]
    return layout, ran


def test_every_check_passes_and_data_versions_are_those_of_what_is_stored(built):
    layout, ran = built
    assert all(check.passed for check in graph.checks(*ran).values())
    made, build = graph.data_versions(*ran), tampering.a_build(layout)
    for pair in load_pairs(layout, FILTERED):
        for asset in ("doc_signals", "filtered_docs"):
            assert stored.of_pair(build, pair.key, asset).data_version == made[asset, str(pair.key)]


def test_what_models_dropped_is_in_the_metadata_and_on_the_datasheet(built):
    layout, ran = built
    rules = {}
    for one in ran:
        for event in one.get_asset_materialization_events():
            if event.asset_key.path[-1] == "filtered_docs":
                rules = event.materialization.metadata["rules"].value
    assert rules["limits"] == {"perplexity_too_high": {"en": 250_000}, "quality_too_low": {"*": 900}}
    page = (layout.evidence(FILTERED) / evidence.DATASHEET_HTML).read_text("utf-8")
    dropped = {row["verdict"] for row in model_corpus.told(layout, FILTERED).values()}
    assert {"perplexity_too_high", "quality_too_low"} <= dropped
    assert "perplexity of a word at most 250 (en)" in page
    assert "quality at least 0.9" in page
    unused = "site lists, word lists, a model of safety, a cap of domains"
    assert f"Not configured, so nothing was dropped by it: {unused}." in page


def test_damage_of_a_stage_that_models_stand_on_is_found(built):
    layout, _ = built
    pair = load_pairs(layout, FILTERED)[0]
    lies = stored.of_pair(tampering.a_build(layout), pair.key, "doc_signals")
    model_signals = [one for one in lies.files if "model_signals" in str(one.path)]
    assert model_signals
    assert {"documents", "doc_signals", "filtered_docs"} <= {part for f in lies.files for part in f.path.split("/")}
    faults.flip_byte(layout.root / model_signals[0].path, 10)
    (found,) = stored.damaged([lies])
    assert isinstance(found, CorruptDataError)
