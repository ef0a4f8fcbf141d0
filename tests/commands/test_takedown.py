"""`corpus takedown`: everything that holds a site or source, counted one by one; and the opt-out that it writes."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

from corpus_assets.commands import takedown, trace
from corpus_assets.plans import takedown_version
from corpus_assets.plans.evidence_lookup import DocumentRows
from corpus_assets.plans.takedown import Takedown
from corpus_assets.plans.takedown_version import Copy, VersionHolding
from formats import model_config, model_record, raw_set, run_record, site_lists
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


def test_what_no_version_published_is_held_by_its_raw_set_and_by_its_copy_elsewhere(trained, capsys):
    layout, *_ = trained
    value = told(layout, capsys, "sub.example.org", "--version", V1)
    assert (value["held"], value["versions"][0]["published"]) == (True, 0)
    assert value["versions"][0]["dropped"] == {"near_duplicate": 1}
    assert run(layout, "sub.example.org", "--version", V1) == 1
    out = capsys.readouterr().out
    assert "stays elsewhere: fables:0 (owl.txt), of which web:0 was a duplicate" in out
    assert "nothing" not in out.partition("sub.example.org: is held by")[2]
    assert "  1 document with its text, found elsewhere, which will stay" in out
    assert "  1 raw set (corpus/raw/web/20261130): take the source out" in out


@pytest.mark.parametrize("left", ["copies", "raw"])
def test_a_copy_alone_and_a_raw_set_alone_hold_it(left):
    copy = Copy("fables:0", "owl.txt", "web:0")
    more = {"copies": [copy]} if left == "copies" else {"raw": {"corpus/raw/web/20261130": 1}}
    assert Takedown("web", "source", versions=[VersionHolding("tiny.v1", 1, **more)]).held
    assert not Takedown("web", "source", versions=[VersionHolding("tiny.v1", 1)]).held


def test_where_its_raw_set_is_gone_a_dropped_document_is_held_by_nothing(trained, tmp_path, capsys):
    layout = Layout(shutil.copytree(trained[0].root, tmp_path / "root"))
    shutil.rmtree(layout.raw_sets("fables"))
    [version] = told(layout, capsys, "fables", "--version", V1)["versions"]
    assert (version["raw"], version["dropped"]["exact_duplicate"]) == ({}, 1)


def test_a_site_that_is_not_there_is_held_by_nothing_and_what_was_searched_is_told(trained, capsys):
    layout, *_ = trained
    value = told(layout, capsys, "notexample.org")
    assert (value["held"], value["versions"], value["snapshots"]) == (False, [], [])
    assert [one.partition(":")[0] for one in value["searched"]] == ["tiny.v1", "tiny.v2", "sha256", "sha256"]


def test_documents_without_a_web_address_are_not_called_free_of_a_site(trained, capsys):
    """The fables' URL is the name of a file: whose pages they are nobody can tell."""
    layout, *_ = trained
    value = told(layout, capsys, "notexample.org")
    [first, second] = value["not_searched"]
    words = "documents of source fables have no web address, so a site cannot be found in them; map the field"
    assert (f"tiny.v1: 5 {words}" in first, f"tiny.v2: 5 {words}" in second) == (True, True)
    assert run(layout, "notexample.org") == 1
    assert "nothing that was searched holds it" in capsys.readouterr().out
    assert told(layout, capsys, "fables")["not_searched"] == []


def test_records_whose_url_field_is_not_mapped_are_not_searched_wherever_their_file_lies(tmp_path, capsys):
    """A file at https:// names its lines by its own address, which is not that of the pages."""
    tiny_corpus.SOURCES["lines"] = {**tiny_corpus.SOURCES["web"], "title": "Lines", "source_rank": 40, "fields": {}}
    try:
        layout = tiny_corpus.write_inputs(tmp_path / "root", {"lines": site_corpus.SHOP, "web": tiny_corpus.WEB})
        tiny_corpus.build(layout, V1)
    finally:
        del tiny_corpus.SOURCES["lines"]
    assert run(layout, "shop.example.co.uk") == 1
    out = capsys.readouterr().out
    assert "not searched: tiny.v1: 5 documents of source lines have no web address" in out
    assert "`fields: {url: …}` in the ledger row" in out
    assert "of source web" not in out


def test_a_raw_set_of_no_version_holds_a_source_and_is_not_searched_for_a_site(trained, tmp_path, capsys):
    layout = Layout(shutil.copytree(trained[0].root, tmp_path / "root"))
    old = layout.raw_sets("web") / "20250101"
    old.mkdir()
    (old / raw_set.LOCK).write_text("0" * 64 + "\n")
    assert told(layout, capsys, "web")["raw_sets"] == ["corpus/raw/web/20250101"]
    assert told(layout, capsys, "fables")["raw_sets"] == []
    assert "corpus/raw/web/20250101 is a raw set of no published version" in str(
        told(layout, capsys, "notexample.org")["not_searched"]
    )


