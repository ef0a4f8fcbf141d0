"""`corpus status` tells from the files alone what is there, missing, stale, damaged or failed; it writes nothing."""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from corpus_assets.commands import config, last_runs, status
from corpus_assets.commands.last_runs import BadEnd
from corpus_assets.plans.raw_set import make_raw_set
from corpus_assets.plans.standing import Standing, State
from formats import durable, ledger, ledger_urls, yank
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from resources import run_process
from tests import build_by_plans, faults
from tests.assets import tiny, tiny_tokens
from tests.commands import command_line
from tests.plans import site_corpus
from tests.plans.tampering import a_build, as_they_lie

ALL = ["ledger_entry", "raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures", "scrubbed_docs"]


def told(capsys: pytest.CaptureFixture[str], layout: Layout, *versions: str) -> tuple[int, dict]:
    code = command_line.run(status, layout.root, "status", *versions, "--json")
    return code, json.loads(capsys.readouterr().out)


def states(version: dict, source: str) -> list[str]:
    return [version["sources"][source][asset]["state"] for asset in ALL]


def built_up_to(layout: Layout, step: str) -> None:
    """Run the steps of a build before the first one of this name."""

    def fetch(row):
        return make_raw_set(layout, row, [ledger_urls.resolve_local(layout.ledger, file.url) for file in row.files])

    for name, work in build_by_plans.steps(a_build(layout), tiny.V1, fetch):
        if name == step:
            return
        work()


