"""What the operating system refuses comes as words with an exit code, never as a traceback."""

import argparse
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus_assets import cli
from corpus_assets.commands import config, words
from tests.assets import tiny


def corpus(root: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "corpus_assets.cli", "--root", str(root), *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=600, check=False, **options)


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (["config", "show", "tiny.v1"], {cli.READER_GONE}),
        (["--help"], {cli.READER_GONE, cli.OK}),  # argparse of Python 3.11.7 and later does not tell that nobody reads
    ],
)
def test_a_reader_that_goes_away_ends_the_command_in_silence(tmp_path, arguments, codes):
    tiny.unbuilt(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    ended = corpus(tmp_path, *arguments, stdout=writer)
    os.close(writer)
    assert ended.returncode in codes
    assert ended.stderr == ""


def helps(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """(what the list of commands says of one, its own help), of every command and verb."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {one.dest: str(one.help) for one in action._choices_actions}
            for name, below in action.choices.items():
                yield told[name], below.format_help()
                yield from helps(below)


def test_every_help_begins_with_what_the_command_does():
    found = list(helps(cli.parser()))
    assert len(found) > len(cli.COMMANDS)
    for told, own in found:
        said = " ".join(own.split())
        assert told[1:] in said, told
        assert said.index(told[1:]) < said.index("-h, --help")


def test_an_output_that_is_full_is_told_in_one_line(tmp_path):
    tiny.unbuilt(tmp_path)
    with open("/dev/full", "w") as full:
        ended = corpus(tmp_path, "config", "show", "tiny.v1", stdout=full)
    assert ended.returncode == cli.FAILED
    assert ended.stderr.startswith("corpus: No space left on device; make room, then run again")
    assert ended.stderr.count("\n") == 1


# Places below a file cannot be made, not even by the superuser.
def test_a_root_that_cannot_be_made_is_told_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    ended = corpus(tmp_path / "file" / "root", "up", "--port", "39999", stdout=subprocess.DEVNULL)
    assert ended.returncode == cli.FAILED
    assert ended.stderr.startswith(f"corpus: {tmp_path}/file/root")
    assert ": Not a directory; a file lies where a folder belongs: move it away" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["config", "new", "tiny.v2", "--sources", "web", "--allow", "MIT"],
        ["ledger", "add", "more", __file__, "--kind", "text", "--license", "MIT", "--evidence", "none"],
    ],
)
def test_a_corpus_that_cannot_be_written_is_told_in_one_line(tmp_path, arguments):
    (tmp_path / "file").touch()
    (tmp_path / "corpus").symlink_to(tmp_path / "file" / "corpus")
    ended = corpus(tmp_path, *arguments, stdout=subprocess.DEVNULL)
    assert ended.returncode != cli.OK
    assert str(tmp_path) in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_history_that_cannot_be_opened_is_told_in_words(tmp_path):
    tiny.unbuilt(tmp_path)
    (tmp_path / ".dagster" / "history" / "runs.db").mkdir(parents=True)
    ended = corpus(tmp_path, "build", "tiny.v1", stdout=subprocess.DEVNULL)
    assert ended.returncode == cli.FAILED
    assert ended.stderr.startswith(f"corpus: {tmp_path}/.dagster: unable to open database file; make room")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "a/b: No space left on device; make room, then run again"),
        (errno.EDQUOT, "a/b: Disk quota exceeded; make room, or have the quota raised, then run again"),
        (errno.EROFS, "a/b: Read-only file system; mount it for writing, or work on a copy elsewhere, then run again"),
        (errno.EACCES, "a/b: Permission denied; let this user read and write there, then run again"),
        (errno.EIO, "a/b: Input/output error; see to it, then run again"),
    ],
)
def test_each_refusal_of_the_system_says_where_what_and_what_to_do(tmp_path, capsys, monkeypatch, number, said):
    def refused(_: object) -> int:
        raise OSError(number, os.strerror(number), "a/b")

    monkeypatch.setattr(config, "run", refused)
    assert cli.main(["--root", str(tmp_path), "config", "show", "tiny.v1"]) == cli.FAILED
    assert capsys.readouterr().err == f"corpus: {said}: it goes on from what is finished\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            "formats.errors.CorruptDataError: a: sha256 is b, expected c; restore it",
            "a: sha256 is b, expected c; restore it",
        ),
        ("formats.errors.ConfigError: two\nlines: formats.errors.X: y", "two\nlines: formats.errors.X: y"),
        ("KeyError: 'x'", "KeyError: 'x'"),
        (
            "OSError: [Errno 28] Error writing bytes to file. Detail: [errno 28] No space left",
            "[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left; make room, then run again",
        ),
        ("OSError: [Errno 5] Input/output error", "[Errno 5] Input/output error"),
        (
            "PermissionError: [Errno 13] Permission denied: 'a'",
            "[Errno 13] Permission denied: 'a'; let this user read and write there, then run again",
        ),
    ],
)
def test_a_failed_step_is_told_without_the_classes_of_this_project(error, said):
    assert words.of_step_error(error) == said


def test_one_is_no_plural():
    assert [words.counted(number, "file") for number in (0, 1, 2000)] == ["0 files", "1 file", "2,000 files"]


def test_a_command_loads_its_own_module_and_no_other() -> None:
    """All of them take seconds, in which Ctrl-C would meet a library's import."""
    code = (
        "import sys\n"
        "from corpus_assets import cli\n"
        "cli.parser(['replay'])\n"
        "commands = {f'corpus_assets.commands.{name}' for name in cli.COMMANDS}\n"
        "print(sorted(commands & set(sys.modules)), 'pandera' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "['corpus_assets.commands.replay'] False\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    said = capsys.readouterr().out
    assert set(cli.COMMANDS) <= set(said.split())


def test_an_interrupt_while_a_command_is_loaded_ends_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.importlib, "import_module", interrupted)
    assert cli.main(["verify", "starter.v1"]) == cli.STOPPED
    assert "stopped" in capsys.readouterr().err
