"""`corpus tokenize` and `corpus verify` of snapshots: no-op, damage, and what stops before any work."""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import dagster as dg
import pytest

from corpus_assets import cli
from corpus_assets.commands import build, builder, environment, tokenize, up, verify_snapshot
from corpus_assets.commands.unchanged import UnchangedTokens
from corpus_assets.plans import audit_snapshot
from corpus_assets.plans.pinned import load_version
from corpus_assets.plans.snapshot import last_snapshot
from corpus_assets.plans.token_build import open_build
from formats.errors import ConfigError
from formats.layout import Layout
from formats.snapshot import manifest, token_shard
from tests import faults
from tests.assets import graph, tiny, tiny_tokens
from tests.plans.tampering import a_build, as_they_lie

KEY = tiny_tokens.KEY


class Root:
    """The tiny corpus with a token set and a history of its own, run as `corpus tokenize` runs it."""

    def __init__(self, layout: Layout, defs: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self.layout, self.defs, self.instance = layout, defs, instance

    def tokenize(self) -> list[str]:
        """The partitions that failed."""
        job = self.defs.resolve_implicit_global_asset_job_def()
        checks = sorted(self.defs.resolve_asset_graph().asset_check_keys)
        made = a_build(self.layout)
        tokens = open_build(self.layout, made.engine, KEY)
        version = load_version(self.layout, tiny.V1)
        unchanged = UnchangedTokens(made, version, self.instance, checks, tokens=tokens)
        return build.run_layer(builder.Builder(job, self.instance, {}, False), unchanged, [str(KEY)], tokenize.ASSETS)

    def ran(self) -> int:
        """How many runs it made; it has to succeed."""
        before = len(self.instance.get_runs())
        assert self.tokenize() == []
        return len(self.instance.get_runs()) - before


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    layout = tiny.copy(tmp_path_factory.mktemp("tokenize") / "root")
    tiny_tokens.write(layout)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        root = Root(layout, defs, instance)
        assert root.ran() == 1
        yield root


@pytest.fixture
def root(shared: Root) -> Iterator[Root]:
    """Made and unchanged when a test begins; what a test leaves otherwise is put back."""
    kept = {path: path.read_bytes() for path in shared.layout.root.rglob("*") if path.is_file()}
    yield shared
    for path in shared.layout.root.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()
    for path, data in kept.items():
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    assert shared.tokenize() == []


def a_bin(root: Root) -> Path:
    snapshot = last_snapshot(root.layout, KEY)
    return snapshot.folder / snapshot.shards("train")[0].name


def test_with_nothing_to_do_it_runs_nothing_and_touches_no_file(root, capsys):
    before = as_they_lie(root.layout.root)
    assert root.ran() == 0
    assert as_they_lie(root.layout.root) == before
    said = capsys.readouterr().out.split()
    assert said[:2] == ["same", "tiny.v1.t16"]
    assert said[-1] == "verified"


@pytest.mark.parametrize("damage", [lambda path: faults.flip_byte(path, 3), faults.truncate, Path.unlink])
def test_a_damaged_shard_is_named_and_mended(root, capsys, damage):
    path, whole = a_bin(root), a_bin(root).read_bytes()
    damage(path)
    left = path.read_bytes() if path.exists() else None
    assert root.ran() == 1
    (said,) = (line for line in capsys.readouterr().out.splitlines() if "damaged: " in line)
    if left is None:
        what = f"file is missing, expected {len(whole)} bytes"
    elif len(left) < len(whole):
        what = f"length is {len(left)}, expected {len(whole)}"
    else:
        what = f"sha256 is {hashlib.sha256(left).hexdigest()}, expected {hashlib.sha256(whole).hexdigest()}"
    assert said == f"    damaged: {path}: {what}; it is made again"
    assert path.read_bytes() == whole
    assert root.ran() == 0


def test_a_lost_index_whose_length_no_manifest_says_is_expected_by_its_hash(root, capsys):
    path = a_bin(root).with_suffix(".docs.parquet")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.unlink()
    assert root.ran() == 1
    assert f"{path}: file is missing, expected one with sha256 {digest}; it is made again" in capsys.readouterr().out


@pytest.mark.parametrize(("packing", "less"), [
    ("best_fit", "; a shorter seq_len or packing: concat leaves less"),
    ("concat", "; a shorter seq_len leaves less"),
])  # fmt: skip
def test_cut_documents_and_padding_are_told_and_a_snapshot_that_is_mostly_padding_is_noted(packing, less):
    def said(padding: int) -> list[str]:
        counts = {"documents": 7, "cut_documents": 2, "tokens": 500, "padding": padding}
        return list(tokenize.packing_of(manifest.Snapshot(Path(), "", {"counts": counts, "packing": packing})))

    assert said(0) == ["cut: 2 of 7 documents; padding: 0 of 500 places (0 %)"]
    assert said(500) == ["cut: 2 of 7 documents; padding: 500 of 1,000 places (50.0 %)"]
    told, note = said(501)
    assert told == "cut: 2 of 7 documents; padding: 501 of 1,001 places (50.0 %)"
    assert note.startswith(f"note: more than half of the snapshot is padding{less}")


def test_what_is_told_of_cut_documents_and_padding_is_what_the_index_says(root):
    snapshot = last_snapshot(root.layout, KEY)
    pieces = [token_shard.read_index(snapshot, one) for one in audit_snapshot.all_shards(snapshot)]
    places = sum(one.sequences for one in audit_snapshot.all_shards(snapshot)) * snapshot.seq_len
    documents = {name for index in pieces for name in index["id"].to_pylist()}
    rows = [row for index in pieces for row in index.to_pylist()]
    length = snapshot.seq_len
    cut = {r["id"] for r in rows if r["start"] // length != (r["start"] + r["length"] - 1) // length}
    padding = places - sum(sum(index["length"].to_pylist()) for index in pieces)
    told = f"cut: {len(cut)} of {len(documents)} documents; padding: {padding} of {places:,} places"
    assert snapshot.document["packing"] == "concat"
    assert next(tokenize.packing_of(snapshot)).startswith(f"{told} (")


@pytest.mark.parametrize("stage", ["tokenized", "packed"])
def test_a_damaged_stage_output_is_named_and_never_read(root, capsys, stage):
    path = sorted((root.layout.corpus / "work" / stage).rglob("*.parquet"))[0]
    faults.flip_byte(path, 60)
    assert root.tokenize() == [str(KEY)]
    said = capsys.readouterr().out
    assert f"damaged: {path}" in said
    assert "delete its folder and materialize the stage again" in said


def test_another_seed_is_another_snapshot_beside_the_first_and_the_first_comes_back_with_its_seed(root):
    first = last_snapshot(root.layout, KEY)
    before = as_they_lie(first.folder)
    tiny_tokens.write(root.layout, seed=5)
    assert root.ran() == 1
    assert last_snapshot(root.layout, KEY).snapshot_id != first.snapshot_id
    tiny_tokens.write(root.layout)
    assert root.ran() == 1
    assert last_snapshot(root.layout, KEY) == first
    assert as_they_lie(first.folder) == before


def test_a_lock_that_names_nothing_is_made_again(root):
    lock = root.layout.snapshot_lock(KEY)
    data = lock.read_bytes()
    for wrong in (b"0" * 64 + b"\n", b"no lock"):
        lock.write_bytes(wrong)
        assert root.ran() == 1
        assert lock.read_bytes() == data


# Before any work.


@pytest.mark.parametrize(("words", "said"), [
    (["tokenize", "starter.v1"], "token key 'starter.v1' has too few dots; expected <dataset>.<version>.<tokens>"),
    (["tokenize", "starter"], "has too few dots"),
    (["tokenize", "tiny.v1.none"], "v1.none.yaml: is missing"),
    (["tokenize", "tiny.v1.t16", "--workers", "0"], "engine workers is 0; expected at least 1"),
    (["verify", "tiny.v1.none"], "tiny.v1.none has no snapshot below"),
    (["verify", "sha256:12"], "expected sha256: and 64 hex digits"),
    (["verify", "tiny.v1.t16", "--deep"], "--deep is for versions; the id of a snapshot is its own pin"),
    (["verify", f"sha256:{'0' * 64}", "--shards-only"], "--shards-only is for versions"),
])  # fmt: skip
def test_what_names_nothing_stops_before_any_work(root, capsys, monkeypatch, words, said):
    monkeypatch.setattr(environment, "prepare", lambda _: pytest.fail("a run began"))
    monkeypatch.setenv("CORPUS_WORKERS", "1")  # so that what --workers sets is undone
    assert cli.main(["--root", str(root.layout.root), *words]) == cli.WRONG_USAGE
    assert said in capsys.readouterr().err


def test_without_the_tokenizers_library_nothing_begins_and_the_extra_is_named(root, capsys, monkeypatch):
    monkeypatch.setattr(environment, "prepare", lambda _: pytest.fail("a run began"))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert cli.main(["--root", str(root.layout.root), "tokenize", str(KEY)]) == cli.WRONG_USAGE
    assert "pip install 'corpus-assets[tokens]'" in capsys.readouterr().err


def test_a_version_that_is_not_published_is_built_first_and_its_failure_is_the_end(tmp_path, monkeypatch):
    layout = tiny.unbuilt(tmp_path)
    tiny_tokens.write(layout)
    asked = []
    monkeypatch.setattr(tokenize, "build", lambda _, key, *, verbose: asked.append((key, verbose)) or 1)
    assert tokenize.tokenize(layout, KEY, verbose=True) == 1
    assert asked == [(tiny.V1, True)]


def test_a_check_that_failed_and_stopped_nothing_is_named_at_the_end(root, capsys, monkeypatch):
    runs = builder.Builder(None, root.instance, {}, False, ["token_shards/outputs_as_written of tiny.v1.t16"])
    monkeypatch.setattr(runs.__class__, "observe", lambda *_: None)
    monkeypatch.setattr(tokenize, "opened", lambda *_, **__: nullcontext((runs, [])))
    monkeypatch.setattr(tokenize, "run_layer", lambda *_: [])
    assert tokenize.tokenize(root.layout, KEY) == 0
    said = "1 check failed, and stopped nothing: token_shards/outputs_as_written of tiny.v1.t16"
    assert said in capsys.readouterr().err


def test_the_ui_command_makes_a_snapshot_first_where_a_token_set_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(up, "tokenize", lambda _, key: asked.append(str(key)) or 0)
    monkeypatch.setattr(up, "build", lambda _, key: asked.append(str(key)) or 0)
    assert [up._build(Layout(Path()), key) for key in ("tiny.v1", "tiny.v1.t16")] == [0, 0]
    assert asked == ["tiny.v1", "tiny.v1.t16"]


# Verify.


def verified(root: Root, *words: str) -> int:
    return cli.main(["--root", str(root.layout.root), "verify", *words])


def test_a_whole_snapshot_passes_by_its_id_and_by_its_token_set(root, capsys):
    snapshot_id = last_snapshot(root.layout, KEY).snapshot_id
    assert verified(root, str(KEY)) == cli.OK
    by_tokens = capsys.readouterr().out
    assert verified(root, snapshot_id) == cli.OK
    assert capsys.readouterr().out == by_tokens
    assert by_tokens.splitlines()[-1] == f"{snapshot_id}: every check passed"
    assert "ok     corpus: tiny.v1 is the one it was made of" in by_tokens
    assert verified(root, snapshot_id, "--json") == cli.OK
    assert json.loads(capsys.readouterr().out)["snapshot"] == snapshot_id


@pytest.mark.parametrize("suffix", [".bin", ".docs.parquet"])
@pytest.mark.parametrize("damage", [lambda path: faults.flip_byte(path, 3), faults.truncate, Path.unlink])
def test_a_shard_that_is_short_changed_or_gone_is_named(root, capsys, suffix, damage):
    path = a_bin(root).with_suffix(suffix)
    damage(path)
    assert verified(root, str(KEY)) == cli.FAILED
    said = capsys.readouterr().out
    assert "FAILED files: " in said
    assert f"       {path}: {'sha256' if path.exists() else 'file'} is" in said
    assert said.rstrip().endswith("a check failed")
    unread = f"of {len(audit_snapshot.all_shards(last_snapshot(root.layout, KEY)))} shards, those damaged"
    for name in ("documents", "ids"):  # which were not read, or of which nobody knows whose bytes they are
        assert f"not checked: {name}: {unread}, named under files: 1" in said or f"FAILED {name}: " in said
        assert f"ok     {name}: " not in said
    assert "ok     counts: the manifest's counts are the sums of what it says of its shards" in said
    assert verified(root, str(KEY), "--json") == cli.FAILED
    checks = {one["name"]: one for one in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["files"]["ok"] is False
    assert not checks["documents"]["ok"]
    assert bool(checks["documents"]["not_checked"]) == (checks["documents"]["num_problems"] == 0)


@pytest.mark.parametrize("data", [b"", b"{}", None])
def test_a_manifest_that_is_not_the_one_of_the_id_ends_the_check(root, capsys, data):
    path = last_snapshot(root.layout, KEY).folder / manifest.NAME_ON_DISK
    path.unlink() if data is None else path.write_bytes(data)
    assert verified(root, str(KEY)) == cli.FAILED
    said = capsys.readouterr().out
    assert f"{path}: {'manifest is missing' if data is None else 'sha256 is'}" in said
    assert "not checked: files: the manifest cannot be used" in said


def test_a_snapshot_is_verified_without_its_corpus_and_against_another_one(root, tmp_path):
    snapshot = last_snapshot(root.layout, KEY)
    alone = manifest.folder_of(tmp_path, snapshot.snapshot_id)
    alone.parent.mkdir(parents=True)
    shutil.copytree(snapshot.folder, alone)
    report = verify_snapshot.verify(Layout(tmp_path), snapshot.snapshot_id)
    assert report.ok
    assert report.notes == ["tiny.v1, which it was made of, is not here: not compared"]
    faults.flip_byte(root.layout.version(tiny.V1) / "_MANIFEST.json", 40)
    report = verify_snapshot.verify(root.layout, snapshot.snapshot_id)
    assert [check.name for check in report.checks if not check.ok] == ["corpus"]
    with pytest.raises(ConfigError, match="has no snapshot"):
        verify_snapshot.verify(Layout(tmp_path), str(KEY))


def test_a_snapshot_is_named_by_its_folder_in_verify_and_diff(root, capsys):
    snapshot = last_snapshot(root.layout, KEY)
    assert verified(root, snapshot.folder.name) == cli.OK
    assert capsys.readouterr().out.splitlines()[-1] == f"{snapshot.snapshot_id}: every check passed"
    assert cli.main(["--root", str(root.layout.root), "diff", snapshot.folder.name, str(KEY)]) == cli.OK
    assert capsys.readouterr().out.splitlines()[-1] == "nothing differs"


@pytest.mark.parametrize("command", ["verify", "diff", "export", "contamination", "trace"])
def test_a_snapshot_that_is_not_here_is_wrong_usage_and_those_that_are_here_are_listed(root, tmp_path, capsys, command):
    (tmp_path / "quiz.jsonl").write_text('{"q": "one"}')
    missing = "0" * 64
    words = {
        "verify": [missing],
        "diff": [str(KEY), missing],
        "export": [missing, "--to", "mds", str(tmp_path / "out")],
        "contamination": [str(tmp_path / "quiz.jsonl"), "--snapshot", missing],
        "trace": ["web:1", "--snapshot", missing],
    }[command]
    assert cli.main(["--root", str(root.layout.root), command, *words]) == cli.WRONG_USAGE
    said = capsys.readouterr().err
    assert f"there is no snapshot sha256:{missing} below {root.layout.root}; here are sha256:" in said
    assert last_snapshot(root.layout, KEY).snapshot_id in said


@pytest.mark.parametrize("form", ["mds", "megatron"])
def test_an_export_that_takes_a_snapshot_says_so_of_a_version(root, tmp_path, capsys, form):
    words = ["export", "tiny.v1", "--to", form, str(tmp_path / "out")]
    assert cli.main(["--root", str(root.layout.root), *words]) == cli.WRONG_USAGE
    assert f"tiny.v1 is a version; --to {form} takes a snapshot: sha256:… or the token set" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("failed", [0, 1])
def test_as_json_the_snapshot_is_told_alone_and_progress_goes_to_standard_error(root, capsys, monkeypatch, failed):
    def made(*_, **__):
        print("tokens: packed")
        return failed

    monkeypatch.setattr(tokenize, "tokenize", made)
    assert cli.main(["--root", str(root.layout.root), "tokenize", str(KEY), "--json"]) == failed
    captured = capsys.readouterr()
    assert captured.err == "tokens: packed\n"
    snapshot = last_snapshot(root.layout, KEY)
    expected = {
        "snapshot_id": snapshot.snapshot_id,
        "folder": str(snapshot.folder),
        "counts": snapshot.document["counts"],
    }
    assert (json.loads(captured.out) if captured.out else None) == (None if failed else expected)
