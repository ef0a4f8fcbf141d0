"""`corpus takedown`: everything that holds a site or source, counted one by one; and the opt-out that it writes."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

from corpus_assets.commands import takedown, trace
from corpus_assets.plans import takedown as plan
from corpus_assets.plans.evidence_lookup import DocumentRows
from formats import model_config, model_record, run_record, site_lists
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.model_record import ModelRecord
from tests import faults
from tests.commands import command_line
from tests.plans import site_corpus, tiny_corpus, tiny_snapshot
from tests.plans.tiny_corpus import V1, V2

WEB = ["web:0", "web:1", "web:2", "web:3"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("takedown")
    layout, snapshot = tiny_snapshot.copy(folder / "root")
    run_record.write(folder / "run.json", tiny_snapshot.trained(layout, snapshot))
    return layout, snapshot, folder / "run.json"


def run(layout: Layout, *words: object) -> int:
    return command_line.run(takedown, layout.root, "takedown", *map(str, words))


def told(layout: Layout, capsys, *words: object) -> dict:
    code = run(layout, *words, "--json")
    value = json.loads(capsys.readouterr().out)
    assert code == int(value["held"] or not value["complete"])
    return value


def held_ids(value: dict, key=V1) -> set[str]:
    [version] = [one for one in value["versions"] if one["version"] == str(key)]
    return {row["id"] for shard in version["shards"] for row in shard["listed"]}


def published(layout: Layout, ids: list[str], key=V1) -> dict[str, tuple[str, int]]:
    """id -> (shard, row in it) of what is published, by reading every shard."""
    found = {}
    for path in sorted(layout.version(key).glob("*.parquet")):
        for row, name in enumerate(pq.read_table(path, columns=["id"])["id"].to_pylist()):
            if name in ids:
                found[name] = (path.relative_to(layout.root).as_posix(), row)
    return found


@pytest.mark.parametrize("what", ["example.org", "https://example.org/", "web"])
def test_every_row_of_every_version_is_told_with_its_place(trained, capsys, what):
    layout, *_ = trained
    value = told(layout, capsys, what)
    assert {one["version"] for one in value["versions"]} == {str(V1), str(V2)}
    for key in (V1, V2):
        [version] = [one for one in value["versions"] if one["version"] == str(key)]
        mine = published(layout, WEB, key)
        places = {row["id"]: (shard["shard"], row["row"]) for shard in version["shards"] for row in shard["listed"]}
        assert places == mine
        assert sum(shard["rows"] for shard in version["shards"]) == version["published"] == len(mine)
        assert version["documents"] == version["published"] + sum(version["dropped"].values())
        assert version["raw"] == {"corpus/raw/web/20261130": version["documents"]}
    assert value["versions"][0]["documents"] == (3 if what.startswith("https") else 4)


def test_tokens_and_steps_are_those_of_trace(trained, capsys):
    layout, snapshot, record = trained
    value = told(layout, capsys, "example.org", "--run", record)
    [mine] = [one for one in value["snapshots"] if one["snapshot_id"] == snapshot.snapshot_id]
    command_line.run(trace, layout.root, "trace", "--source", "web", "--run", str(record), "--json")
    [by_trace] = json.loads(capsys.readouterr().out)["snapshots"]
    assert mine == by_trace
    assert len(value["snapshots"]) == 2
    served = [row for row in mine["served"] if row["servings"]]
    assert value["steps"] == sorted({one["step"] for row in served for one in row["servings"]}) != []


def test_without_a_run_no_steps_are_told(trained, capsys):
    layout, *_ = trained
    assert told(layout, capsys, "web")["steps"] is None


def test_what_stays_because_it_was_found_elsewhere_is_told(trained, capsys):
    """The owl of the web was dropped as a near duplicate of a fable, which a takedown of the web does not touch."""
    layout, *_ = trained
    [copy] = told(layout, capsys, "sub.example.org", "--version", V1)["versions"][0]["copies"]
    assert copy == {"id": "fables:0", "url": "owl.txt", "of": "web:0"}
    assert told(layout, capsys, "fables", "--version", V1)["versions"][0]["copies"] == []


def test_dropped_documents_alone_hold_nothing_and_are_told_all_the_same(trained, capsys):
    layout, *_ = trained
    value = told(layout, capsys, "sub.example.org", "--version", V1)
    assert (value["held"], value["complete"]) == (False, True)
    assert value["versions"][0]["dropped"] == {"near_duplicate": 1}
    assert run(layout, "sub.example.org", "--version", V1) == 0
    out = capsys.readouterr().out
    assert "stays elsewhere: fables:0 (owl.txt), of which web:0 was a duplicate" in out
    assert "sub.example.org: nothing holds it; searched:" in out


def test_a_site_that_is_not_there_is_held_by_nothing_and_what_was_searched_is_told(trained, capsys):
    layout, *_ = trained
    value = told(layout, capsys, "notexample.org")
    assert (value["held"], value["versions"], value["snapshots"]) == (False, [], [])
    assert [one.partition(":")[0] for one in value["searched"]] == ["tiny.v1", "tiny.v2", "sha256", "sha256"]


def test_people_read_rows_tokens_and_steps(trained, capsys):
    layout, snapshot, record = trained
    assert run(layout, "EXAMPLE.org.", "--version", V1, "--run", record) == 1
    out = capsys.readouterr().out
    for words in (
        "tiny.v1: 4 documents, 2 published",
        "  corpus/tiny/v1/shard-00001-of-00002.parquet: 2 rows",
        "    row 0: web:1",
        "  dropped: 1 near_duplicate",
        "  raw: 4 documents in corpus/raw/web/20261130",
        f"{snapshot.snapshot_id} of tiny.v1: 2 documents, ",
        "  trained on at steps 0, 1, ",
    ):
        assert words in out


def test_only_the_columns_that_are_needed_are_read_and_no_text(trained, capsys, monkeypatch):
    layout, *_ = trained
    seen = []
    read = DocumentRows._read
    monkeypatch.setattr(
        DocumentRows,
        "_read",
        lambda self, part, groups, columns: seen.append(columns) or read(self, part, groups, columns),
    )
    told(layout, capsys, "example.org")
    assert set(seen) <= {plan._COLUMNS, ("id", "url", "verdict")}
    assert None not in seen


def test_rows_beyond_the_limit_are_counted(trained, capsys, monkeypatch):
    layout, *_ = trained
    monkeypatch.setattr(plan, "MAX_LISTED", 1)
    [version] = told(layout, capsys, "web", "--version", V1)["versions"]
    assert sum(shard["rows"] for shard in version["shards"]) == 2
    assert sum(len(shard["listed"]) for shard in version["shards"]) == 1


def test_a_snapshot_whose_corpus_is_gone_is_called_not_searched(trained, capsys, tmp_path):
    """By URL nobody can tell; a source is found by the snapshot's own index."""
    layout, snapshot, _ = trained
    shutil.copytree(layout.root / "snapshots", tmp_path / "snapshots")
    alone = Layout(tmp_path)
    value = told(alone, capsys, "example.net")
    assert (value["held"], value["complete"], len(value["not_searched"])) == (False, False, 2)
    assert run(alone, "example.net") == 1
    assert "nothing that was searched holds it" in capsys.readouterr().out
    value = told(alone, capsys, "web")
    assert (value["held"], value["complete"]) == (True, True)
    assert snapshot.snapshot_id in {one["snapshot_id"] for one in value["snapshots"]}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["wep"], "'wep' is no source of the ledger or of a published version; there are fables, web"),
        (["co.uk"], "public suffix"),
        (["https://ann@example.org/"], "leave everything up to the @ out"),
        (["../inputs/a.tar#b"], "is a path, and documents of a file lie at no site; take its source down, by name"),
        (["/data/a.jsonl"], "is a path"),
        (["example.org/private"], "neither a domain nor a URL; write https:// before it"),
        ([""], "is no domain"),
        (["web", "--write-opt-out", "x.jsonl"], "web is a source, which no list names"),
        (["example.org", "--write-opt-out", "no/such/x.jsonl"], "its folder is missing"),
        (["example.org", "--write-opt-out", "x.jsonl", "--since", "today"], "since: expected a date"),
        (["example.org", "--write-opt-out", "x.jsonl", "--why", "two\nlines"], "why: expected one line"),
        (["example.org", "--version", "tiny.v9"], "tiny.v9 is not published"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_written(trained, tmp_path, monkeypatch, words, says):
    layout, *_ = trained
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=says):
        run(layout, *words)
    assert list(tmp_path.iterdir()) == []