def test_a_published_version_is_fine_and_nothing_is_written(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    before = as_they_lie(layout.root)
    code, said = told(capsys, layout, "tiny.v1")
    assert (code, said["fine"]) == (0, True)
    assert states(said["versions"][0], "web") == ["done"] * 6
    assert {one["state"] for one in said["versions"][0]["whole"].values()} == {"done"}
    assert as_they_lie(layout.root) == before


def test_a_yank_mark_that_cannot_be_read_is_told_beside_the_standing_and_is_not_fine(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    path = yank.path_of_version(layout.root, tiny.V1.dataset, tiny.V1.version)
    path.write_text("{")
    code, said = told(capsys, layout, "tiny.v1")
    [version] = said["versions"]
    assert (code, said["fine"], version["state"]) == (1, False, "done")
    assert states(version, "web") == ["done"] * 6
    assert any(str(path) in line for line in version["reasons"])
    command_line.run(status, layout.root, "status", "tiny.v1")
    assert "published: 21 documents" in capsys.readouterr().out


def test_what_a_published_version_no_longer_needs_may_be_gone(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    shutil.rmtree(layout.corpus / "work")
    code, said = told(capsys, layout, "tiny.v1")
    assert code == 0
    assert states(said["versions"][0], "web") == ["not kept", "done", *["not kept"] * 4]


def test_an_unbuilt_version_is_missing_by_source_and_stage_and_ends_with_one(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    before = as_they_lie(layout.root)
    code, said = told(capsys, layout)
    assert (code, said["versions"][0]["state"]) == (1, "missing")
    assert {tuple(states(said["versions"][0], source)) for source in tiny.SOURCES} == {("missing",) * 6}
    assert as_they_lie(layout.root) == before


@pytest.mark.parametrize(
    ("stopped_before", "web", "clusters"),
    [
        ("raw_fetch", ["done", *["missing"] * 5], "missing"),
        ("keeper_ranks", ["done"] * 5 + ["missing"], "missing"),
        ("publish", ["done"] * 6, "done"),
    ],
)
def test_a_build_that_stopped_is_told_as_far_as_it_came(tmp_path, capsys, stopped_before, web, clusters):
    layout = tiny.unbuilt(tmp_path)
    built_up_to(layout, stopped_before)
    code, said = told(capsys, layout)
    version = said["versions"][0]
    assert code == 1
    assert states(version, "web") == web
    assert version["whole"]["dedup_clusters"]["state"] == clusters
    assert version["whole"]["manifest"]["state"] == "missing"


def test_a_changed_threshold_makes_verdicts_stale_and_leaves_what_was_measured(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    built_up_to(layout, "publish")
    tiny.write_config(layout, profiles={"prose": {"too_short": 10, "too_few_words": 9}})
    _, said = told(capsys, layout)
    assert states(said["versions"][0], "web") == ["done"] * 3 + ["stale"] * 3
    assert said["versions"][0]["whole"]["dedup_clusters"]["state"] == "stale"


def test_a_changed_row_makes_its_source_stale_and_no_other(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    built_up_to(layout, "publish")
    tiny.write_ledger(layout, tiny.ledger_row("web", title="Another title"))
    _, said = told(capsys, layout)
    assert states(said["versions"][0], "web")[:2] == ["stale", "stale"]
    assert states(said["versions"][0], "tales")[:5] == ["done"] * 5


def test_a_damaged_raw_set_of_another_row_is_none_of_the_versions(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    built_up_to(layout, "publish")
    other = ledger.from_json(tiny.ledger_row("web", retrieved="2020-01-01"))
    older = make_raw_set(layout, other, [ledger_urls.resolve_local(layout.ledger, file.url) for file in other.files])
    faults.truncate(older.folder / "manifest.json")
    assert states(told(capsys, layout)[1]["versions"][0], "web") == ["done"] * 6


def test_a_licence_that_is_not_allowed_is_told_in_the_words_of_the_check(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, licenses={"allow": ["MIT", "CC0-1.0"]})
    code, said = told(capsys, layout)
    row = said["versions"][0]["sources"]["notes"]["ledger_entry"]
    assert (code, row["state"]) == (1, "refused")
    assert "CC-BY-4.0" in row["why"]


@pytest.mark.parametrize("stage", ["documents", "minhash_signatures", "scrubbed_docs"])
def test_a_short_stage_output_is_damaged_and_named(tmp_path, capsys, stage):
    layout = tiny.unbuilt(tmp_path)
    built_up_to(layout, "publish")
    path = sorted((layout.corpus / "work" / stage).rglob("*.parquet"))[0]
    faults.truncate(path)
    code, said = told(capsys, layout)
    assert (code, said["versions"][0]["state"]) == (1, "damaged")
    assert any(str(path) in reason for reason in said["versions"][0]["reasons"])


@pytest.mark.parametrize("lost", ["shard-00001-of-00004.parquet", "_MANIFEST.json"])
def test_a_published_file_that_is_gone_is_damage(tmp_path, capsys, lost):
    layout = tiny.copy(tmp_path / "root")
    path = next(layout.version(tiny.V1).glob(lost.replace("00004", "*")))
    path.unlink()
    code, said = told(capsys, layout)
    assert (code, said["versions"][0]["state"]) == (1, "damaged")
    assert str(path.name) in " ".join(said["versions"][0]["reasons"])


def test_a_published_version_with_another_config_is_stale(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    tiny.write_config(layout, val_permille=301)
    code, said = told(capsys, layout)
    assert (code, said["versions"][0]["state"]) == (1, "stale")
    assert "A published version is immutable" in said["versions"][0]["reasons"][0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"title": "Another title"}, "the row in the ledger is another one now: title"),
        ({"license_spdx": "GPL-3.0-only"}, "another one now: license_spdx MIT -> GPL-3.0-only"),
    ],
)
def test_a_published_version_is_fine_though_a_row_changed_and_its_reasons_say_what_takes_the_new_one(
    tmp_path, capsys, change, words
):
    layout = tiny.copy(tmp_path / "root")
    tiny.write_ledger(layout, tiny.ledger_row("web", **change))
    code, said = told(capsys, layout)
    assert (code, said["versions"][0]["state"]) == (0, "done")
    (reason,) = said["versions"][0]["reasons"]
    assert words in reason
    assert "tiny.v1 is published and keeps the row it was published with, the next version takes today's" in reason


def test_what_a_stopped_run_did_not_make_of_a_published_version_is_missing_with_what_makes_it(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, ngram_index={"form": "filter"})
    built_up_to(layout, "datasheet")
    code, said = told(capsys, layout)
    version = said["versions"][0]
    assert (code, version["state"], version["published"]) == (1, "missing", True)
    missing = [asset for asset, found in version["whole"].items() if found["state"] == "missing"]
    assert missing == [reason.partition(":")[0] for reason in version["reasons"]] == ["datasheet", "ngram_index"]
    assert all("`corpus build` makes it" in reason for reason in version["reasons"])


def test_another_version_shows_what_it_will_take_over(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    tiny.write_config(layout, VersionKey("tiny", "v2"), sources=["tales", "web"])
    code, said = told(capsys, layout, "tiny.v2")
    assert code == 1
    assert states(said["versions"][0], "web") == ["missing", *["done"] * 4, "missing"]


def test_nothing_of_a_version_that_was_never_begun_is_stale_whatever_others_made_of_its_sources(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    tiny.write_config(layout, VersionKey("tiny", "v2"), profiles={"prose": {"too_short": 10, "too_few_words": 9}})
    _, said = told(capsys, layout, "tiny.v2")
    version = said["versions"][0]
    assert states(version, "web") == ["missing", "done", "done", *["missing"] * 3]
    assert version["whole"]["dedup_clusters"]["state"] == version["state"] == "missing"
    assert told(capsys, layout, "tiny.v1")[1]["versions"][0]["whole"]["dedup_clusters"]["state"] == "done"


def test_a_source_that_joined_is_missing_and_the_changed_one_beside_it_is_stale(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, sources=["tales", "web"])
    built_up_to(layout, "publish")
    tiny.write_config(layout, profiles={"prose": {"too_short": 10, "too_few_words": 9}})
    version = told(capsys, layout, "tiny.v1")[1]["versions"][0]
    assert states(version, "web") == ["done"] * 3 + ["stale"] * 2 + ["missing"]
    assert states(version, "notes") == ["missing"] * 6
    assert version["whole"]["dedup_clusters"]["state"] == "missing"


def test_lists_of_sites_are_looked_for_and_not_made(tmp_path, capsys):
    """Without them nobody knows what verdicts would be made of."""
    layout = site_corpus.make(tmp_path / "root")
    assert states(told(capsys, layout, "tiny.v3")[1]["versions"][0], "shop")[1:] == ["done"] * 5
    layout.lock(site_corpus.V3).unlink(missing_ok=True)
    shutil.rmtree(layout.corpus / "work" / "site_entries")
    before = as_they_lie(layout.root)
    assert states(told(capsys, layout, "tiny.v3")[1]["versions"][0], "shop")[2:4] == ["done", "stale"]
    assert as_they_lie(layout.root) == before


@pytest.mark.parametrize("lost", [".index", ".counts.json"])
def test_a_half_of_the_eval_index_is_looked_for_and_not_made(tmp_path, capsys, lost):
    layout = tiny.unbuilt(tmp_path)
    built_up_to(layout, "publish")
    [path] = (layout.corpus / "work" / "eval_index").glob(f"*{lost}")
    path.unlink()
    before = as_they_lie(layout.root)
    assert states(told(capsys, layout)[1]["versions"][0], "web")[-2:] == ["done", "stale"]
    assert as_they_lie(layout.root) == before


def history(layout: Layout, *runs: tuple[str, str, str]) -> None:
    """Dagster's table of runs, as far as it is read, with (partition, status, process)."""
    path = layout.root / ".dagster" / "history" / "runs.db"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as database:
        database.execute("create table runs (id integer primary key, run_id, status, partition, end_time)")
        database.execute('create table run_tags (run_id, "key", value)')
        for number, (partition, state, process) in enumerate(runs):
            run_id = f"run{number}"
            database.execute("insert into runs values (?, ?, ?, ?, 0)", (number, run_id, state, partition))
            database.execute("insert into run_tags values (?, ?, ?)", (run_id, run_process.TAG, process))


def test_a_failed_run_marks_the_asset_that_it_did_not_make(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    built_up_to(layout, "raw_fetch")
    history(
        layout, ("web@tiny.v1", "FAILURE", "a"), ("tales@tiny.v1", "FAILURE", "a"), ("tales@tiny.v1", "SUCCESS", "a")
    )
    _, said = told(capsys, layout)
    assert states(said["versions"][0], "web")[:3] == ["done", "failed", "missing"]
    assert states(said["versions"][0], "tales")[:3] == ["done", "missing", "missing"]
    assert [end["partition"] for end in said["versions"][0]["failed_runs"]] == ["web@tiny.v1"]


def test_a_run_whose_process_is_gone_is_told_and_one_that_lives_is_not(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    history(layout, ("web@tiny.v1", "STARTED", "dead"), ("tales@tiny.v1", "STARTED", "alive"))
    with durable.one_at_a_time(run_process.lock_of(layout, "alive")):
        _, said = told(capsys, layout)
    assert [end["how"] for end in said["versions"][0]["failed_runs"]] == ["has lost its process"]
    assert said["running_processes"] == 1


def test_a_history_of_another_form_is_no_error(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    path = layout.root / ".dagster" / "history" / "runs.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database")
    assert told(capsys, layout)[1]["versions"][0]["failed_runs"] == []


def test_dagster_writes_the_history_that_is_read(tmp_path):
    """Against a real instance, so that another form of its tables is noticed here."""
    import dagster as dg

    layout = Layout(tmp_path)

    @dg.asset(partitions_def=dg.StaticPartitionsDefinition(["web@tiny.v1"]))
    def fails() -> None:
        raise ValueError

    (tmp_path / ".dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / ".dagster")) as instance:
        dg.materialize([fails], instance=instance, partition_key="web@tiny.v1", raise_on_error=False)
    assert "failed at 20" in str(last_runs.bad_ends(layout, ["web@tiny.v1"])["web@tiny.v1"])


def test_a_wrong_config_is_told_and_does_not_hide_the_others(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    tiny.write_config(layout, VersionKey("tiny", "v2"), val_permille="many")
    code, said = told(capsys, layout)
    assert (code, [one["state"] for one in said["versions"]]) == (1, ["done", "refused"])


def test_a_version_without_a_config_is_refused_with_those_that_have_one(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    with pytest.raises(ConfigError, match=r"configs are there of: tiny\.v1"):
        told(capsys, layout, "tiny.v7")


def test_a_published_version_whose_config_is_gone_says_where_its_copy_lies_and_a_next_one_is_made_of_it(
    tmp_path, capsys
):
    layout = tiny.copy(tmp_path / "root")
    shutil.rmtree(layout.configs / "tiny")
    code, said = told(capsys, layout)
    (version,) = said["versions"]
    assert (code, version["state"], version["published"]) == (1, "refused", True)
    (why,) = version["reasons"]
    assert f"put a copy of {layout.evidence(tiny.V1) / 'config.yaml'} there" in why
    assert command_line.run(config, layout.root, "config", "new", "tiny.v2", "--from", "tiny.v1") == 0
    shutil.copy(layout.evidence(tiny.V1) / "config.yaml", layout.config(tiny.V1))
    capsys.readouterr()
    assert told(capsys, layout, "tiny.v1")[0] == 0


@pytest.mark.parametrize(("name", "found"), [("none", "is not there"), ("file", "is no folder")])
def test_a_root_that_is_none_is_named(tmp_path, capsys, name, found):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=f"{name}: {found}; name the artifacts root"):
        told(capsys, Layout(tmp_path / name))


def test_people_get_a_screen_with_equal_sources_in_one_row(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    built_up_to(layout, "raw_fetch")
    assert command_line.run(status, layout.root, "status") == 1
    out = capsys.readouterr().out
    assert "tiny.v1                  missing: not published, 0 of 3 sources complete" in out
    assert "3: notes, tales, web" in out
    assert len(out.splitlines()) < 10


def test_the_last_lines_name_every_version_and_token_set_that_is_not_complete(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    tiny_tokens.write(layout)
    tiny.write_config(layout, VersionKey("tiny", "v2"))
    assert command_line.run(status, layout.root, "status") == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "1 version not complete: tiny.v2",
        f"1 token set not complete: {tiny_tokens.KEY}",
    ]


def test_dagster_is_not_loaded(tmp_path):
    tiny.unbuilt(tmp_path)
    code = (
        "import sys\nfrom corpus_assets import cli\n"
        f"assert cli.main(['--root', {str(tmp_path)!r}, 'status']) == 1\n"
        "print('dagster' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "False"


def test_twenty_sources_read_each_manifest_once(tmp_path, capsys, monkeypatch):
    """What is read grows with what there is, not with its square."""
    layout = tiny.copy(tmp_path / "root")
    read: list[Path] = []
    whole = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: (read.append(self), whole(self))[1])
    told(capsys, layout, "tiny.v1")
    manifests = [path for path in read if path.name == "_DATASET.json"]
    assert len(manifests) == len(set(manifests))


def test_a_refused_source_is_not_said_to_have_failed_later():
    found = [Standing("ledger_entry", State.REFUSED, "why"), Standing("raw_fetch", State.MISSING)]
    assert status._failed(found, BadEnd("web@tiny.v1", "ab", "failed")) == found
    ran = [Standing("ledger_entry", State.DONE), Standing("raw_fetch", State.MISSING)]
    assert status._failed(ran, BadEnd("web@tiny.v1", "ab", "failed"))[1].state is State.FAILED


def test_a_next_version_says_that_what_is_done_was_made_for_another(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    built_up_to(layout, "publish")
    tiny.write_config(layout, VersionKey("tiny", "v2"))
    capsys.readouterr()
    assert command_line.run(status, layout.root, "status", "tiny.v2") == 1
    assert "0 of 3 sources complete; of 3, what is done was made for other versions and is reused" in (
        capsys.readouterr().out
    )
