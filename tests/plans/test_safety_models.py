"""A second classifier beside the one of quality: its own scores, limit, reason and column, and no change without."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.commands import diff, trace
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import datasheet, pinned_models
from corpus_assets.plans.differences_documents import documents_of_versions
from corpus_assets.plans.pinned import load_version
from corpus_assets.plans.published_version import open_published
from corpus_assets.stages.score_quality import stored_scorer
from formats import evidence_schemas
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.reasons import RULE_BIT
from tests import faults
from tests.assets import tiny
from tests.commands import command_line
from tests.plans import model_corpus, site_corpus

PLAIN, SAFE = VersionKey("tiny", "plain"), VersionKey("tiny", "safe")
LEAST = 0.5


def classifier(layout: Layout, name: str, seed: int) -> dict[str, Any]:
    """A file of weights drawn by a seed, and how a config pins it."""
    from formats import quality_model

    weights = np.random.default_rng(seed).integers(-(1 << 20), 1 << 20, 1 << 12).astype(np.int32)
    path = layout.root / "models" / f"{name}.bin"
    path.parent.mkdir(exist_ok=True)
    return {"path": f"models/{name}.bin", "sha256": quality_model.write(quality_model.QualityModel(weights, 0), path)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """A version with a model of quality, then one with a model of safety beside it that drops some."""
    layout = tiny.unbuilt(tmp_path_factory.mktemp("safety") / "root")
    quality = {"quality": {"model": classifier(layout, "quality", 1), "min": LEAST}}
    tiny.write_config(layout, PLAIN, **quality)
    model_corpus.build(layout, PLAIN)
    tiny.write_config(layout, SAFE, **quality, safety={"model": classifier(layout, "safety", 2), "min": LEAST})
    model_corpus.build(layout, SAFE)
    return layout


@pytest.fixture
def copied(made: Layout, tmp_path: Path) -> Layout:
    shutil.copytree(made.root, tmp_path / "root")
    return Layout(tmp_path / "root")


def test_each_classifier_scores_what_the_cheap_rules_keep_in_a_column_of_its_own(made: Layout) -> None:
    texts = site_texts(made)
    told = model_corpus.told(made, SAFE)
    scored = {one for one, row in told.items() if row["safety"] is not None}
    assert scored == {one for one, row in told.items() if row["quality"] is not None}
    for name in ("quality", "safety"):
        config = getattr(load_version(made, SAFE).config, name)
        score = stored_scorer(str(made.root / config.model.path), config.model.sha256, None)
        for one in scored:
            assert told[one][name] == score(pa.array([texts[one]], pa.large_string()))[0]
    assert any(told[one]["quality"] != told[one]["safety"] for one in scored)


def site_texts(layout: Layout) -> dict[str, str]:
    from corpus_assets.plans.pinned import Build, load_pairs
    from corpus_assets.plans.source_stages import documents
    from formats import dataset

    build, found = Build(layout, model_corpus.engine(layout)), {}
    for pair in load_pairs(layout, SAFE):
        for row in dataset.read_table(documents(build, pair).open(), columns=("k", "text")).to_pylist():
            found[f"{pair.row.source_id}:{row['k']}"] = row["text"]
    return found


def test_what_is_unsafe_leaves_with_a_reason_of_its_own_and_every_count_holds(made: Layout) -> None:
    told, plain = model_corpus.told(made, SAFE), model_corpus.told(made, PLAIN)
    unsafe = {one for one, row in told.items() if row["safety"] is not None and row["safety"] < 1000 * LEAST}
    by_quality = {one for one, row in plain.items() if row["verdict"] == "quality_too_low"}
    gone = {one for one, row in told.items() if row["verdict"] == "safety_too_low"}
    assert gone == unsafe - by_quality != set()
    assert {one for one, row in told.items() if row["verdict"] == "quality_too_low"} == by_quality != set()
    filters = model_corpus.manifest(made, SAFE)["filters"]
    assert list(filters)[-2:] == ["quality", "safety"]
    assert filters["safety"] == len(gone)
    assert verify_version(made, SAFE, deep=True).ok


def test_a_version_without_it_has_the_columns_bits_and_stages_it_had(made: Layout) -> None:
    rows = model_corpus.told(made, PLAIN).values()
    bit = RULE_BIT["safety_too_low"]
    assert all((row["rules_failed"] | row["rules_not_applied"]) & bit == 0 for row in rows)
    assert list(next(iter(rows))) == evidence_schemas.DOCUMENTS_BY_MODELS.names
    assert list(next(iter(model_corpus.told(made, SAFE).values()))) == evidence_schemas.DOCUMENTS_WITH_SAFETY.names
    assert "safety" not in model_corpus.manifest(made, PLAIN)["filters"]
    models = pinned_models.of_profile(load_version(made, PLAIN).config, "prose")
    assert models.settings == {"label": None}
    assert list(models.digests) == ["quality model"]
    assert list(models.as_arguments(made)) == ["quality", "ppl"]
    for stage in ("documents", "doc_signals", "filtered_docs"):
        assert len(list(made.work(stage, "").glob("[0-9a-f]*"))) == len(tiny.SOURCES)


def test_a_model_of_safety_alone_is_a_filter_like_the_rest(copied: Layout) -> None:
    key = VersionKey("tiny", "alone")
    tiny.write_config(copied, key, safety={"model": classifier(copied, "safety", 2), "min": LEAST})
    model_corpus.build(copied, key)
    told = model_corpus.told(copied, key)
    assert {row["quality"] for row in told.values()} == {None}
    assert "safety_too_low" in {row["verdict"] for row in told.values()}
    assert load_version(copied, key).config.model_filters == ("safety",)


def test_sources_of_another_profile_are_not_asked_about(copied: Layout) -> None:
    key, model = VersionKey("tiny", "code"), classifier(copied, "safety", 2)
    tiny.write_config(copied, key, safety={"model": model, "min": LEAST, "profiles": ["code"]})
    model_corpus.build(copied, key)
    assert {row["safety"] for row in model_corpus.told(copied, key).values()} == {None}


def test_a_new_limit_asks_no_model_again(copied: Layout) -> None:
    before = {one.name for one in copied.work("model_signals", "").iterdir()}
    sections = {"quality": {"model": classifier(copied, "quality", 1), "min": LEAST}}
    model = classifier(copied, "safety", 2)
    shutil.rmtree(copied.root / "models")
    tiny.write_config(copied, VersionKey("tiny", "stricter"), **sections, safety={"model": model, "min": 0.9})
    model_corpus.build(copied, VersionKey("tiny", "stricter"))
    assert {one.name for one in copied.work("model_signals", "").iterdir()} == before


def test_one_worker_and_two_publish_the_same_bytes(copied: Layout, tmp_path: Path) -> None:
    other = Layout(tmp_path / "other")
    shutil.copytree(copied.root, other.root)
    for folder in (other.version(SAFE), other.evidence(SAFE), other.corpus / "work"):
        shutil.rmtree(folder)
    other.lock(SAFE).unlink()
    model_corpus.build(other, SAFE, workers=2)
    assert model_corpus.files(other, SAFE) == model_corpus.files(copied, SAFE)


def test_trace_and_datasheet_tell_of_it(copied: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    told = model_corpus.told(copied, SAFE)
    gone = next(one for one, row in told.items() if row["verdict"] == "safety_too_low")
    assert command_line.run(trace, copied.root, "trace", gone, "--version", "tiny.safe") == 0
    assert f"safety is {told[gone]['safety'] / 1000:g}, expected at least 0.5 (filter safety" in capsys.readouterr().out
    page = datasheet.write_datasheet(copied, SAFE).html.read_text("utf-8")
    assert "safety at least 0.5" in page
    assert "filter safety" in page
    assert "safety.model.sha256" in page


def test_damage_is_refused_by_name(copied: Layout) -> None:
    shutil.rmtree(copied.work("model_signals", ""))
    faults.flip_byte(copied.root / "models" / "safety.bin", -1)
    with pytest.raises(CorruptDataError, match="sha256 of the safety model"):
        pinned_models.hold_to_digests(copied, load_version(copied, SAFE).config)
    (copied.root / "models" / "safety.bin").unlink()
    with pytest.raises(ConfigError, match="the safety model is missing"):
        pinned_models.hold_to_digests(copied, load_version(copied, SAFE).config)


def test_it_is_asked_of_nothing_that_lists_leave_out(copied: Layout) -> None:
    shut = site_corpus.pinned(copied.root, "shut.txt", b"https://web.example/2\n")
    key = VersionKey("tiny", "shut")
    model = classifier(copied, "safety", 2)
    tiny.write_config(copied, key, sites={"block": [shut]}, safety={"model": model, "min": LEAST})
    model_corpus.build(copied, key)
    told = model_corpus.told(copied, key)
    blocked = {one for one, row in told.items() if row["verdict"] == "blocked_site"}
    assert blocked
    assert {told[one]["safety"] for one in blocked} == {None}


@pytest.mark.parametrize("langs", [["de"], ["de", "en"]])
def test_documents_in_languages_that_are_not_named_are_neither_scored_nor_judged(
    copied: Layout, langs: list[str]
) -> None:
    """All that is scored here is English, which models of German text say nothing of."""
    before = model_corpus.told(copied, SAFE)
    assert {row["lang"] for row in before.values() if row["safety"] is not None} == {"en"}
    key, config = VersionKey("tiny", "langs"), load_version(copied, SAFE).config
    sections = {
        name: {"model": {"path": one.model.path, "sha256": one.model.sha256}, "min": LEAST, "langs": langs}
        for name, one in (("quality", config.quality), ("safety", config.safety))
        if one is not None
    }
    tiny.write_config(copied, key, **sections)
    model_corpus.build(copied, key)
    told = model_corpus.told(copied, key)
    assert verify_version(copied, key, deep=True).ok
    if "en" in langs:
        assert told == before
        return
    bits = RULE_BIT["quality_too_low"] | RULE_BIT["safety_too_low"]
    assert {(row["quality"], row["safety"]) for row in told.values()} == {(None, None)}
    assert {row["rules_failed"] & bits for row in told.values()} == {0}
    assert {row["rules_not_applied"] & bits for row in told.values() if before_was_scored(before, row)} == {bits}
    assert not {"quality_too_low", "safety_too_low"} & {row["verdict"] for row in told.values()}


def before_was_scored(before: dict[str, dict[str, Any]], row: dict[str, Any]) -> bool:
    return before[row["id"]]["quality"] is not None


def test_languages_are_part_of_what_a_stage_is_made_of_only_where_they_are_named(copied: Layout) -> None:
    model = classifier(copied, "safety", 2)
    key = VersionKey("tiny", "langs")
    tiny.write_config(copied, key, quality={"model": model, "langs": ["en", "de"]}, safety={"model": model})
    models = pinned_models.of_profile(load_version(copied, key).config, "prose")
    assert models.settings == {"label": None, "safety_label": None, "langs": ["de", "en"]}
    assert models.as_arguments(copied)["quality"]["langs"] == ["de", "en"]
    assert "langs" not in models.as_arguments(copied)["safety"]


def test_a_comparison_tells_languages_and_the_scores_of_either_version(
    made: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    """PLAIN has no model of safety, so it says nothing of it."""
    told = {key: model_corpus.told(made, key) for key in (PLAIN, SAFE)}
    kept = [{one for one, row in told[key].items() if row["verdict"] == "kept"} for key in (PLAIN, SAFE)]
    found = documents_of_versions(*(open_published(made, key) for key in (PLAIN, SAFE)))
    counts = {"both": len(kept[0] & kept[1]), "A alone": len(kept[0] - kept[1]), "B alone": len(kept[1] - kept[0])}
    assert (found.kept, found.languages) == (counts, {"en": counts})
    assert counts["A alone"] > 0
    for one in found.examples:
        for name, key, said in ((one.left, PLAIN, one.left_scores), (one.right, SAFE, one.right_scores)):
            row = told[key][name or ""]
            models = ("quality",) if key == PLAIN else ("quality", "safety")
            assert said == {model: row[model] / 1000 for model in models if row[model] is not None}
    command_line.run(diff, made.root, "diff", "tiny.plain", "tiny.safe", "--documents")
    gone = next(one for one in found.examples if "safety_too_low" in one.change)
    scores = f"(A: quality {gone.left_scores['quality']:g}; B: quality {gone.right_scores['quality']:g}, safety "
    out = capsys.readouterr().out
    assert scores in out
    assert f"    en: both {counts['both']}, A alone {counts['A alone']}, B alone {counts['B alone']}" in out
