"""Models trained by the graph: their partitions and edges, bytes that no way of training changes, checks that fail."""

import dataclasses
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from corpus_assets.commands import gc, model, status
from corpus_assets.commands.model_train import ASSETS, OF_SOURCE
from corpus_assets.plans import model_figures, trained_models
from corpus_assets.plans.model_texts import HELD_OUT
from corpus_assets.validation import plain_yaml
from formats import durable, model_record
from formats.corpus_config import from_document
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from tests import faults
from tests.assets import graph, tiny, tiny_models
from tests.assets.tiny_models import FLUENT, GOOD
from tests.commands import command_line
from tests.formats.test_corpus_config import document
from tests.plans import tampering

pytest.importorskip("kenlm")
pytest.importorskip("sklearn")

CHECKS = {"model_is_the_recorded", "better_than_chance"}
Made = tuple[Layout, dict[str, graph.Ran]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The built tiny corpus with two models, made by runs of the graph."""
    layout = tiny.copy(tmp_path_factory.mktemp("models") / "root")
    for name in (GOOD, FLUENT):
        tiny_models.write(layout, name)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        assert graph.run(defs, instance, None, *graph.INPUTS, "model_config").success
        ran = {name: graph.run(defs, instance, name, *ASSETS) for name in (GOOD, FLUENT)}
    assert all(one.success for one in ran.values()), [graph.failures(one) for one in ran.values()]
    return layout, ran


@pytest.fixture
def layout(trained: Made, tmp_path: Path) -> Layout:
    """A copy that a test may train in or damage."""
    return Layout(Path(shutil.copytree(trained[0].root, tmp_path / "root")))


def bytes_of(layout: Layout, name: str) -> bytes:
    return trained_models.file_of(layout, model_figures.open_record(layout, name)).read_bytes()


def metadata(ran: graph.Ran) -> dict[str, Any]:
    (event,) = ran.get_asset_materialization_events()
    return {name: one.value for name, one in event.materialization.metadata.items()}


def test_the_data_version_is_the_digest_of_the_file_which_is_named_by_it(trained: Made) -> None:
    layout, ran = trained
    for name, one in ran.items():
        record = model_figures.open_record(layout, name)
        assert graph.data_versions(one)["trained_models", name] == record.sha256
        path = trained_models.file_of(layout, record)
        assert durable.sha256_of(path) == record.sha256
        assert path.name.startswith(f"{name}-{record.sha256[:16]}.")


def test_every_check_passes_and_what_is_shown_is_what_the_record_says(trained: Made) -> None:
    layout, ran = trained
    for name, one in ran.items():
        assert {check for check, found in graph.checks(one).items() if found.passed} == CHECKS
        record, shown = model_figures.open_record(layout, name), metadata(one)
        assert (shown["sha256"], shown["bytes"]) == (record.sha256, record.num_bytes)
        assert shown["held_out_picture"].startswith("![](data:image/svg+xml;base64,")
        assert model_figures.numbers(record).items() <= shown.items()
    assert "precision at 0.5" in metadata(ran[GOOD])["held_out_figures"]
    assert "| en |" in metadata(ran[GOOD])["held_out_figures"]
    assert "perplexity (en) up to" in metadata(ran[FLUENT])["held_out_figures"]


def test_the_lines_that_are_shown_are_a_section_that_pins_the_file(trained: Made, tmp_path: Path) -> None:
    layout, ran = trained
    sections: dict[str, Any] = {}
    for one in ran.values():
        pasted = tmp_path / "pasted.yaml"
        pasted.write_text(metadata(one)["for_a_config"].removeprefix("```yaml").removesuffix("```"))
        sections |= plain_yaml.read(pasted).value
    config = from_document(document(**sections))
    assert config.quality
    assert config.ppl
    for pinned in (config.quality.model, config.ppl.models[0]):
        assert durable.sha256_of(layout.root / pinned.path) == pinned.sha256


def test_a_model_of_safety_has_the_weights_of_one_of_quality_and_its_own_section(layout: Layout) -> None:
    """Of fourteen documents no limit is proposed; of one language the section names it."""
    tiny_models.write(layout, "safe", kind="safety")
    tiny_models.write(layout, "english", kind="safety", lang="en")
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = {name: graph.run(defs, instance, name, *ASSETS) for name in ("safe", "english")}
    assert all(graph.checks(one)["model_is_the_recorded"].passed for one in ran.values())
    assert graph.checks(ran["safe"])["better_than_chance"].passed
    assert bytes_of(layout, "safe") == bytes_of(layout, GOOD)
    lines = {name: trained_models.section_of(model_figures.open_record(layout, name)) for name in ran}
    assert [line.strip().partition(":")[0] for line in lines["safe"]] == ["safety", "model", "# no min"]
    assert [line.strip() for line in lines["english"]][2] == "langs: [en]"


def held_out(positive: int, negative: int, kept: tuple[int, int], **more: Any) -> dict[str, Any]:
    counts = {"positive": positive, "negative": negative, "auc_millionths": None}
    return counts | {"positive_kept": kept[0], "negative_kept": kept[1], **more}


def test_where_a_side_is_missing_nothing_is_said_of_precision(trained: Made) -> None:
    languages = {"de": held_out(10, 0, (9, 0)), "en": held_out(10, 10, (9, 1)), "fr": held_out(0, 10, (0, 4))}
    record = model_figures.open_record(trained[0], GOOD)
    record = dataclasses.replace(record, held_out=held_out(20, 20, (18, 5), languages=languages))
    told = {line.split(" | ")[0]: line.split(" | ")[4:] for line in model_figures.table(record).splitlines()[2:]}
    assert told == {
        "| all": ["78.3 %", "90.0 % |"],
        "| de": ["–", "90.0 % |"],
        "| en": ["90.0 %", "90.0 % |"],
        "| fr": ["–", "– |"],
    }
    alone = dataclasses.replace(record, held_out=held_out(10, 0, (9, 0)))
    assert "precision" not in model_figures.numbers(alone)
    assert model_figures.numbers(alone)["recall"] == 0.9


def test_documents_held_out_are_not_trained_on(trained: Made) -> None:
    record = model_figures.open_record(trained[0], GOOD)
    sides = [(record.trained[side], record.held_out[side]) for side in ("positive", "negative")]
    assert all(held == (kept + held) // HELD_OUT and held for kept, held in sides)
    assert sum(one["positive"] for one in record.held_out["languages"].values()) == record.held_out["positive"]


@pytest.mark.parametrize("name", [GOOD, FLUENT])
def test_the_command_trains_the_bytes_that_the_graph_trains(
    layout: Layout, capsys: pytest.CaptureFixture[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bytes_of(layout, name)
    shutil.rmtree(layout.models)
    for one in (GOOD, FLUENT):
        tiny_models.write(layout, one)
    monkeypatch.chdir(layout.root)
    monkeypatch.setenv("CORPUS_ROOT", str(layout.root))
    monkeypatch.setenv("DAGSTER_HOME", "")
    with graph.loaded(layout):
        assert command_line.run(model, layout.root, "model", "train", name) == 0
    assert bytes_of(layout, name) == before
    assert "For the config of a new version" in capsys.readouterr().out


def test_training_by_options_alone_gives_the_same_bytes_of_a_published_version(layout: Layout) -> None:
    out = layout.root / "models" / "by-hand.arpa"
    words = ("perplexity", "tiny.v1", "--language", "en", "--sources", "tales,web", "--out", str(out))
    assert command_line.run(model, layout.root, "model", *words) == 0
    assert out.read_bytes() == bytes_of(layout, FLUENT)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_and_an_empty_work_folder_change_no_byte(trained: Made, tmp_path: Path, workers: int) -> None:
    """Of raw documents: neither a built version nor its stage outputs are needed."""
    layout = tiny.unbuilt(tmp_path / "root")
    tiny_models.write(layout)
    with graph.loaded(layout, CORPUS_WORKERS=str(workers)) as defs, graph.instance() as instance:
        for pair in tiny.PAIRS:
            assert graph.run(defs, instance, pair, *OF_SOURCE).success
        assert graph.run(defs, instance, GOOD, *ASSETS).success
    assert bytes_of(layout, GOOD) == bytes_of(trained[0], GOOD)


def test_stage_outputs_of_the_build_are_used_and_a_model_that_stands_is_not_trained_again(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {stage: len(list(layout.work(stage, "").glob("*"))) for stage in ("documents", "doc_signals")}
    written = trained_models.file_of(layout, model_figures.open_record(layout, GOOD)).stat().st_mtime_ns
    monkeypatch.setattr(trained_models, "_trained", lambda *_: pytest.fail("it was trained again"))
    again = trained_models.train_model(tampering.a_build(layout), GOOD)
    assert trained_models.file_of(layout, again).stat().st_mtime_ns == written
    assert counts == {stage: len(list(layout.work(stage, "").glob("*"))) for stage in counts}


def test_another_seed_is_another_model_and_the_old_file_stays(layout: Layout) -> None:
    before = model_figures.open_record(layout, GOOD)
    tiny_models.write(layout, seed=7)
    after = trained_models.train_model(tampering.a_build(layout), GOOD)
    assert after.sha256 != before.sha256
    assert trained_models.file_of(layout, before).is_file()


def test_a_changed_config_is_stale_and_fails_the_check_until_it_is_trained(layout: Layout) -> None:
    with graph.loaded(layout) as defs, graph.instance() as instance:
        graph.run(defs, instance, None, *graph.INPUTS, "model_config")
        graph.run(defs, instance, GOOD, *ASSETS)
        assert graph.stale(defs, instance, "trained_models", GOOD) == set()
        tiny_models.write(layout, seed=7)
        graph.run(defs, instance, None, "model_config")
        assert graph.stale(defs, instance, "trained_models", GOOD) == {"model_config"}
    assert not model_figures.model_is_the_recorded(layout, GOOD).passed
    trained_models.train_model(tampering.a_build(layout), GOOD)
    assert model_figures.model_is_the_recorded(layout, GOOD).passed


def test_a_damaged_file_is_told_by_the_check_and_mended_by_the_next_run(layout: Layout) -> None:
    record, before = model_figures.open_record(layout, GOOD), bytes_of(layout, GOOD)
    faults.flip_byte(trained_models.file_of(layout, record), 100)
    job = [dg.AssetCheckKey(dg.AssetKey("trained_models"), "model_is_the_recorded")]
    with graph.loaded(layout) as defs:
        assert set(job) <= defs.resolve_asset_graph().asset_check_keys
    with pytest.raises(Exception, match="sha256"):
        model_figures.model_is_the_recorded(layout, GOOD)
    trained_models.train_model(tampering.a_build(layout), GOOD)
    assert bytes_of(layout, GOOD) == before


def test_a_record_that_was_edited_is_damaged(layout: Layout) -> None:
    path = layout.model_record(GOOD)
    stored = json.loads(path.read_bytes())
    stored["record"]["trained"]["positive"] += 1
    path.write_text(json.dumps(stored))
    with pytest.raises(Exception, match="sha256 of the record"):
        model_record.read(path)


def test_a_model_that_is_no_better_than_chance_is_warned_of_and_blocks_nothing(layout: Layout) -> None:
    """Both sides hold the same texts."""
    same = tiny.file_of(tiny.TALES, "notes")
    (layout.root / "inputs/notes.jsonl").write_bytes(same)
    tiny.FILES["notes"], before = same, tiny.FILES["notes"]
    try:
        tiny.write_ledger(layout)
    finally:
        tiny.FILES["notes"] = before
    key = VersionKey("tiny", "same")
    tiny.write_config(layout, key)
    tiny_models.write(layout, "chance", version=str(key), negative=["notes"])
    with graph.loaded(layout) as defs, graph.instance() as instance:
        for pair in ("tales@tiny.same", "notes@tiny.same"):
            assert graph.run(defs, instance, pair, *OF_SOURCE).success
        ran = graph.run(defs, instance, "chance", *ASSETS)
    assert ran.success
    check = graph.checks(ran)["better_than_chance"]
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)


# Beside the graph: what status and gc say.


def told(layout: Layout, capsys: pytest.CaptureFixture[str], *versions: str) -> tuple[int, dict[str, Any]]:
    code = command_line.run(status, layout.root, "status", *versions, "--json")
    said = json.loads(capsys.readouterr().out)
    return code, {one["model"]: one for one in said["models"]}


def test_status_tells_what_is_trained_stale_damaged_or_missing(
    layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    code, models = told(layout, capsys)
    assert (code, {one["state"] for one in models.values()}) == (0, {"done"})
    assert models[GOOD]["sha256"] == model_figures.open_record(layout, GOOD).sha256
    trained_models.file_of(layout, model_figures.open_record(layout, FLUENT)).unlink()
    tiny_models.write(layout, seed=7)
    tiny_models.write(layout, "new")
    (layout.models / "odd.yaml").write_text("model: [")
    code, models = told(layout, capsys, "tiny.v1")
    states = {name: one["state"] for name, one in models.items()}
    assert (code, states) == (1, {GOOD: "stale", FLUENT: "damaged", "new": "missing"})
    assert told(layout, capsys)[1]["odd"]["state"] == "refused"


def test_a_model_of_documents_that_changed_is_stale(layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    v2 = VersionKey("tiny", "v2")
    tiny.write_config(layout, v2)
    tiny_models.write(layout, "later", version="tiny.v2")
    with graph.loaded(layout) as defs, graph.instance() as instance:
        for pair in tiny.PAIRS:
            assert graph.run(defs, instance, PairKey(pair.source, v2), *OF_SOURCE).success
        assert graph.run(defs, instance, "later", *ASSETS).success
        assert told(layout, capsys)[1]["later"]["state"] == "done"
        data = tiny.file_of([*tiny.TALES, tiny.WEB[3]], "tales")
        (layout.root / "inputs" / "tales.jsonl").write_bytes(data)
        files = [{"url": "../inputs/tales.jsonl", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}]
        tiny.write_ledger(layout, tiny.ledger_row("tales", files=files))
        assert graph.run(defs, instance, PairKey("tales", v2), *OF_SOURCE, "doc_signals").success
    models = told(layout, capsys)[1]
    assert (models["later"]["state"], models[GOOD]["state"]) == ("stale", "done")


def test_gc_frees_a_model_only_when_it_is_not_the_last_and_no_version_pins_it(
    layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    first = trained_models.file_of(layout, model_figures.open_record(layout, GOOD))
    own = layout.models / "mine.bin"
    own.write_bytes(first.read_bytes())

    def freed() -> list[str]:
        assert command_line.run(gc, layout.root, "gc", "--json", "--delete") == 0
        found = json.loads(capsys.readouterr().out)["paths"]
        return [one["path"] for one in found if one["kind"] == "trained models"]

    assert freed() == []
    tiny_models.write(layout, seed=7)
    trained_models.train_model(tampering.a_build(layout), GOOD)
    pinned = {"model": {"path": f"models/{first.name}", "sha256": durable.sha256_of(first)}}
    tiny.write_config(layout, VersionKey("tiny", "v2"), quality=pinned)
    assert freed() == []
    layout.config(VersionKey("tiny", "v2")).unlink()
    assert freed() == [str(first)]
    assert own.exists()
    assert model_figures.model_is_the_recorded(layout, GOOD).passed


BROKEN = {
    "bad.yaml": ("model: [bad", "bad.yaml"),
    "other.yaml": (json.dumps(tiny_models.config()), "write other or rename it"),
    "good.yml": ("model: good", "rename it to good.yaml"),
    "Good.yaml": ("model: good", "is not a name"),
    "nowhere.yaml": (json.dumps(tiny_models.config("nowhere", version="tiny.v9")), "tiny.v9 has no config"),
    "wbe.yaml": (json.dumps(tiny_models.config("wbe", negative=["wbe"])), "tiny.v1 has no source wbe"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_costs_its_own_partition_alone_and_is_named(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny_models.write(layout, FLUENT)
    text, words = BROKEN[name]
    (layout.models / name).write_text(text)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        assert words in caplog.text
        partitions = defs.resolve_asset_graph().get(dg.AssetKey("trained_models")).partitions_def
        assert partitions
        assert list(partitions.get_partition_keys()) == [FLUENT]
        assert graph.run(defs, instance, None, *graph.INPUTS, "model_config").success


def test_each_config_that_is_wrong_costs_other_commands_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny_models.write(layout)
    wrong = {
        layout.model_config("x"): "model: x\nkind: z\nbad: 1\n",
        layout.config(VersionKey("tiny", "v7")): "foo: 1\nbar: 2\n",
    }
    for path, text in wrong.items():
        path.write_text(text)
    with graph.loaded(layout):
        said = [record.getMessage() for record in caplog.records if "until its config is mended" in record.getMessage()]
    assert len(said) == len(wrong)
    for path in wrong:
        [one] = [one for one in said if str(path) in one]
        assert len(one.splitlines()) == 1
        assert one.endswith(" more); `corpus status` says all")
        assert "there are" not in one


def test_training_a_model_that_is_wrong_names_no_other(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny_models.write(layout, version="tiny.v9")
    tiny_models.write(layout, "other", kind="no kind")
    with pytest.raises(ConfigError, match=r"tiny\.v9 has no config") as raised:
        command_line.run(model, layout.root, "model", "train", GOOD)
    assert "other.yaml" not in str(raised.value)


def test_a_source_whose_licence_is_not_allowed_trains_no_model(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny_models.write(layout)
    tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="CC-BY-NC-4.0"))
    with graph.loaded(layout) as defs, graph.instance() as instance:
        assert [graph.run(defs, instance, pair, *OF_SOURCE).success for pair in tiny.PAIRS] == [True, True, False]
        assert not graph.run(defs, instance, GOOD, *ASSETS).success
    assert not layout.model_record(GOOD).exists()
