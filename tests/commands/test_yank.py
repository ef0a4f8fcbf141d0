"""`corpus yank` marks and unmarks; the bytes stay, and everything that reads says it or refuses."""

import json
import os
from contextlib import suppress
from unittest import mock

import pytest
from starlette.testclient import TestClient

from corpus_assets.commands import (
    build,
    config,
    contamination,
    dedup,
    diff,
    export,
    model,
    replay,
    status,
    takedown,
    tokenize,
    trace,
    verify,
    yank,
)
from corpus_assets.commands.serve_app import make_app
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import yanking
from corpus_assets.plans.snapshot import make_snapshot
from corpus_assets.plans.token_build import open_build
from formats.corpus_shard import read_shards
from formats.errors import ConfigError
from formats.loader.data_loader import DataLoader
from formats.loader.settings import ReadSettings
from formats.naming import VersionKey
from formats.yank import SUFFIX
from tests.assets import graph, tiny, tiny_tokens
from tests.commands import command_line
from tests.plans.tampering import a_build, as_they_lie

WHY = "the licence of source web was withdrawn"


@pytest.fixture
def layout(tmp_path):
    return tiny.copy(tmp_path / "root")


def yanked(layout, key: str = "tiny.v1", *words: str) -> None:
    assert command_line.run(yank, layout.root, "yank", key, *(words or ("--reason", WHY))) == 0


def test_no_byte_changes_and_undo_leaves_no_trace(layout):
    before = as_they_lie(layout.root)
    yanked(layout)
    marked = as_they_lie(layout.root)
    assert {name: what for name, what in marked.items() if not str(name).endswith(SUFFIX)} == before
    assert len(marked) == len(before) + 1
    yanked(layout, "tiny.v1", "--undo")
    assert as_they_lie(layout.root) == before


@pytest.mark.parametrize(
    ("reason", "sources", "words"),
    [
        (WHY, ["web"], "tiny.v2 takes web, which that reason names: leave out what may not be used"),
        (WHY, ["tales"], "tiny.v2 takes 1 of its sources: look whether that reason holds for it, too"),
        ("the web-archive is wrong", ["web"], "tiny.v2 takes 1 of its sources"),
        (WHY, ["fresh"], None),
    ],
)
def test_a_version_with_sources_of_a_yanked_one_is_told_why_when_it_is_begun_and_built(
    layout, capsys, reason, sources, words
):
    assert command_line.run(yank, layout.root, "yank", "tiny.v1", "--reason", reason) == 0
    with open(layout.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps({**tiny.ledger_row("web"), "source_id": "fresh"}) + "\n")
    config_words = ("--sources", ",".join(sources), "--allow", "MIT,CC0-1.0,CC-BY-4.0")
    capsys.readouterr()
    assert command_line.run(config, layout.root, "config", "new", "tiny.v2", *config_words) == 0
    told = [capsys.readouterr().err]
    with mock.patch.object(build, "open_engine", side_effect=ConfigError("stops here")), suppress(ConfigError):
        build.build(layout, VersionKey("tiny", "v2"))
    told.append(capsys.readouterr().err)
    for said in told:
        assert (f": {reason}; " in said) == (words is not None)
        assert words is None or words in said


def test_a_copy_of_a_yanked_config_is_told_why_in_another_dataset_too(layout, capsys):
    yanked(layout)
    assert command_line.run(config, layout.root, "config", "new", "other.v1", "--from", "tiny.v1") == 0
    said = capsys.readouterr().err
    assert WHY in said
    assert "other.v1 takes web, which that reason names" in said


def test_verify_and_status_say_it_and_are_fine(layout, capsys):
    yanked(layout)
    report = verify_version(layout, tiny.V1)
    assert report.ok
    assert any(WHY in note for note in report.notes)
    capsys.readouterr()
    assert command_line.run(status, layout.root, "status") == 0
    out = capsys.readouterr().out
    assert "published, YANKED" in out
    assert WHY in out
    assert command_line.run(status, layout.root, "status", "--json") == 0
    assert json.loads(capsys.readouterr().out)["versions"][0]["yanked"] == {"tiny.v1": WHY}


def test_trace_says_it(layout, capsys):
    yanked(layout)
    capsys.readouterr()
    assert command_line.run(trace, layout.root, "trace", "tales:0") == 0
    assert WHY in capsys.readouterr().out


def test_a_mark_that_cannot_be_read_fails_verify(layout):
    yanked(layout)
    next(layout.corpus.glob(f"tiny/*{SUFFIX}")).write_text("{", "utf-8")
    assert not verify_version(layout, tiny.V1).ok


