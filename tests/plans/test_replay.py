"""Replayed steps name their documents as the corpus does, and say what they cannot name where it is gone."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

from corpus_assets.commands import replay as command
from corpus_assets.plans.replay import replay
from formats import corpus_shard, durable, run_record
from formats.errors import ConfigError, CorruptDataError, OrderError
from formats.layout import Layout
from tests import faults
from tests.commands import command_line
from tests.plans import tiny_snapshot
from tests.plans.tiny_corpus import V1

RANKS = [(step, rank) for step in range(tiny_snapshot.STEPS) for rank in range(3 if step < 7 else 2)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    layout, snapshot = tiny_snapshot.copy(tmp_path_factory.mktemp("replay") / "root")
    return layout, snapshot, tiny_snapshot.trained(layout, snapshot)


def test_every_document_of_every_step_is_named_as_in_the_evidence_and_the_shards(trained):
    layout, _, record = trained
    rows = {row["id"]: row for row in pq.read_table(layout.evidence(V1) / "documents").to_pylist()}
    published = {doc.id: doc for doc in corpus_shard.read_shards(layout.version(V1), split="train")}
    seen = set()
    for step, rank in RANKS:
        named = replay(layout, record, step, rank)
        assert named.notes == ()
        for one in named.served.sequences:
            for piece in one.documents:
                name = named.names[piece.id]
                assert (name.doc_id, name.url) == (rows[piece.id]["doc_id"], published[piece.id].meta["url"])
                assert name.source_id == published[piece.id].source_id
                seen.add(piece.id)
    assert seen == set(published)


def test_where_the_corpus_is_gone_the_rest_is_told(trained, tmp_path):
    layout, _, record = trained
    shutil.copytree(layout.root / "snapshots", tmp_path / "snapshots")
    here, there = replay(layout, record, 8, 1), replay(Layout(tmp_path), record, 8, 1)
    assert there.served.sequences == here.served.sequences
    assert {(n.source_id, n.doc_id, n.url) for n in there.names.values()} == {
        (n.source_id, None, None) for n in here.names.values()
    }
    assert there.notes == (f"doc_id and url cannot be told: version tiny.v1 is not below {tmp_path}",)


def test_another_build_of_the_version_is_never_asked(trained, tmp_path):
    layout, _, record = trained
    shutil.copytree(layout.root, tmp_path / "root")
    other = Layout(tmp_path / "root")
    path = other.version(V1) / "_MANIFEST.json"
    path.write_bytes(path.read_bytes().replace(b'"near_dropped": 1', b'"near_dropped": 0'))
    durable.write_lock(other.lock(V1), path)
    named = replay(other, record, 8, 1)
    assert "is another build" in named.notes[0]
    assert all(name.doc_id is None for name in named.names.values())


def test_evidence_that_was_damaged_is_named(trained, tmp_path):
    layout, _, record = trained
    shutil.copytree(layout.root, tmp_path / "root")
    for part in (Layout(tmp_path / "root").evidence(V1) / "documents").iterdir():
        faults.flip_byte(part, 40)
    with pytest.raises(CorruptDataError, match=r"part-0000[01].parquet: sha256"):
        replay(Layout(tmp_path / "root"), record, 8, 1)


@pytest.fixture
def saved(trained, tmp_path):
    run_record.write(tmp_path / "run.json", trained[2])
    (tmp_path / "state.json").write_text(json.dumps(trained[2].state))
    return trained[0], tmp_path


def run(layout, *words):
    return command_line.run(command, layout.root, "replay", *map(str, words))


def test_the_command_tells_sequences_and_documents(saved, capsys):
    layout, folder = saved
    assert run(layout, folder / "run.json", "--step", 8, "--rank", 1) == 0
    told = capsys.readouterr().out
    named = replay(layout, run_record.read(folder / "run.json"), 8, 1)
    assert "step 8, rank 1 of 2: 3 sequences of 16 tokens" in told
    for one in named.served.sequences:
        assert f"position {one.position}: row {one.row} of {one.bucket}; {one.shard} row {one.shard_row}" in told
        for piece in one.documents:
            name = named.names[piece.id]
            assert f"tokens {piece.begin} to {piece.end}  {piece.id}" in told
            assert f"doc_id {name.doc_id}  {name.url}" in told
    assert "note:" not in told


def test_json_has_the_same_and_tokens_where_they_are_asked_for(saved, capsys):
    layout, folder = saved
    assert run(layout, folder / "state.json", "--step", 30, "--rank", 5, "--world", 6, "--tokens", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["step"], told["rank"], told["dp_world"], told["is_past"]) == (30, 5, 6, False)
    (one,) = told["sequences"]
    assert len(one["tokens"]) == 16
    assert {"begin", "end", "id", "first", "doc_id", "source_id", "url"} == set(one["documents"][0])
    assert "not behind the saved state" in told["notes"][0]


@pytest.mark.parametrize(
    ("file", "words", "error", "says"),
    [
        ("state.json", ["--step", 8, "--rank", 1], OrderError, "--world"),
        ("state.json", ["--step", 8, "--rank", 1, "--world", 4], OrderError, "multiple of 4"),
        ("state.json", ["--step", 8, "--rank", 1, "--world", 2, "--split", "test"], ConfigError, "split"),
        ("state.json", ["--step", 8, "--rank", 1, "--uneven"], ConfigError, "--world"),
        ("run.json", ["--step", 8, "--rank", 1, "--world", 3], OrderError, "ranks are 3, expected 2"),
        ("run.json", ["--step", 8, "--rank", 1, "--split", "val"], ConfigError, "run record says"),
        ("run.json", ["--step", 8, "--rank", 9], OrderError, "rank is 9 of 2"),
        ("run.json", ["--step", -1, "--rank", 0], OrderError, "--step is -1, expected 0 or more: steps count from 0"),
        ("state.json", ["--step", 8, "--rank", -1], OrderError, "--rank is -1, expected 0 or more: ranks count"),
        ("none.json", ["--step", 8, "--rank", 1], OrderError, "none.json: cannot be read"),
    ],
)
def test_what_does_not_fit_is_refused(saved, file, words, error, says):
    layout, folder = saved
    with pytest.raises(error, match=says):
        run(layout, folder / file, *words)


def test_a_snapshot_that_is_not_here_is_named(saved, tmp_path):
    with pytest.raises(ConfigError, match=r"no snapshot sha256:[0-9a-f]{64}, which .*run\.json names, below"):
        run(Layout(tmp_path / "other"), saved[1] / "run.json", "--step", 8, "--rank", 1)