def write_record(layout: Layout, name: str, positive: list[str], negative: list[str]) -> str:
    """What a training leaves beside its model: the name of the file that it made."""
    layout.models.mkdir(exist_ok=True)
    layout.model_config(name).touch()
    made_of = {"settings": {"positive": positive, "negative": negative}}
    file, kind, nothing = f"{name}-0123456789abcdef.bin", model_config.QUALITY, "0" * 64
    record = ModelRecord(
        model_record.FORMAT, model_record.VERSION, name, kind, nothing, made_of, file, nothing, 1, {}, {}
    )
    model_record.write(record, layout.model_record(name))
    return file


def test_models_that_were_trained_on_its_documents_are_told(trained, tmp_path, capsys):
    layout = Layout(shutil.copytree(trained[0].root, tmp_path / "root"))
    first = write_record(layout, "good", ["tales"], ["web"])
    other = write_record(layout, "fluent", ["tales"], [])
    of_source, of_site = (told(layout, capsys, what)["notes"] for what in ("web", "example.org"))
    assert [note for note in of_source if f"{first} was trained on it" in note] == of_source
    assert [note for note in of_site if f"{first} may have been trained on it" in note] == of_site
    assert len(of_source) == len(of_site) == 1
    assert other not in str(of_source + of_site)
    faults.flip_byte(layout.model_record("good"), 40)
    assert "good.json" in str(told(layout, capsys, "web")["not_searched"])


