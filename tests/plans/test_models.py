"""Versions that score by models: what is measured, who leaves, what a changed limit or model makes anew."""

import hashlib
import shutil
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets import stage_job
from corpus_assets.commands import diff, trace
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import audit_source, datasheet_figures, source_stages
from corpus_assets.plans.pinned import Build, load_pairs, load_version, pin_row
from corpus_assets.plans.published_version import open_published
from corpus_assets.stages.score_perplexity import perplexities, stored_model
from corpus_assets.stages.score_quality import stored_scorer
from formats import dataset, quality_model
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.quality_model import QualityModel
from formats.reasons import MODEL_RULES, RULE_BIT
from tests import faults
from tests.assets import tiny
from tests.commands import command_line
from tests.plans import model_corpus, site_corpus
from tests.plans.model_corpus import FILTERED, SCORED

pytest.importorskip("kenlm")
pytest.importorskip("sklearn")

MODEL_BITS = sum(RULE_BIT[rule.reason] for rule in MODEL_RULES if rule.filter != "safety")


@pytest.fixture(scope="module")
def scored(tmp_path_factory) -> tuple[Layout, dict[str, Any]]:
    return model_corpus.made(tmp_path_factory.mktemp("models") / "root")


@pytest.fixture
def copied(scored, tmp_path) -> tuple[Layout, dict[str, Any]]:
    """A copy that a test may build in or damage."""
    shutil.copytree(scored[0].root, tmp_path / "root")
    return Layout(tmp_path / "root"), scored[1]


def is_copy_within_its_source(row: dict[str, Any]) -> bool:
    return row["verdict"] == "exact_duplicate" and row["keeper_id"].startswith(f"{row['source_id']}:")


def texts_by_id(layout: Layout) -> dict[str, str]:
    build = Build(layout, model_corpus.engine(layout))
    found = {}
    for pair in load_pairs(layout, SCORED):
        for batch in dataset.read(source_stages.documents(build, pair).open(), columns=("k", "text")):
            for row in batch.to_pylist():
                found[f"{pair.row.source_id}:{row['k']}"] = row["text"]
    return found


def test_what_the_cheap_rules_keep_is_scored_and_nothing_else(scored):
    layout, sections = scored
    texts, told = texts_by_id(layout), model_corpus.told(layout, SCORED)
    quality = sections["quality"]["model"]
    score = stored_scorer(str(layout.root / quality["path"]), quality["sha256"], None)
    english = sections["ppl"]["models"][0]
    language_model = stored_model(str(layout.root / english["path"]), english["sha256"])
    gone = {one for one, row in told.items() if row["rules_failed"] or is_copy_within_its_source(row)}
    assert {"too_short", "exact_duplicate"} <= {told[one]["verdict"] for one in gone}
    for one, row in told.items():
        text = pa.array([texts[one]], pa.large_string())
        if one in gone:
            assert (row["quality"], row["ppl"]) == (None, None)
        else:
            assert row["quality"] == score(text)[0]
            assert row["ppl"] == (perplexities(text, language_model)[0].as_py() if row["lang"] == "en" else None)
    assert {row["lang"] for row in told.values() if row["ppl"] is not None} == {"en"}


def test_without_limits_nobody_leaves_and_the_rules_are_recorded_as_not_applied(scored):
    layout, _ = scored
    plain, with_models = (model_corpus.told(layout, key) for key in (tiny.V1, SCORED))
    assert all(row["rules_not_applied"] & MODEL_BITS == MODEL_BITS for row in with_models.values())
    assert all(row["rules_not_applied"] & MODEL_BITS == 0 for row in plain.values())
    assert not any(row["rules_failed"] & MODEL_BITS for row in with_models.values())
    dropped_by_filters = [{one for one, row in told.items() if row["rules_failed"]} for told in (plain, with_models)]
    assert dropped_by_filters[0] == dropped_by_filters[1]
    assert "ppl" not in next(iter(plain.values()))


