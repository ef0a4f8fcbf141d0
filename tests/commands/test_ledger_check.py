"""`corpus ledger check`: every violation is printed, as text and as JSON."""

import json
from pathlib import Path

import pytest

from corpus_assets.commands import ledger as command
from formats.layout import Layout
from tests.commands.command_line import run
from tests.commands.ledger_roots import add, with_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_files(tmp_path / "root")


def test_check_prints_every_violation_and_fails(root, capsys):
    add(root, "fables", root / "in" / "a.txt")
    assert run(command, root, "ledger", "check") == 0
    with Layout(root).ledger.open("a") as file:
        file.write('{"source_id": "Web"}\n[]\n')
    capsys.readouterr()
    assert run(command, root, "ledger", "check") == 1
    lines = capsys.readouterr().out.splitlines()
    assert "LEDGER.jsonl line 2: field license_spdx: missing" in lines
    assert any(line.startswith("LEDGER.jsonl line 3: expected an object") for line in lines)


def test_check_as_json_says_what_the_text_says(root, capsys):
    add(root, "fables", root / "in" / "a.txt")
    with Layout(root).ledger.open("a") as file:
        file.write("{\n")
    capsys.readouterr()
    assert run(command, root, "ledger", "check", "--json") == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["ok"], said["rows"]) == (False, 1)
    assert [(v["line"], v["field"]) for v in said["violations"]] == [(2, "")]


def test_check_of_a_missing_ledger_fails_in_words(tmp_path, capsys):
    assert run(command, tmp_path, "ledger", "check") == 1
    assert "corpus ledger add" in capsys.readouterr().out
