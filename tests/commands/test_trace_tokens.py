"""`corpus trace` over snapshots: what it prints, as text and as JSON, its exit codes, and what goes with what."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

from corpus_assets.commands import trace
from corpus_assets.plans.snapshot_corpus import snapshots_below
from formats import durable, run_record
from formats.errors import ConfigError, OrderError
from formats.layout import Layout
from formats.naming import TokensKey
from tests.commands import command_line
from tests.plans import tiny_corpus, tiny_snapshot


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    layout, snapshot = tiny_snapshot.copy(folder / "root")
    run_record.write(folder / "run.json", tiny_snapshot.trained(layout, snapshot))
    return layout, snapshot, folder / "run.json"


@pytest.fixture(scope="module")
def key(trained):
    """The token set of the snapshot, whose lock names it."""
    layout, snapshot, _ = trained
    key = TokensKey(tiny_corpus.V1, snapshot.document["tokens"])
    durable.write_digest(layout.snapshot_lock(key), snapshot.folder.name)
    return str(key)


def run(layout, *words):
    return command_line.run(trace, layout.root, "trace", *map(str, words))


def token(snapshot, offset=0):
    return ["--snapshot", snapshot.snapshot_id, "--shard", "train/web/00000.bin", "--offset", offset]


def test_a_token_is_told_from_its_place_to_the_ledger(trained, capsys):
    layout, snapshot, _ = trained
    assert run(layout, *token(snapshot, 17)) == 0
    told = capsys.readouterr().out
    for words in (
        "train/web/00000.bin token 17: token 1 of row 1",
        "row 1 of bucket web, split train",
        ": its token ",
        "crawl date  2026-11-30T00:00:00Z",
        "passed      length, charset, gopher, repetition",
        "licence CC-BY-4.0 OR LicenseRef-Own",
        "ledger row  web: CC-BY-4.0 OR LicenseRef-Own; retrieved 2026-11-30; digest ",
        "raw line    corpus/raw/web/20261130/part-00000.jsonl.zst line ",
    ):
        assert words in told
    assert "note:" not in told


def test_json_has_the_same_chain(trained, capsys):
    layout, snapshot, _ = trained
    assert run(layout, *token(snapshot, 17), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["found"], told["place"]["row"], told["crawl_date"]) == (True, 1, "2026-11-30T00:00:00Z")
    assert told["document"]["id"] == told["span"]["id"]
    assert len(told["document"]["raw"]["text"]) == 200
    assert run(layout, *token(snapshot, 17), "--json", "--text") == 0
    assert json.loads(capsys.readouterr().out)["document"]["raw"]["text"] in (tiny_corpus.FERRY, tiny_corpus.CLOCK)


def test_a_copy_without_its_corpus_says_what_it_cannot_tell(trained, tmp_path, capsys):
    layout, snapshot, _ = trained
    shutil.copytree(layout.root / "snapshots", tmp_path / "snapshots")
    assert run(Layout(tmp_path), *token(snapshot, 17)) == 0
    told = capsys.readouterr().out
    assert "ledger row  web; digest " in told
    assert "note: doc_id, url, crawl date, verdicts, cluster, licence and the ledger row's words cannot be told" in told
    assert "crawl date " not in told.replace("url, crawl date", "")


@pytest.mark.parametrize("name", ["{id}", "{folder}", "{key}"])
def test_a_snapshot_may_be_named_by_id_folder_or_token_set(trained, key, capsys, name):
    layout, snapshot, _ = trained
    name = name.format(id=snapshot.snapshot_id, folder=snapshot.folder.name, key=key)
    assert run(layout, "--snapshot", name, "--shard", "train/web/00000.bin", "--offset", 17) == 0
    assert run(layout, "web:1", "--snapshot", name) == 0
    assert capsys.readouterr().out.count(f"{snapshot.snapshot_id} of tiny.v1") == 2


def test_a_dropped_document_is_in_no_snapshot_and_the_way_to_its_reason_is_told(trained, capsys):
    layout, _, record = trained
    dropped = next(
        row["id"]
        for row in pq.read_table(layout.evidence(tiny_corpus.V1) / "documents").to_pylist()
        if row["shard"] is None
    )
    assert run(layout, dropped, "--run", record) == 1
    assert f"hint: `corpus trace {dropped}` says what became of it" in capsys.readouterr().out.splitlines()[-1]
    assert run(layout, "--source", "nobody", "--run", record) == 1
    assert "hint" not in capsys.readouterr().out


def test_padding_is_not_found(trained, capsys):
    layout, snapshot, _ = trained
    (shard,) = (one for one in snapshot.shards("train") if one.name == "train/web/00000.bin")
    last = shard.sequences * tiny_snapshot.SEQ_LEN - 1
    assert shard.tokens <= last
    assert run(layout, *token(snapshot, last)) == 1
    assert "note: this token is padding" in capsys.readouterr().out


def test_the_way_back_lists_rows_and_with_a_record_steps_and_ranks(trained, capsys):
    layout, snapshot, record = trained
    assert run(layout, "web:1", "--snapshots") == 0
    told = capsys.readouterr().out
    assert told.count("1 document, ") == 2
    assert f"{snapshot.snapshot_id} of tiny.v1: 1 document, " in told
    assert "train/web/00000.bin rows " in told
    assert "step" not in told
    assert run(layout, "web:1", "--run", record) == 0
    told = capsys.readouterr().out
    assert "of tiny.v2" not in told
    assert "rank 1 of 2 (position " in told
    assert run(layout, "--source", "web", "--snapshot", snapshot.snapshot_id, "--run", record, "--json") == 0
    (held,) = json.loads(capsys.readouterr().out)["snapshots"]
    assert held["documents"] == 2
    assert {"position", "step", "rank", "dp_world"} == set(held["served"][0]["servings"][0])


def test_many_pieces_are_cut_for_people(trained, capsys, monkeypatch):
    layout, snapshot, _ = trained
    monkeypatch.setattr("corpus_assets.commands.trace_tokens.SHOWN_PIECES", 1)
    assert run(layout, "--domain", "example.org", "--snapshot", snapshot.snapshot_id) == 0
    assert "more; --json lists them" in capsys.readouterr().out


def test_what_is_not_there_fails_and_says_what_was_searched(trained, tmp_path, capsys):
    layout, snapshot, _ = trained
    assert run(layout, "--prefix", "https://nowhere.example/", "--snapshots") == 1
    told = capsys.readouterr().out
    assert "not found; searched:" in told
    assert f"{snapshot.snapshot_id}: the indexes of " in told
    assert run(layout, "nobody:1", "--snapshots", "--json") == 1
    assert json.loads(capsys.readouterr().out)["found"] is False
    with pytest.raises(ConfigError, match="no snapshot below"):
        run(Layout(tmp_path), "web:1", "--snapshots")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--shard", "train/web/00000.bin"], "--snapshot and --offset are missing"),
        (["--shard", "train/web/00000.bin", "--offset", "3"], "--snapshot is missing"),
        (["--shard", "train/web/00000.bin", "--snapshot", "tiny.v1.t16"], "--offset is missing"),
        (["web:1", "--offset", "3"], "--shard is missing"),
        (["--snapshot", "tiny.v1.t16", "--offset", "3"], "--shard is missing"),
        (["--shard", "a", "--snapshot", "tiny.v1.t16", "--offset", "3", "--snapshots"], "do not go with --shard"),
        (["web:1", "--snapshots", "--snapshot", "sha256:" + "a" * 64], "expected one of them"),
        (["web:1", "--snapshots", "--version", "tiny.v1"], "--version goes with the corpus"),
        (["web:1", "--snapshot", "latest"], "snapshot id is"),
        (["--domain", "a/b", "--snapshots"], "is no domain"),
        (["--prefix", "", "--snapshots"], "an empty prefix"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(trained, words, says):
    with pytest.raises(ConfigError, match=says):
        run(trained[0], *words)


def test_a_record_goes_with_its_own_snapshot_alone(trained, tmp_path):
    layout, snapshot, record = trained
    (other,) = set(snapshots_below(layout)) - {snapshot.snapshot_id}
    for more in (["--snapshots"], ["--snapshot", other]):
        with pytest.raises(ConfigError, match="--run is of snapshot sha256:"):
            run(layout, "web:1", "--run", record, *more)
    with pytest.raises(OrderError, match="cannot be read"):
        run(layout, "web:1", "--run", tmp_path / "none.json")
    with pytest.raises(ConfigError, match=rf"no snapshot {snapshot.snapshot_id}, which .*run\.json names, below"):
        run(Layout(tmp_path), "web:1", "--run", record)
