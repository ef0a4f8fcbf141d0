"""The two commands of the README around what they run: which environment they ask for, and how often."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COPIED = (".ci/setup", "examples/starter/run", "tests/run", "pyproject.toml", "corpus_assets/constraints.txt")
PROGRAMS = ("python", "corpus", "ruff", "mypy")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts, with an environment whose programs only note how they were called."""
    for name in COPIED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    calls = shlex.quote(str(tmp_path / "calls"))
    note = f'printf "%s " "$(basename "$0")" "$@" >> {calls}; echo >> {calls}'
    programs = dict.fromkeys((f".venv/bin/{name}" for name in PROGRAMS), note)
    programs["bin/python3"] = f'exec {sys.executable} "$@"'
    for name, does in programs.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def calls(checkout: Path, *words: str) -> list[str]:
    """What the command called, a line a call."""
    noted = checkout / "calls"
    noted.write_text("")
    path = f"{checkout / 'bin'}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([checkout / words[0], *words[1:]], env={**os.environ, "PATH": path}, check=True, timeout=600)
    return [line.strip() for line in noted.read_text("utf-8").splitlines()]


def installs(called: list[str]) -> list[str]:
    """What pip was told to install, call by call."""
    return [line.split()[-1] for line in called if line.startswith("python -m pip install ")]


def test_without_the_ui_the_starter_is_built_tokenized_and_verified_without_what_tests_need(checkout):
    called = calls(checkout, "examples/starter/run", "--no-ui")
    assert installs(called) == [".[tokens]"]
    words = ("tokenize starter.v1.bpe-512", "verify starter.v1", "verify starter.v1.bpe-512")
    assert called[1:] == [f"corpus --root examples/starter {one}" for one in words]


def test_options_of_the_starter_go_to_the_ui_and_not_to_pip(checkout):
    called = calls(checkout, "examples/starter/run", "--port", "3999")
    assert installs(called) == [".[tokens]"]
    assert called[1:] == ["corpus --root examples/starter up --build starter.v1.bpe-512 --port 3999"]


def test_the_test_command_installs_what_tests_need_and_hands_on_its_arguments(checkout):
    called = calls(checkout, "tests/run", "--", "-k", "fox")
    assert installs(called) == [".[dev]"]
    assert called[-1].startswith("python -m pytest ")
    assert called[-1].endswith(" -k fox")


def test_commands_in_turn_install_once_as_the_larger_environment_serves_both(checkout):
    found = [installs(calls(checkout, *words)) for words in (["examples/starter/run"], ["tests/run"]) * 2]
    assert found == [[".[tokens]"], [".[dev]"], [], []]


def test_other_pins_are_installed(checkout):
    calls(checkout, "tests/run")
    with (checkout / "corpus_assets" / "constraints.txt").open("a") as file:
        file.write("# another\n")
    assert installs(calls(checkout, "examples/starter/run")) == [".[tokens]"]


def set_up(checkout: Path, extra: str) -> tuple[list[str], bool]:
    """What pip was told by `.ci/setup`, and whether it went well, as `.ci/run` asks: it goes on where it did not."""
    script = checkout / "peers"
    script.write_text(
        f"#!/usr/bin/env bash\nset -e; cd {shlex.quote(str(checkout))}; . .ci/setup; set_up {extra} || python failed"
    )
    script.chmod(0o755)
    called = calls(checkout, "peers")
    return installs(called), "python failed" not in called


def test_what_ci_sets_up_serves_the_other_commands_too(checkout):
    assert set_up(checkout, "dev,peers") == ([".[dev,peers]"], True)
    assert installs(calls(checkout, "tests/run")) == []
    assert installs(calls(checkout, "examples/starter/run")) == []
    assert set_up(checkout, "dev,peers") == ([], True)


def test_what_could_not_be_installed_does_not_count_as_installed(checkout):
    python = checkout / ".venv/bin/python"
    python.write_text(python.read_text() + '[ "$2" != pip ]\n')
    assert set_up(checkout, "dev,peers") == ([".[dev,peers]"], False)
    assert not (checkout / ".venv/.installed").exists()