def test_where_nothing_is_published_nothing_is_called_free_of_it(tmp_path):
    for root in (tmp_path, tmp_path / "none"):
        with pytest.raises(ConfigError, match="nothing was searched"):
            command_line.run(takedown, root, "takedown", "harrowferry.example")


def test_a_damaged_evidence_is_refused_and_not_called_free_of_it(trained, tmp_path):
    layout, *_ = trained
    shutil.copytree(layout.root, tmp_path / "root")
    other = Layout(tmp_path / "root")
    faults.flip_byte(next((other.evidence(V1) / "documents").iterdir()), 200)
    with pytest.raises(CorruptDataError, match="sha256"):
        run(other, "example.net")


def test_the_opt_out_that_is_written_leaves_it_out_of_the_next_version(tmp_path, capsys):
    """And what takedown finds is what the entry leaves out."""
    layout = site_corpus.write_inputs(tmp_path / "root")
    site_corpus.write_config(layout, sites={})
    tiny_corpus.build(layout, site_corpus.V3)
    value = told(layout, capsys, "example.net")
    assert held_ids(value, site_corpus.V3) == {"shop:3", "shop:4"}
    assert [copy["id"] for copy in value["versions"][0]["copies"]] == ["shop:0"]  # of shop:1
    listed = tmp_path / "root" / "lists" / "asked.jsonl"
    words = ("example.net", "--write-opt-out", listed, "--why", "a letter", "--since", "2026-11-29", "--json")
    assert run(layout, *words) == 1
    written = json.loads(capsys.readouterr().out)["opt_out"]
    assert written["added"]
    assert [one.what for one in site_lists.opt_outs(listed.read_bytes(), listed)] == ["example.co.uk", "example.net"]
    assert run(layout, *words) == 1
    assert not json.loads(capsys.readouterr().out)["opt_out"]["added"]

    v4 = tiny_corpus.VersionKey("tiny", "v4")
    config = json.loads(layout.config(site_corpus.V3).read_text()) | {"version": "v4"}
    config["sites"] = {"opt_out": [{"name": "asked", "path": "lists/asked.jsonl", "sha256": written["sha256"]}]}
    layout.config(v4).write_text(json.dumps(config))
    tiny_corpus.build(layout, v4)
    value = told(layout, capsys, "example.net", "--version", v4)
    assert not value["held"]
    assert value["versions"][0]["dropped"] == {"opt_out": 3}