def test_no_tokens_are_made_of_a_yanked_version_unless_told_to(layout, monkeypatch):
    tiny_tokens.write(layout)
    yanked(layout)
    with pytest.raises(ConfigError, match=f"{WHY}.*--allow-yanked"):
        command_line.run(tokenize, layout.root, "tokenize", str(tiny_tokens.KEY))
    assert not layout.snapshots.exists()
    made = []
    monkeypatch.setattr(tokenize, "tokenize", lambda _, key, **__: made.append(key) or 0)
    with mock.patch.dict(os.environ):
        assert command_line.run(tokenize, layout.root, "tokenize", str(tiny_tokens.KEY), "--allow-yanked") == 0
        assert os.environ[yanking.ALLOWED] == "1"
    assert made == [tiny_tokens.KEY]


def test_the_asset_refuses_by_itself_and_goes_on_when_told_to(layout):
    tiny_tokens.write(layout)
    yanked(layout)
    with graph.loaded(layout, **{yanking.ALLOWED: ""}) as defs, graph.instance() as instance:
        refused = graph.run(defs, instance, tiny_tokens.KEY, "token_shards")
        assert not refused.success
        assert WHY in graph.failures(refused)
        with mock.patch.dict(os.environ, {yanking.ALLOWED: "1"}):
            assert graph.run(defs, instance, tiny_tokens.KEY, "token_shards").success


def snapshot_of(layout) -> str:
    tiny_tokens.write(layout)
    build = a_build(layout)
    return make_snapshot(open_build(layout, build.engine, tiny_tokens.KEY)).snapshot_id


def opened(layout, snapshot_id: str, **settings) -> None:
    weights = dict.fromkeys(tiny.SOURCES, 1.0)
    run = {"mixture": weights, "seed": 1, "dp_rank": 0, "dp_world": 1, "seq_len": 16, "batches": 1}
    DataLoader(layout.root, snapshot_id, **run, settings=ReadSettings(**settings)).close()


@pytest.mark.parametrize("key", ["tiny.v1", "tiny.v1.t16", "the snapshot's id"])
def test_snapshots_are_yanked_by_their_id_their_token_set_or_their_version(layout, capsys, key):
    snapshot_id = snapshot_of(layout)
    opened(layout, snapshot_id)
    yanked(layout, snapshot_id if key.startswith("the") else key)
    with pytest.raises(ConfigError, match=WHY):
        opened(layout, snapshot_id)
    opened(layout, snapshot_id, allow_yanked=True)
    capsys.readouterr()
    assert command_line.run(verify, layout.root, "verify", snapshot_id) == 0
    assert WHY in capsys.readouterr().out
    assert command_line.run(status, layout.root, "status") == 0
    assert WHY in capsys.readouterr().out
    words = ("trace", "--snapshot", snapshot_id, "--shard", "train/tales/00000.bin", "--offset", "0")
    assert command_line.run(trace, layout.root, *words) == 0
    assert WHY in capsys.readouterr().out
    assert command_line.run(trace, layout.root, "trace", "--source", "tales", "--snapshots") == 0
    assert WHY in capsys.readouterr().out


def test_what_reads_a_yanked_snapshot_says_so(layout, tmp_path, capsys):
    """After its training, too: what was served is replayed, and checked against a benchmark."""
    snapshot_id = snapshot_of(layout)
    weights = dict.fromkeys(tiny.SOURCES, 1.0)
    run = {"mixture": weights, "seed": 1, "dp_rank": 0, "dp_world": 1, "seq_len": 16, "batches": 1}
    with DataLoader(layout.root, snapshot_id, **run) as loader:
        (tmp_path / "state.json").write_text(json.dumps(loader.state_dict()))
    (tmp_path / "quiz.jsonl").write_text('{"question": "none of this is anywhere"}\n')
    yanked(layout)
    for command, words, at in (
        (replay, ("replay", tmp_path / "state.json", "--step", 0, "--rank", 0, "--world", 1), "out"),
        (contamination, ("contamination", tmp_path / "quiz.jsonl", "--snapshot", snapshot_id), "out"),
        (diff, ("diff", snapshot_id, snapshot_id), "err"),
        (diff, ("diff", "tiny.v1", "tiny.v1", "--json"), "err"),
        (takedown, ("takedown", "tales"), "out"),
    ):
        capsys.readouterr()
        assert command_line.run(command, layout.root, *map(str, words)) == (command is takedown)
        assert getattr(capsys.readouterr(), at).count(WHY) == 1
    client = TestClient(make_app(layout), base_url="http://127.0.0.1:8330")
    at = {"snapshot": snapshot_id, "shard": "train/tales/00000.bin", "offset": 0}
    told = [client.get(f"/snapshots/{snapshot_id}").json(), client.get("/trace/token", params=at).json()]
    assert [(one["yanked"]["of"], one["yanked"]["reason"]) for one in told] == [("tiny.v1", WHY)] * 2
    yanked(layout, "tiny.v1", "--undo")
    assert client.get(f"/snapshots/{snapshot_id}").json()["yanked"] is None


