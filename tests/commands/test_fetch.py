import argparse
import json
from pathlib import Path

import pytest

from corpus_assets import cli
from corpus_assets.commands import fetch as command
from corpus_assets.commands import ledger as ledger_command
from formats import ledger
from formats.errors import ConfigError, TransientError
from formats.layout import Layout
from formats.ledger import LedgerFile, LedgerRow
from tests.commands.command_line import run
from tests.fault_server import Answer, FaultServer
from tests.resources.download_helpers import sha256, some_bytes

TEXT = {"/a.txt": some_bytes(30_000, "a"), "/b.txt": some_bytes(40_000, "b")}


def row(urls, **changes):
    files = tuple(LedgerFile(url, sha256(content), len(content)) for url, content in urls.items())
    values = {
        "source_id": "fables",
        "title": "Fables",
        "kind": "text",
        "files": files,
        "license_spdx": "CC0-1.0",
        "license_evidence": "stated on the page",
        "attribution": "nobody",
        "retrieved": "2026-01-31",
        "bucket": "books",
        "profile": "prose",
    }
    return LedgerRow(**{**values, **changes})


@pytest.fixture
def server():
    with FaultServer() as server:
        yield server


@pytest.fixture
def root(tmp_path, server):
    """An artifacts root whose ledger has two files on the server and one beside it."""
    urls = {server.put(path, content): content for path, content in TEXT.items()}
    layout = Layout(tmp_path / "root")
    (layout.corpus / "own").mkdir(parents=True)
    (layout.corpus / "own" / "c.txt").write_bytes(b"a fox\n")
    ledger.append(layout.ledger, row({**urls, "own/c.txt": b"a fox\n"}))
    return layout.root


def test_a_source_is_fetched_into_the_cache_and_shown(root, server, capsys):
    assert run(command, root, "fetch", "fables") == 0
    for content in TEXT.values():
        assert (Layout(root).cache / sha256(content)).read_bytes() == content
    out = capsys.readouterr().out
    assert out.splitlines()[1].split() == ["verified", "30,000", "30,000", server.url("/a.txt")]
    assert out.endswith("fables: 3 files, 68.4 KiB, 0 B to fetch\n")


def test_a_rerun_asks_for_nothing_with_the_artifacts_wiped_or_not(root, server, tmp_path):
    cache = str(tmp_path / "shared")
    assert run(command, root, "fetch", "fables", "--cache", cache) == 0
    assert not Layout(root).cache.exists()
    assert run(command, root, "fetch", "fables", "--cache", cache) == 0
    assert len(server.requests) == 2


def test_a_dry_run_lists_each_state_with_bytes_and_asks_for_nothing(root, server, capsys):
    server.files["/a.txt"].script += [Answer(drop_after=10_000), *[Answer(status=404)]]
    with pytest.raises(ConfigError, match="404"):
        run(command, root, "fetch", "fables", "--parallel", "1")
    asked = len(server.requests)
    server.files["/b.txt"].content = b""
    (Layout(root).cache / sha256(TEXT["/b.txt"])).unlink()
    capsys.readouterr()
    assert run(command, root, "fetch", "fables", "--dry-run", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(file["state"], file["num_bytes"], file["verified_bytes"]) for file in shown["files"]] == [
        ("partial", 30_000, 10_000),
        ("planned", 40_000, 0),
        ("verified", 6, 6),
    ]
    assert (shown["num_bytes"], shown["verified_bytes"]) == (70_006, 10_006)
    assert len(server.requests) == asked


def test_json_names_the_paths(root, capsys):
    assert run(command, root, "fetch", "fables", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["files"][0]["path"] == str(Layout(root).cache / sha256(TEXT["/a.txt"]))
    assert shown["files"][2]["path"] == str(Layout(root).corpus / "own/c.txt")


def test_resume_only_refuses_a_fresh_start(root, server):
    with pytest.raises(ConfigError, match="--resume-only: 2 of 3 files"):
        run(command, root, "fetch", "fables", "--resume-only")
    assert server.requests == []


def test_the_failures_of_other_files_are_shown_too_once(root, server, capsys):
    server.files["/a.txt"].script += [Answer(status=404)]
    server.files["/b.txt"].content = some_bytes(40_000, "changed")
    assert cli.main(["--root", str(root), "fetch", "fables", "--parallel", "1"]) == cli.WRONG_USAGE
    said = capsys.readouterr().err
    assert [said.count(words) for words in ("corpus: also: ", "b.txt: sha256 is")] == [1, 1]
    assert said.index("404") < said.index("corpus: also: ")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"license_spdx": "No-Such-License-9"}, "license_spdx"),
        ({"retrieved": "2026-02-30"}, "retrieved"),
    ],
)
def test_a_source_whose_row_breaks_a_rule_is_not_fetched(root, server, changes, words):
    bad = row({server.url("/a.txt"): TEXT["/a.txt"]}, source_id="bad", **changes)
    with open(Layout(root).ledger, "a") as file:
        file.write(json.dumps(ledger.to_json(bad)) + "\n")
    with pytest.raises(ConfigError, match=words):
        run(command, root, "fetch", "bad")
    assert server.requests == []
    assert run(command, root, "fetch", "fables") == 0