def test_pages_that_a_prefix_takes_along_are_counted(tmp_path, capsys):
    """`/p/1` begins `/p/10`, too; the fragment and the scheme make no other page."""
    layout = site_corpus.write_inputs(tmp_path / "root")
    site_corpus.write_config(layout, sites={})
    tiny_corpus.build(layout, site_corpus.V3)
    for what, others in (
        ("http://forum.example.net/public/owl#top".partition("#")[0], 0),
        ("https://forum.example.net/p", 2),
        ("https://forum.example.net/public/", 1),
        ("example.net", 0),
    ):
        assert told(layout, capsys, what)["versions"][0]["other_pages"] == others
    run(layout, "https://forum.example.net/p", "--write-opt-out", tmp_path / "new.jsonl", "--why", "a letter")
    out = capsys.readouterr().out
    assert "takes 2 documents along that are not exactly this page" in out


def test_a_list_that_a_config_pins_is_not_changed_and_a_new_one_begins_with_it(tmp_path, capsys, monkeypatch):
    layout = site_corpus.write_inputs(tmp_path / "root")
    tiny_corpus.build(layout, V1)
    monkeypatch.chdir(layout.root)
    before = (layout.root / "lists" / "asked.jsonl").read_bytes()
    words = ("example.net", "--why", "a letter", "--since", "2026-11-29", "--write-opt-out")
    with pytest.raises(ConfigError, match=r"v3\.yaml pins it.* lists/asked-2\.jsonl --from lists/asked\.jsonl"):
        run(layout, *words, "lists/asked.jsonl")
    assert (layout.root / "lists" / "asked.jsonl").read_bytes() == before
    assert run(layout, *words, "lists/asked-2.jsonl", "--from", "lists/asked.jsonl") == 1
    new = (layout.root / "lists" / "asked-2.jsonl").read_bytes()
    assert new.startswith(before)
    assert [one.what for one in site_lists.opt_outs(new, "")] == ["example.co.uk", "example.net"]
    assert '{name: asked-2, path: "lists/asked-2.jsonl", sha256: ' in capsys.readouterr().out
    assert (layout.root / "lists" / "asked.jsonl").read_bytes() == before
    with pytest.raises(ConfigError, match="is there already; leave --from out"):
        run(layout, *words, "lists/asked-2.jsonl", "--from", "lists/asked.jsonl")
    with pytest.raises(ConfigError, match="there is no such list"):
        run(layout, *words, "lists/asked-3.jsonl", "--from", "lists/none.jsonl")


def test_the_config_of_a_published_version_pins_its_list_also_where_its_file_is_gone(tmp_path):
    layout = site_corpus.make(tmp_path / "root")
    layout.config(site_corpus.V3).unlink()
    with pytest.raises(ConfigError, match=r"v3\.evidence/config\.yaml pins it"):
        run(layout, "example.net", "--write-opt-out", layout.root / "lists" / "asked.jsonl", "--why", "a letter")


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
    assert set(seen) <= {takedown_version._COLUMNS, ("id", "url", "verdict")}
    assert None not in seen


def test_rows_beyond_the_limit_are_counted(trained, capsys, monkeypatch):
    layout, *_ = trained
    monkeypatch.setattr(takedown_version, "MAX_LISTED", 1)
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
        (["example.org", "--write-opt-out", "x.jsonl", "--why", "a", "--since", "today"], "since: expected a date"),
        (["example.org", "--write-opt-out", "x.jsonl"], "say who asked, and how, by --why"),
        (["example.org", "--why", "a", "--since", "2026-11-29"], "--why, --since: needs --write-opt-out FILE"),
        (["example.org", "--from", "x.jsonl"], "--from: needs --write-opt-out FILE"),
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
    assert (written["added"], written["name"], written["path"]) == (True, "asked", "lists/asked.jsonl")
    assert [one.what for one in site_lists.opt_outs(listed.read_bytes(), listed)] == ["example.co.uk", "example.net"]
    assert run(layout, *words) == 1
    assert not json.loads(capsys.readouterr().out)["opt_out"]["added"]

    v4 = tiny_corpus.VersionKey("tiny", "v4")
    config = json.loads(layout.config(site_corpus.V3).read_text()) | {"version": "v4"}
    config["sites"] = {"opt_out": [{"name": "asked", "path": "lists/asked.jsonl", "sha256": written["sha256"]}]}
    layout.config(v4).write_text(json.dumps(config))
    tiny_corpus.build(layout, v4)
    value = told(layout, capsys, "example.net", "--version", v4)
    [version] = value["versions"]
    assert (version["published"], version["copies"], version["dropped"]) == (0, [], {"opt_out": 3})
    assert version["raw"] == {"corpus/raw/shop/20261130": 3}  # nothing else holds it
    shutil.rmtree(layout.raw_sets("shop"))
    assert not told(layout, capsys, "example.net", "--version", v4)["held"]
