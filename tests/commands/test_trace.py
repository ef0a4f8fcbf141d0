"""`corpus trace`: what it prints, as text and as JSON, and its exit codes."""

import json

import pytest

from corpus_assets.commands import trace, trace_words
from formats.errors import ConfigError
from formats.layout import Layout
from tests.commands import command_line
from tests.plans import tiny_corpus


@pytest.fixture(scope="module")
def layout(tmp_path_factory) -> Layout:
    return tiny_corpus.copy(tmp_path_factory.mktemp("trace") / "root")


def run(layout: Layout, *words: str) -> int:
    return command_line.run(trace, layout.root, "trace", *words)


def test_a_kept_document_is_told_from_shard_to_ledger(layout, capsys):
    assert run(layout, "fables:3", "--version", "tiny.v1") == 0
    told = capsys.readouterr().out
    for words in (
        "tiny.v1  fables:3  kept",
        "corpus/tiny/v1/shard-00000-of-00002.parquet row 1 (row 1 of the version), split train",
        "licence CC0-1.0",
        "PII         email 1",
        "part-00000.jsonl.zst line 3 (from 0), crawled 2026-11-30T00:00:00Z",
        "Whoever has a question about the garden",
        "fables.jsonl (",
        "ledger row  fables: CC0-1.0; retrieved 2026-11-30; digest ",
        "evidence    stated on the cover",
        "attribution the house",
    ):
        assert words in told
    assert "apple trees" not in told
    assert run(layout, "fables:3", "--version", "tiny.v1", "--text") == 0
    assert "apple trees" in capsys.readouterr().out


def test_every_published_version_is_searched_unless_one_is_named(layout, capsys):
    assert run(layout, "https://sub.example.org/owl") == 0
    told = capsys.readouterr().out
    assert "tiny.v1  web:0  dropped: near_duplicate" in told
    assert "tiny.v2  web:0  dropped: train_near_val" in told
    assert "keeper      fables:0, Jaccard 0.852941, shard-00000-of-00002.parquet (row 0 of the version)" in told


def test_a_reject_is_told(layout, capsys):
    assert run(layout, "fables.jsonl#3", "--version", "tiny.v1") == 0
    told = capsys.readouterr().out
    assert "tiny.v1  a record of fables  rejected: broken_json" in told
    assert "broken json, at position 3 of its file" in told


def test_json_has_the_same_chain(layout, capsys):
    assert run(layout, "leak.txt", "--version", "tiny.v1", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    (document,) = told["documents"]
    assert (told["found"], document["id"], document["verdict"]) == (True, "fables:4", "contaminated")
    assert document["contamination"]["eval_item"] == "0.question"
    assert len(document["raw"]["text"]) == trace.EXCERPT_CHARS
    assert run(layout, "leak.txt", "--version", "tiny.v1", "--json", "--text") == 0
    assert json.loads(capsys.readouterr().out)["documents"][0]["raw"]["text"] == tiny_corpus.LEAK


def test_what_is_not_found_fails_and_says_what_was_searched(layout, capsys):
    assert run(layout, "nothing", "--version", "tiny.v1") == 1
    assert "nothing: not found; searched:\n  tiny.v1: 9 documents" in capsys.readouterr().out
    for words in (["nothing"], ["--source", "nobody"], ["--domain", "nowhere.example"], ["--prefix", "no"]):
        assert run(layout, *words, "--json") == 1
        told = json.loads(capsys.readouterr().out)
        assert told["found"] is False
        assert told["searched"]


def test_the_way_back_lists_shards(layout, capsys):
    assert run(layout, "--source", "web", "--version", "tiny.v1") == 0
    told = capsys.readouterr().out
    assert "tiny.v1  4 documents, 2 kept" in told
    assert "shard-00001-of-00002.parquet  2 rows of web (CC-BY-4.0 OR LicenseRef-Own)" in told
    assert "dropped: 1 near_duplicate" in told
    assert run(layout, "--domain", "sub.example.org", "--version", "tiny.v1") == 0
    assert "tiny.v1  1 document, 0 kept" in capsys.readouterr().out
    assert run(layout, "--prefix", "fables.jsonl", "--version", "tiny.v1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["versions"][0]["rejects"] == {"fables": {"broken_json": 1}}
    assert run(layout, "--source", "fables", "--version", "tiny.v1") == 0
    assert "rejected: 1 record of fables, broken_json" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["a", "--version", "tiny.v9"], ["a", "--version", "tiny"], ["--domain", "a/b"]])
def test_wrong_usage_is_a_config_error(layout, words):
    with pytest.raises(ConfigError):
        run(layout, *words)


def test_one_thing_is_asked_at_a_time(layout):
    with pytest.raises(ConfigError, match="expected ID_OR_URL, --source"):
        run(layout)
    for words in (["a", "--source", "b"], ["--source", "a", "--domain", "b"]):
        with pytest.raises(SystemExit):
            run(layout, *words)


def test_a_root_without_published_versions_is_a_config_error(tmp_path):
    with pytest.raises(ConfigError, match="corpus build"):
        run(Layout(tmp_path), "a")


@pytest.mark.parametrize(
    ("text", "shown"), [("a\x1b[31mb", "a\\x1b[31mb"), ("a\u202eb", "a\\u202eb"), ("né\n\tü", "né\n\tü")]
)
def test_a_text_from_outside_moves_no_terminal(text, shown):
    assert trace_words.plain(text) == shown