def test_an_unknown_source_is_named(root):
    with pytest.raises(ConfigError, match="0 rows of source nobody"):
        run(command, root, "fetch", "nobody")


def test_a_server_that_is_gone_is_a_transient_error(root, server):
    for file in server.files.values():
        file.script += [Answer(status=503, headers={"Retry-After": "999999"})]
    with pytest.raises(TransientError, match="asks to wait"):
        run(command, root, "fetch", "fables")


@pytest.mark.parametrize("words", [["--cache", "x", "fetch", "fables"], ["fetch", "fables", "--cache", "x"]])
def test_the_cache_may_be_named_before_and_behind_the_command(words):
    top = argparse.ArgumentParser()
    top.add_argument("--cache", type=Path)
    command.add_parser(top.add_subparsers())
    assert top.parse_args(words).cache == Path("x")


TOKEN = "hunter2-of-the-forum"


@pytest.fixture
def limited(root, server, monkeypatch):
    """Rules of this machine, and a server that wants the token which they name."""
    server.wants = f"Bearer {TOKEN}"
    monkeypatch.setenv("FABLES_TOKEN", TOKEN)
    text = "sources:\n  fables: {bytes_per_second: 5MiB, connections: 1, authorization_from: FABLES_TOKEN}\n"
    Layout(root).fetch_rules.write_text(text + "hosts: {127.0.0.1: {requests_per_second: 500}, e.org: {}}\n")


@pytest.mark.usefixtures("limited")
def test_credentials_and_limits_of_this_machine_hold_and_no_secret_is_written_or_said(root, capsys, caplog):
    caplog.set_level("DEBUG")
    assert run(command, root, "fetch", "fables", "--json") == 0
    said = capsys.readouterr()
    assert TOKEN not in said.out + said.err + caplog.text
    files = [path for path in root.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


@pytest.mark.usefixtures("limited")
def test_a_dry_run_tells_the_limits_in_force_and_whether_the_variables_are_set(root, server, capsys, monkeypatch):
    monkeypatch.delenv("FABLES_TOKEN")
    assert run(command, root, "fetch", "fables", "--dry-run") == 0
    assert capsys.readouterr().out.endswith(
        "source fables: 1 connection, 5.0 MiB a second, credentials from FABLES_TOKEN (not set)\n"
        "host 127.0.0.1: 500 requests a second\n"
    )
    assert run(command, root, "fetch", "fables", "--dry-run", "--json") == 0
    source, host = json.loads(capsys.readouterr().out)["rules"]
    assert (source["of"], source["connections"], source["authorization_from"]) == ("source fables", 1, "FABLES_TOKEN")
    assert (host["of"], host["requests_per_second"]) == ("host 127.0.0.1", 500)
    with pytest.raises(ConfigError, match="FABLES_TOKEN is not set"):
        run(command, root, "fetch", "fables")
    assert server.requests == []


@pytest.mark.usefixtures("limited")
def test_what_wants_a_token_is_measured_with_it(root, server):
    rules = Layout(root).fetch_rules
    rules.write_text(rules.read_text().replace("fables:", "more:"))
    url = server.put("/more.txt", b"a fox\n")
    words = ("--license", "CC0-1.0", "--kind", "text")
    assert run(ledger_command, root, "ledger", "add", "more", url, *words) == 0
    with pytest.raises(ConfigError, match="answers 401"):
        run(ledger_command, root, "ledger", "add", "others", url, *words)


def test_a_dry_run_without_rules_says_so(root, capsys):
    assert run(command, root, "fetch", "fables", "--dry-run") == 0
    assert capsys.readouterr().out.endswith("68.4 KiB to fetch\nno limits, no credentials\n")