def test_what_is_yanked_is_exported_only_by_who_says_so_and_the_export_says_it(layout, tmp_path, capsys):
    snapshot_id = snapshot_of(layout)
    yanked(layout)
    for name, form in (("tiny.v1", "huggingface"), (snapshot_id, "mds"), (snapshot_id, "megatron")):
        words = ("export", name, "--to", form, str(tmp_path / form))
        with pytest.raises(ConfigError, match=f"is not exported: .*{WHY}.*--allow-yanked"):
            command_line.run(export, layout.root, *words)
        assert not (tmp_path / form).exists()
        capsys.readouterr()
        assert command_line.run(export, layout.root, *words, "--allow-yanked") == 0
        assert WHY in capsys.readouterr().err
    assert json.loads((tmp_path / "mds/export.json").read_text())["yanked"]["reason"] == WHY


def test_card_and_croissant_of_an_exported_version_warn_before_all_else_and_only_while_it_is_yanked(layout, tmp_path):
    def exported(name: str) -> tuple[str, str]:
        words = ("export", "tiny.v1", "--to", "huggingface", str(tmp_path / name), "--allow-yanked")
        assert command_line.run(export, layout.root, *words) == 0
        readme = (tmp_path / name / "README.md").read_text("utf-8")
        told = json.loads((tmp_path / name / "croissant.json").read_text("utf-8"))
        return readme.split("---\n", 2)[2], told["description"]

    plain = exported("before")
    yanked(layout)
    card, described = exported("yanked")
    warning = card.split("\n\n")[1]
    assert warning.startswith("> **Do not use it.** tiny.v1 was yanked on ")
    assert WHY in warning
    assert card.replace(f"{warning}\n\n", "") == plain[0]
    assert described.startswith("Do not use it: tiny.v1 was yanked on ")
    assert described.endswith(f": {WHY}. {plain[1]}")
    yanked(layout, "tiny.v1", "--undo")
    assert exported("after") == plain


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (model, ("model", "quality", "tiny.v1", "--positive", "tales", "--negative", "web", "--out", "q.model")),
        (dedup, ("dedup", "sample", "tiny.v1", "-n", "1", "--out", "pairs.html")),
    ],
)
def test_who_makes_something_of_a_yanked_version_is_told(layout, tmp_path, monkeypatch, capsys, command, words):
    """A model that others filter by, labels that settings follow from: they may be made, and not unawares."""
    monkeypatch.chdir(tmp_path)
    yanked(layout)
    capsys.readouterr()
    with suppress(ConfigError):  # too few documents for a model, which is told after the mark
        command_line.run(command, layout.root, *words)
    assert capsys.readouterr().err.count(WHY) == 1


def test_a_build_of_a_yanked_version_says_so(layout, monkeypatch, capsys):
    yanked(layout)
    monkeypatch.setattr(build, "build", lambda *_, **__: 0)
    assert command_line.run(build, layout.root, "build", "tiny.v1") == 0
    assert WHY in capsys.readouterr().err


def test_wrong_requests_are_refused(layout):
    for key, words, said in (
        ("tiny.v9", ("--reason", WHY), "is not published"),
        ("tiny.v1", ("--reason", " "), "empty"),
        ("tiny.v1", ("--undo",), "is not yanked"),
    ):
        with pytest.raises(ConfigError, match=said):
            yanked(layout, key, *words)
    yanked(layout)
    with pytest.raises(ConfigError, match="take it away first"):
        yanked(layout)


def test_shards_of_a_yanked_version_are_read_only_where_that_is_said(layout):
    out = layout.version(tiny.V1)
    before = list(read_shards(out))
    yanked(layout)
    with pytest.raises(ConfigError, match=f"tiny.v1 was yanked on .*{WHY}.*allow_yanked=True"):
        read_shards(out)
    assert list(read_shards(out, allow_yanked=True)) == before
    yanked(layout, "tiny.v1", "--undo")
    assert list(read_shards(out)) == before
