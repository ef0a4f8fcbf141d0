"""`corpus gc` frees what nothing needs, and never what a version, pin, lock, evidence or living process needs."""

import ast
import hashlib
import json
import shutil
import time
from pathlib import Path

import dagster as dg
import numpy as np
import pytest

from corpus_assets.commands import gc, old_runs, status, trace, verify
from corpus_assets.plans import extractors, garbage, named_snapshot, raw_set
from corpus_assets.plans.extractors import shipped_model
from corpus_assets.plans.ngram_hits import of_texts
from corpus_assets.plans.ngram_index import write_ngram_index
from corpus_assets.plans.pinned import load_version, row_to_pin
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.raw_set import make_raw_set
from corpus_assets.plans.work import lock_of
from corpus_assets.stages import quality_text
from formats import block_model, durable, ledger, ledger_urls
from formats.errors import ConfigError, CorruptDataError, TransientError
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from resources import run_process
from resources.download.cache import Cache
from resources.engines import scratch
from tests import build_by_plans, faults
from tests.assets import tiny
from tests.commands import command_line
from tests.plans import site_corpus
from tests.plans.tampering import a_build, as_they_lie

V2 = VersionKey("tiny", "v2")
OTHER_RULES = {"prose": {"too_short": 10, "too_few_words": 9}}


def freed(capsys: pytest.CaptureFixture[str], layout: Layout, *words: str) -> dict:
    assert command_line.run(gc, layout.root, "gc", "--json", *words) == 0
    return json.loads(capsys.readouterr().out)


def fetch(layout: Layout):
    return lambda row: make_raw_set(
        layout, row, [ledger_urls.resolve_local(layout.ledger, file.url) for file in row.files]
    )


def built(layout: Layout, key: VersionKey = tiny.V1) -> str:
    """Build what is not there; the version's manifest by its hash."""
    for _, work in build_by_plans.steps(a_build(layout), key, fetch(layout)):
        work()
    return durable.read_lock(layout.lock(key))


