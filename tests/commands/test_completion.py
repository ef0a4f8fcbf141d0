"""Completion in real shells: what a person gets for a Tab."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from corpus_assets import cli
from corpus_assets.commands import completion
from tests.assets import tiny

needs_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed (Debian: zsh)")
EVIL = "x$(touch evil).yaml"


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    for shell in completion.SHELLS:
        (folder / shell).write_text(completion.script(cli.parser(), shell), "utf-8")
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with a version, a token set and, of no meaning to us, a file whose name is a command."""
    layout = tiny.unbuilt(tmp_path_factory.mktemp("completion") / "root")
    folder = layout.config(tiny.V1).parent
    (folder / "v1.bpe-512.yaml").touch()
    (folder / EVIL).touch()
    return layout.root


def in_bash(script: Path, folder: Path, *words: str, environment: dict[str, str] | None = None) -> set[str]:
    """What bash offers for the last of the words, as it calls a completion."""
    text = f"""
    source {script / "bash"}
    COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMP_LINE="$*"; COMP_POINT=${{#COMP_LINE}}
    function_of=$(complete -p corpus | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
    "$function_of" corpus "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD - 1]}}"
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    ran = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", text, "bash", "corpus", *words],
        cwd=folder, capture_output=True, text=True, check=True, timeout=600,
        env={"PATH": os.environ["PATH"], **(environment or {})},
    )  # fmt: skip
    assert ran.stderr == ""
    return {line.strip() for line in ran.stdout.splitlines() if line.strip()}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sta"], {"status"}),
        (["config", ""], {"new", "show", "try"}),
        (["up", "--po"], {"--port"}),
        (["build", ""], {"tiny.v1"}),
        (["verify", "ti"], {"tiny.v1", "tiny.v1.bpe-512"}),
        (["preview", "t"], {"tales"}),
        (["preview", "web", "--config", ""], {"tiny.v1"}),
        (["completion", ""], {"bash", "zsh"}),
    ],
)
def test_bash_offers_commands_options_versions_token_sets_and_sources(scripts, root, words, offered):
    assert in_bash(scripts, root / "inputs", *words) == offered


def test_bash_offers_files_where_a_file_is_asked_for(scripts, root):
    assert in_bash(scripts, root, "ledger", "add", "more", "inputs/we") == {"inputs/web.jsonl"}


def test_the_root_may_be_named_by_the_environment_and_may_be_missing(scripts, root, tmp_path):
    assert in_bash(scripts, tmp_path, "build", "", environment={"CORPUS_ROOT": str(root)}) == {"tiny.v1"}
    assert in_bash(scripts, tmp_path, "build", "") == set()


def test_no_name_of_a_file_is_run_as_a_command(scripts, root):
    in_bash(scripts, root, "verify", "")
    assert not list(root.rglob("evil"))


INTERACTIVE = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source {script}"),
    "zsh": (["zsh", "-f", "-i"], 'autoload -Uz compinit; compinit -u -D; eval "$(< {script})"'),
}


@pytest.mark.parametrize("shell", ["bash", pytest.param("zsh", marks=needs_zsh)])
@pytest.mark.parametrize(
    ("typed", "becomes"),
    [("bui\tti\t", "build tiny.v1"), ("preview ta\t", "preview tales"), ("up --po\t", "up --port")],
)
def test_a_tab_completes_the_line_as_it_is_typed(scripts, root, shell, typed, becomes):
    """In a terminal of its own."""
    command, reads = INTERACTIVE[shell]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(root)
        os.execvpe(command[0], command, {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(root)})
    try:
        os.write(terminal, f'{reads.format(script=scripts / shell)}\ncorpus() {{ echo "got:<$*>"; }}\n'.encode())
        os.write(terminal, f"corpus {typed}\n".encode())
        seen = b""
        while not (found := re.search(rb"got:<([^$]*?) ?>", seen)):
            assert select.select([terminal], [], [], 60)[0], seen
            seen += os.read(terminal, 4096)
        assert found[1].decode() == becomes
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