def test_the_counted_stages_are_those_of_the_version_without_models(scored):
    layout, _ = scored
    for stage in ("documents", "doc_signals", "filtered_docs"):
        assert len([one for one in layout.work(stage, "").iterdir() if one.suffix != ".tmp"]) == len(tiny.SOURCES)


def limits(layout: Layout) -> tuple[float, float]:
    """A least quality and a largest perplexity that about half of the documents pass."""
    told = [row for row in model_corpus.told(layout, SCORED).values() if row["quality"] is not None]
    middle = sorted(row["quality"] for row in told)[len(told) // 3]
    high = sorted(row["ppl"] for row in told if row["ppl"] is not None)[2 * len(told) // 3]
    return middle / 1000, high / 1000


def hold_signals_of_models(layout: Layout, key: VersionKey) -> None:
    """The datasheet draws every limit of a model, over the documents that it judged, cut where it decides."""
    rows = model_corpus.told(layout, key).values()
    drawn = datasheet_figures.measure(open_published(layout, key)).signals
    of_models = [one for one in drawn if one.rule in MODEL_RULES]
    assert [(one.rule.reason, one.among) for one in of_models] == [
        ("perplexity_too_high", "language en"),
        ("quality_too_low", "documents it scored"),
    ]
    for one in of_models:
        bit = RULE_BIT[one.rule.reason]
        judged = [row for row in rows if row[one.rule.signal] is not None and not row["rules_not_applied"] & bit]
        at = list(one.histogram.edges).index(one.limit)
        failed = sum(n for i, n in one.histogram.counts.items() if (i < at if one.rule.bound == "min" else i >= at))
        assert one.histogram.counts.total() == len(judged) > failed
        assert failed == sum(bool(row["rules_failed"] & bit) for row in judged) > 0
        assert one.dropped == sum(row["verdict"] == one.rule.reason for row in rows)


def filtered(layout: Layout, sections: dict[str, Any], key: VersionKey = FILTERED, workers: int = 1) -> None:
    tiny.write_config(layout, key, **model_corpus.with_limits(sections, *limits(layout)))
    model_corpus.build(layout, key, workers=workers)


def test_documents_beyond_the_limits_leave_by_the_first_rule_they_fail_and_every_count_holds(copied):
    layout, sections = copied
    filtered(layout, sections)
    least, most = (round(1000 * limit) for limit in limits(layout))
    told, before = model_corpus.told(layout, FILTERED), model_corpus.told(layout, SCORED)
    expected = {}
    for one, row in before.items():
        high = row["ppl"] is not None and row["ppl"] > most
        low = row["quality"] is not None and row["quality"] < least
        if high or low:
            expected[one] = "perplexity_too_high" if high else "quality_too_low"
            bits = high * RULE_BIT["perplexity_too_high"] | low * RULE_BIT["quality_too_low"]
            assert told[one]["rules_failed"] & MODEL_BITS == bits
    found = {one: row["verdict"] for one, row in told.items() if row["rules_failed"] & MODEL_BITS}
    assert found == expected
    assert set(expected.values()) == {"perplexity_too_high", "quality_too_low"}
    filters = model_corpus.manifest(layout, FILTERED)["filters"]
    assert filters["ppl"] == sum(reason == "perplexity_too_high" for reason in expected.values())
    assert filters["quality"] == sum(reason == "quality_too_low" for reason in expected.values())
    assert list(filters) == ["lang", "gopher", "repetition", "ppl", "length", "charset", "quality"]
    build = Build(layout, model_corpus.engine(layout))
    pairs = load_pairs(layout, FILTERED)
    for pair in pairs:
        assert audit_source.documents_conserved(build, pair).passed
        assert audit_source.survivors_conserved(build, pairs, pair).passed
    assert verify_version(layout, FILTERED, deep=True).ok
    hold_signals_of_models(layout, FILTERED)
    assert verify_version(layout, SCORED).ok


def test_a_new_limit_asks_no_model_and_another_model_asks_again(copied):
    layout, sections = copied
    signals = layout.work("model_signals", "")
    before = {one.name for one in signals.iterdir()}
    kept = layout.root / "models"
    kept.rename(layout.root / "elsewhere")  # nobody can be asked
    filtered(layout, sections)
    assert {one.name for one in signals.iterdir()} == before
    (layout.root / "elsewhere").rename(kept)
    data = bytearray((kept / "quality.bin").read_bytes())
    data[24] ^= 1
    (kept / "other.bin").write_bytes(data)
    other = {"path": "models/other.bin", "sha256": hashlib.sha256(data).hexdigest()}
    again = VersionKey("tiny", "again")
    tiny.write_config(layout, again, **{**sections, "quality": {"model": other}})
    model_corpus.build(layout, again)
    assert len({one.name for one in signals.iterdir()} - before) == len(tiny.SOURCES)


def test_one_worker_and_two_publish_the_same_bytes(copied, tmp_path):
    layout, sections = copied
    filtered(layout, sections)
    other = Layout(tmp_path / "other")
    shutil.copytree(layout.root, other.root)
    for folder in (other.version(FILTERED), other.evidence(FILTERED), other.corpus / "work"):
        shutil.rmtree(folder)
    other.lock(FILTERED).unlink()
    model_corpus.build(other, FILTERED, workers=2)
    assert model_corpus.files(other, FILTERED) == model_corpus.files(layout, FILTERED)


def test_sources_of_another_profile_are_not_scored(copied):
    layout, sections = copied
    key = VersionKey("tiny", "code")
    only_code = {
        "quality": {**sections["quality"], "profiles": ["code"]},
        "ppl": {**sections["ppl"], "profiles": ["code"]},
    }
    tiny.write_config(layout, key, **only_code)
    model_corpus.build(layout, key)
    assert {(row["quality"], row["ppl"]) for row in model_corpus.told(layout, key).values()} == {(None, None)}


MODEL_FILES = {"quality.bin": "the quality model", "en.arpa": "the perplexity model of en"}


@pytest.mark.parametrize("name", MODEL_FILES)
def test_a_damaged_model_is_refused_by_name_before_a_document_is_scored(copied, name):
    layout, sections = copied
    shutil.rmtree(layout.work("model_signals", ""))
    faults.flip_byte(layout.root / "models" / name, -1)
    tiny.write_config(layout, FILTERED, **model_corpus.with_limits(sections, 0.5, 100))
    with pytest.raises(CorruptDataError, match=f"sha256 of {MODEL_FILES[name]}") as raised:
        model_corpus.build(layout, FILTERED)
    assert raised.value.path == str(layout.root / "models" / name)
    assert "correct the sha256 in" in raised.value.todo
    assert not layout.version(FILTERED).exists()


@pytest.mark.parametrize("name", MODEL_FILES)
def test_a_missing_model_is_refused_by_name(copied, name):
    layout, sections = copied
    shutil.rmtree(layout.work("model_signals", ""))
    (layout.root / "models" / name).unlink()
    tiny.write_config(layout, FILTERED, **sections)
    with pytest.raises(ConfigError, match=f"{name}: {MODEL_FILES[name]} is missing"):
        model_corpus.build(layout, FILTERED)


def test_training_again_gives_the_same_bytes(scored, tmp_path):
    layout, _ = scored
    again = Layout(tmp_path / "root")
    shutil.copytree(layout.root, again.root)
    shutil.rmtree(again.root / "models")
    model_corpus.train(again)
    for name in MODEL_FILES:
        assert (again.root / "models" / name).read_bytes() == (layout.root / "models" / name).read_bytes()


def test_a_drop_is_told_with_what_was_measured_and_the_limit(copied, capsys):
    layout, sections = copied
    filtered(layout, sections)
    told = model_corpus.told(layout, FILTERED)
    for reason, words in (("perplexity_too_high", "perplexity of a word is "), ("quality_too_low", "quality is ")):
        one = next(one for one, row in told.items() if row["verdict"] == reason)
        assert command_line.run(trace, layout.root, "trace", one, "--version", str(FILTERED)) == 0
        assert words in capsys.readouterr().out


def test_a_stage_that_runs_as_a_job_of_its_own_makes_all_that_models_stand_on(copied):
    layout, sections = copied
    other = {**sections, "quality": {**sections["quality"], "profiles": ["short"]}}
    tiny.write_config(layout, FILTERED, **other)
    build = Build(layout, model_corpus.engine(layout))
    key = load_version(layout, FILTERED).pairs[0]
    pin_row(layout, key)
    made = stage_job.STAGES["doc_signals"](build, str(key))
    assert [one.identity.stage for one in made] == ["documents", "doc_signals", "filtered_docs", "model_signals"]
    assert [one.identity.stage for one in stage_job.STAGES["filtered_docs"](build, str(key))] == ["model_verdicts"]


def test_a_difference_of_versions_tells_what_models_dropped(copied, capsys):
    layout, sections = copied
    filtered(layout, sections)
    assert command_line.run(diff, layout.root, "diff", str(SCORED), str(FILTERED), "--documents") == 1
    told = capsys.readouterr().out
    assert "perplexity_too_high" in told
    assert "quality_too_low" in told


def quality_file(layout: Layout, sign: int) -> dict[str, Any]:
    """A made-up model, or with sign -1 the one that turns all its judgements round."""
    path = layout.root / "models" / f"sign{sign}.bin"
    path.parent.mkdir(exist_ok=True)
    weights = np.random.default_rng(5).integers(-(1 << 20), 1 << 20, 1 << 12).astype(np.int32)
    return {"path": str(path), "sha256": quality_model.write(QualityModel(sign * weights, 0), path)}


def test_of_near_duplicates_in_sources_of_one_rank_the_better_one_stays(tmp_path):
    layout = tiny.unbuilt(tmp_path / "root")
    tiny.write_ledger(layout, *(tiny.ledger_row(source, source_rank=1) for source in tiny.SOURCES))
    stays = {}
    for sign, name in ((1, "forth"), (-1, "back")):
        key = VersionKey("tiny", name)
        tiny.write_config(layout, key, quality={"model": quality_file(layout, sign)})
        model_corpus.build(layout, key)
        told = model_corpus.told(layout, key)
        (gone,) = [row for row in told.values() if row["verdict"] == "near_duplicate"]
        assert gone["quality"] < told[gone["keeper_id"]]["quality"]
        stays[sign] = gone["keeper_id"]
    assert stays[1] != stays[-1]


def test_what_lists_leave_out_is_asked_of_no_model(copied):
    """Sites, words, models: the reasons of each, in one version."""
    layout, sections = copied
    shut = site_corpus.pinned(layout.root, "shut.txt", b"https://web.example/2\n")
    words = {**site_corpus.pinned(layout.root, "words.txt", b"parrot\nkites\n"), "lang": "*", "max_ratio": 0.0}
    lists = {"sites": {"block": [shut]}, "words": {"lists": [words]}}
    tiny.write_config(layout, FILTERED, **model_corpus.with_limits(sections, *limits(layout)), **lists)
    model_corpus.build(layout, FILTERED)
    told = model_corpus.told(layout, FILTERED)
    scored = {row["verdict"] for row in told.values() if row["quality"] is not None}
    assert {"blocked_site", "too_many_listed_words"} <= {row["verdict"] for row in told.values()}
    assert not {"blocked_site", "too_many_listed_words"} & scored
    assert {"perplexity_too_high", "quality_too_low"} <= scored
    manifest = model_corpus.manifest(layout, FILTERED)
    dropped = [*manifest["filters"].values(), *(manifest["dedup"][f"{n}_dropped"] for n in ("exact", "near"))]
    assert len(told) == manifest["n_docs"] + sum(dropped) + manifest["dedup"]["decontaminated"]
    assert verify_version(layout, FILTERED, deep=True).ok