def test_of_a_published_version_nothing_goes(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    before = as_they_lie(layout.root)
    assert freed(capsys, layout, "--delete")["paths"] == []
    assert as_they_lie(layout.root) == before


def test_in_no_state_of_a_build_does_anything_go_that_the_build_uses(tmp_path, capsys):
    """Deletes before every step, and again with everything built."""
    layout = tiny.unbuilt(tmp_path / "root")
    for _, work in build_by_plans.steps(a_build(layout), tiny.V1, fetch(layout)):
        before = as_they_lie(layout.root)
        assert freed(capsys, layout, "--delete")["paths"] == []
        assert as_they_lie(layout.root) == before
        work()
    assert durable.read_lock(layout.lock(tiny.V1)) == durable.read_lock(tiny.built().lock(tiny.V1))
    assert command_line.run(verify, layout.root, "verify", "tiny.v1", "--deep") == 0


def test_a_version_with_site_lists_keeps_all_of_its_outputs(tmp_path, capsys):
    layout = site_corpus.make(tmp_path / "root")
    assert freed(capsys, layout)["kinds"].get("stage outputs") is None


def test_a_version_with_rules_of_its_own_keeps_all_of_their_outputs_until_it_is_gone(tmp_path, capsys):
    layout, key = site_corpus.write_inputs(tmp_path / "root"), site_corpus.V3
    words = {**site_corpus.pinned(layout.root, "w.txt", b"owl\n"), "lang": "en", "max_ratio": 0.5}
    site_corpus.write_config(
        layout,
        words={"lists": [words]},
        domain_cap={"max_documents": 1},
        ngram_index={"form": "postings", "rate": 2},
        lang={"mixed": "und"},
    )
    built(layout, key)
    write_ngram_index(a_build(layout), key)
    assert freed(capsys, layout)["kinds"].get("stage outputs") is None
    for path in (layout.config(key), layout.lock(key)):
        path.unlink()
    stages = {path["path"].split("/")[-2] for path in freed(capsys, layout)["paths"]}
    assert stages >= {"word_entries", "listed_words", "domain_caps", "ngram_index", "mixed_languages"}


def test_what_was_looked_for_in_a_version_stays_as_long_as_it_does(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    version = open_published(layout, tiny.V1)
    of_texts(a_build(layout).engine, version, [13], np.array([1, 2]))
    assert freed(capsys, layout)["paths"] == []
    for path in (layout.version(tiny.V1), layout.evidence(tiny.V1)):
        shutil.rmtree(path)
    for path in (layout.lock(tiny.V1), layout.config(tiny.V1)):
        path.unlink()
    assert "contamination" in {path["path"].split("/")[-2] for path in freed(capsys, layout)["paths"]}


def test_every_stage_of_the_plans_is_one_that_gc_knows():
    """What a plan keeps in corpus/work and nobody here knows would stay for ever."""
    plans = Path(garbage.__file__).parent
    named = {
        node.args[0].value if isinstance(node.args[0], ast.Constant) else node.args[0].id
        for path in plans.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "identity"
    }
    by_constant = {"STAGE": "contamination", "FOLDER": "ngram_index"}
    assert {by_constant.get(name, name) for name in named} - {"eval_index"} == set(garbage.STAGES)


def abandoned(layout: Layout) -> None:
    """A version that is built under other rules up to its signatures, and whose config then is gone."""
    tiny.write_config(layout, V2, profiles=OTHER_RULES)
    for name, work in build_by_plans.steps(a_build(layout), V2, fetch(layout)):
        if name == "keeper_ranks":
            break
        work()
    layout.config(V2).unlink()


def test_outputs_of_a_version_that_is_gone_go_and_the_other_version_stands(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    before = as_they_lie(layout.root)
    abandoned(layout)
    dry = freed(capsys, layout)
    assert dry["kinds"]["stage outputs"]["things"] == len(tiny.SOURCES)
    assert {path["path"].split("/")[-2] for path in dry["paths"]} == {"filtered_docs"}  # the verdicts are the same
    assert not dry["deleted"]
    assert freed(capsys, layout, "--delete")["paths"] == dry["paths"]
    pins = {layout.pinned_row(PairKey(pair.source, V2)) for pair in tiny.PAIRS}
    assert {path for path in as_they_lie(layout.root) if layout.root / path not in pins} >= set(before)
    assert freed(capsys, layout)["paths"] == []
    assert command_line.run(verify, layout.root, "verify", "tiny.v1", "--deep") == 0
    assert command_line.run(trace, layout.root, "trace", "tales:7") == 0
    capsys.readouterr()


def test_what_is_freed_is_made_again_with_the_same_bytes(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    tiny.write_config(layout, V2, profiles=OTHER_RULES)
    first = built(layout, V2)
    for path in (layout.version(V2), layout.evidence(V2)):
        shutil.rmtree(path)
    layout.lock(V2).unlink()
    kept = layout.config(V2).read_bytes()
    layout.config(V2).unlink()
    assert freed(capsys, layout, "--delete")["num_bytes"] > 0
    layout.config(V2).write_bytes(kept)
    assert built(layout, V2) == first
    assert built(layout) == durable.read_lock(tiny.built().lock(tiny.V1))


def test_a_version_that_is_not_published_keeps_what_it_has_made(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    tiny.write_config(layout, V2, profiles=OTHER_RULES)
    for name, work in build_by_plans.steps(a_build(layout), V2, fetch(layout)):
        if name == "keeper_ranks":
            break
        work()
    assert freed(capsys, layout)["paths"] == []


def test_a_raw_set_goes_when_neither_ledger_nor_pin_nor_evidence_names_it(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path / "root")
    row = ledger.from_json(tiny.ledger_row("web", title="An old title"))
    old = fetch(layout)(row).folder
    assert [one["path"] for one in freed(capsys, layout)["paths"]] == [str(old)]
    tiny.write_ledger(layout, tiny.ledger_row("web", title="An old title"))
    assert freed(capsys, layout)["paths"] == []


def test_the_raw_set_of_a_published_version_stays_when_its_row_changed(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    tiny.write_ledger(layout, tiny.ledger_row("web", title="A new title"))
    shutil.rmtree(layout.corpus / "work")
    assert freed(capsys, layout)["paths"] == []


def test_fetched_files_go_when_no_row_names_them(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path / "root")
    layout.cache.mkdir()
    wanted = tiny.ledger_row("web")["files"][0]["sha256"]
    for name in (wanted, "0" * 64, f"{'1' * 64}.partial", f"{'1' * 64}.partial.json", "of somebody else"):
        (layout.cache / name).write_bytes(b"12345")
    said = freed(capsys, layout, "--delete")
    assert said["kinds"] == {
        "fetched files": {"things": 1, "num_bytes": 5},
        "unfinished": {"things": 2, "num_bytes": 10},
    }
    assert {path.name for path in layout.cache.iterdir()} == {wanted, "of somebody else"}


def test_a_download_under_way_stays(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path / "root")
    layout.cache.mkdir()
    (layout.cache / f"{'1' * 64}.partial").write_bytes(b"12345")
    with Cache(layout.cache).lock("1" * 64, time.sleep, list):
        assert freed(capsys, layout, "--delete")["paths"] == []
    assert len(freed(capsys, layout, "--delete")["paths"]) == 1


def test_a_cache_elsewhere_may_be_shared_and_is_left_alone(tmp_path):
    layout = Layout(tiny.unbuilt(tmp_path / "root").root, tmp_path / "cache")
    layout.cache.mkdir()
    (layout.cache / ("0" * 64)).write_bytes(b"12345")
    assert garbage.find(a_build(layout)) == []


@pytest.mark.parametrize(
    "folder",
    [
        f"corpus/work/doc_signals/{'0' * 64}.abcd0123.tmp",
        "snapshots/tiny.v1.a.abcd0123.tmp",
        "corpus/tiny/v1.tmp",
        "corpus/tiny/v1.evidence.tmp",
        "corpus/tiny/v1.old",
        "corpus/raw/web/.20261130.tmp",
        "corpus/work/scratch/sort-abc",
        "corpus/work/pulled/tiny.v9",
    ],
)
def test_what_a_killed_process_left_goes(tmp_path, capsys, folder):
    layout = tiny.copy(tmp_path / "root")
    before = as_they_lie(layout.root)
    (layout.root / folder).mkdir(parents=True)
    (layout.root / folder / "some").write_bytes(b"12345")
    assert freed(capsys, layout, "--delete")["num_bytes"] == 5
    assert as_they_lie(layout.root) == before


def test_an_old_folder_that_is_the_only_copy_stays_and_is_put_back(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    layout.version(tiny.V1).rename(layout.version(tiny.V1).with_name("v1.old"))
    with pytest.raises(CorruptDataError, match="file is missing"):
        freed(capsys, layout, "--delete")
    assert built(layout) == durable.read_lock(tiny.built().lock(tiny.V1))


@pytest.mark.parametrize(
    ("folder", "lock"),
    [
        (f"corpus/work/doc_signals/{'0' * 64}.a.tmp", lambda _, folder: lock_of(folder)),
        ("corpus/tiny/v1.tmp", lambda layout, _: layout.work("locks", "tiny.v1")),
        ("corpus/raw/web/.20261130.tmp", lambda _, folder: raw_set.lock_of(folder.parent)),
        ("corpus/work/scratch/sort-abc", lambda _, folder: scratch.lock_of(folder)),
        (f"corpus/work/pulled/{'0' * 64}", named_snapshot.lock_of),
    ],
)
def test_what_a_living_process_works_on_stays(tmp_path, capsys, folder, lock):
    layout = tiny.copy(tmp_path / "root")
    (layout.root / folder).mkdir(parents=True)
    (layout.root / folder / "some").write_bytes(b"12345")
    with durable.one_at_a_time(lock(layout, layout.root / folder)):
        assert freed(capsys, layout, "--delete")["paths"] == []
    assert (layout.root / folder).exists()
    assert freed(capsys, layout, "--delete")["num_bytes"] == 5


@pytest.mark.parametrize("folder", ["lists/old.tmp", "notes/draft.old", "tiny/v7.tmp"])
def test_folders_that_people_made_stay(tmp_path, capsys, folder):
    layout = tiny.copy(tmp_path / "root")
    for name in sorted({folder, folder.removesuffix(".old")}):
        (layout.corpus / name).mkdir(parents=True)
        (layout.corpus / name / "mine").write_text("x")
    assert freed(capsys, layout, "--delete")["paths"] == []
    assert (layout.corpus / folder / "mine").read_text() == "x"


def test_a_link_goes_alone_and_a_cache_behind_one_is_left_alone(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ("0" * 64)).mkdir(parents=True)
    link = layout.work("doc_signals", "0" * 64)
    link.symlink_to(elsewhere)
    shutil.rmtree(layout.cache, ignore_errors=True)
    layout.cache.symlink_to(elsewhere)
    assert [one["path"] for one in freed(capsys, layout, "--delete")["paths"]] == [str(link)]
    assert not link.is_symlink()
    assert (elsewhere / ("0" * 64)).is_dir()


@pytest.mark.parametrize("gone", ["LEDGER.jsonl", "configs"])
def test_without_ledger_or_configs_nothing_goes(tmp_path, gone):
    layout = tiny.copy(tmp_path / "root")
    (layout.corpus / gone).rename(tmp_path / "gone")
    before = as_they_lie(layout.root)
    with pytest.raises(ConfigError, match=f"{gone}: is missing"):
        command_line.run(gc, layout.root, "gc", "--delete")
    assert as_they_lie(layout.root) == before


def test_a_dataset_that_cannot_be_listed_stops_it(tmp_path, monkeypatch):
    layout = tiny.copy(tmp_path / "root")
    listed = type(layout.root).iterdir

    def refuse(path):
        if path == layout.corpus / "tiny":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(type(layout.root), "iterdir", refuse)
    with pytest.raises(PermissionError, match="tiny"):
        command_line.run(gc, layout.root, "gc", "--delete")


@pytest.mark.parametrize("days", ["nan", "inf", "-1", "1e300"])
def test_days_that_are_none_are_refused_before_anything_goes(tmp_path, days):
    with pytest.raises(ConfigError, match="expected 0 to 36500 days"):
        command_line.run(gc, tmp_path, "gc", "--delete", "--runs-older-than", days)


def test_while_a_build_is_at_work_nothing_is_deleted(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    abandoned(layout)
    before = as_they_lie(layout.root)
    with run_process.this_process(layout):
        with pytest.raises(TransientError, match=r"1 process of .* at work"):
            freed(capsys, layout, "--delete")
        assert freed(capsys, layout)["num_bytes"] > 0  # to look is free
    assert as_they_lie(layout.root) == before


def test_damaged_evidence_cannot_say_what_it_needs_so_nothing_goes(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    abandoned(layout)
    faults.truncate(layout.evidence(tiny.V1) / "stage_versions.json")
    with pytest.raises(CorruptDataError, match="stage_versions"):
        freed(capsys, layout, "--delete")


@pytest.mark.parametrize("broken", ["config", "ledger"])
def test_a_config_or_ledger_that_is_wrong_stops_it(tmp_path, capsys, broken):
    layout = tiny.copy(tmp_path / "root")
    abandoned(layout)
    path = layout.config(tiny.V1) if broken == "config" else layout.ledger
    path.write_text("{wrong", "utf-8")
    before = as_they_lie(layout.root)
    with pytest.raises(ConfigError):
        freed(capsys, layout, "--delete")
    assert as_they_lie(layout.root) == before


def read_by_blocks(root: Path) -> Layout:
    """A version to come of which nothing is made but the raw set of one page, by a model of its own."""
    layout, page = tiny.unbuilt(root), b"<body><p>" + tiny.MILL.encode() + b"</p></body>"
    (root / "inputs/page.html").write_bytes(page)
    file = {"url": "../inputs/page.html", "sha256": hashlib.sha256(page).hexdigest(), "bytes": len(page)}
    tiny.write_ledger(layout, tiny.ledger_row("web", kind="html", fields=None, files=[file]))
    model = {"path": "blocks.json", "sha256": block_model.write(shipped_model(), root / "blocks.json")}
    tiny.write_config(layout, extract={"extractor": "blocks", "model": model})
    version = load_version(layout, tiny.V1)
    row = ledger.from_json(row_to_pin(layout, version.pairs[-1]))
    make_raw_set(layout, row, [root / "inputs/page.html"], extract=version.config.extract)
    return layout


def lose_the_model(layout: Layout, _monkeypatch: pytest.MonkeyPatch) -> None:
    (layout.root / "blocks.json").unlink()
    extractors._config_model.cache_clear()  # as for a process that begins now


def lose_the_library(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version asks for a second opinion that this machine cannot give."""
    extract = json.loads(layout.config(tiny.V1).read_bytes())["extract"]
    tiny.write_config(layout, extract={**extract, "second_opinion": "trafilatura"})
    monkeypatch.setattr(quality_text, "LIBRARIES", ("no-such-library",))


@pytest.mark.parametrize(
    ("lose", "words"),
    [
        (lose_the_model, r"extract\.model: .*blocks\.json"),
        (lose_the_library, "no-such-library is not installed"),
    ],
    ids=["model", "library"],
)
def test_a_raw_set_whose_extractor_is_not_here_is_not_called_unneeded_and_nothing_goes(
    tmp_path, capsys, monkeypatch, lose, words
):
    layout = read_by_blocks(tmp_path / "root")
    abandoned(layout)
    assert "raw sets" not in freed(capsys, layout)["kinds"]
    lose(layout, monkeypatch)
    before = as_they_lie(layout.root)
    with pytest.raises(ConfigError, match=words):
        freed(capsys, layout, "--delete")
    assert as_they_lie(layout.root) == before
    assert command_line.run(status, layout.root, "status", "tiny.v1", "--json") == 1
    (told,) = json.loads(capsys.readouterr().out)["versions"]
    assert told["sources"]["web"]["raw_fetch"]["state"] == "refused"


def test_the_raw_set_of_a_published_version_stays_although_its_model_is_gone(tmp_path, capsys):
    layout = read_by_blocks(tmp_path / "root")
    for _, work in build_by_plans.steps(a_build(layout), tiny.V1, fetched_by_config(layout)):
        work()
    lose_the_model(layout, pytest.MonkeyPatch())
    before = as_they_lie(layout.corpus / "raw")
    assert "raw sets" not in freed(capsys, layout, "--delete")["kinds"]
    assert as_they_lie(layout.corpus / "raw") == before


def fetched_by_config(layout: Layout):
    extract = load_version(layout, tiny.V1).config.extract
    return lambda row: make_raw_set(
        layout, row, [ledger_urls.resolve_local(layout.ledger, file.url) for file in row.files], extract=extract
    )


def test_a_deletion_that_is_killed_leaves_what_the_next_one_removes(tmp_path, capsys, monkeypatch):
    layout = tiny.copy(tmp_path / "root")
    abandoned(layout)

    def killed(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(garbage.shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            freed(capsys, layout, "--delete")
    assert freed(capsys, layout, "--delete")["kinds"]["unfinished"]["things"] == 1
    assert freed(capsys, layout)["paths"] == []


def test_people_get_bytes_by_kind(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    abandoned(layout)
    assert command_line.run(gc, layout.root, "gc") == 0
    out = capsys.readouterr().out
    assert out.startswith("stage outputs           3  ")
    assert "may be freed: " in out
    assert out.endswith("; --delete does it\n")


def test_old_runs_go_but_the_latest_good_one_of_each_asset_and_partition():
    parts = dg.StaticPartitionsDefinition(["a", "b"])

    @dg.asset(partitions_def=parts)
    def made() -> None: ...

    job = dg.Definitions(assets=[made]).resolve_implicit_global_asset_job_def()
    with dg.DagsterInstance.ephemeral() as instance:
        ids = [
            job.execute_in_process(
                instance=instance, partition_key=key, asset_selection=[dg.AssetKey("made")], run_config={}
            ).run_id
            for key in ("a", "b", "a", "a")
        ]
        assert old_runs.older_than(instance, 1) == []
        assert old_runs.older_than(instance, 0) == [ids[2], ids[0]]
        old_runs.delete(instance, [ids[2], ids[0]])
        assert {run.run_id for run in instance.get_runs()} == {ids[1], ids[3]}
        assert instance.get_materialized_partitions(dg.AssetKey("made")) == {"a", "b"}
