"""What the arguments of `corpus ledger add` mean: folders and patterns hold to a naive listing, links end, nothing is
passed over in silence.
"""

import glob
import os
import socket
from pathlib import Path

import pytest

from corpus_assets.commands.found_files import expand
from formats.errors import ConfigError
from resources.download.settings import FetchSettings
from resources.download.sources import Sources

NAMES = (
    "a.txt", "b.md", "more/c.txt", "more/deep/d.txt", "more/deep/e.jsonl", "more/[x].txt", ".hidden.txt",
    ".dir/f.txt", "more/.dir/g.txt", "z/a.txt",
)  # fmt: skip

HIDDEN = ["data/.dir: left out, as are all names with a dot before them; there are 3 here"]
"""What is told of these files where the folder is named; a pattern says itself which names it means."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in NAMES:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


def found(*arguments: object) -> tuple[list[str], list[str]]:
    """(files, notes)"""
    notes: list[str] = []
    with Sources(FetchSettings()) as sources:
        return expand(
            [str(argument) for argument in arguments], sources, lambda path, words: notes.append(f"{path}: {words}")
        ), notes


@pytest.mark.parametrize(
    "pattern",
    [
        "*", "*.txt", "**/*.txt", "**/*", "**", "m*/*", "more/**/*.txt", "**/deep/*", "**/deep/**/*.txt", "?.txt",
        "[ab].*", "**/.dir/*", ".*", "*/a.txt", "more/[[]x].txt", "**/**/d.txt", "nothing/*.txt", "*/*/*/*",
    ],
)  # fmt: skip
def test_patterns_match_what_glob_matches(folder, pattern):
    matching = set(glob.glob(f"data/{pattern}", recursive=True))  # noqa: PTH207  ** twice gives names twice
    expected = sorted(name for name in matching if Path(name).is_file())
    for base in ("data", str(folder)):
        if expected:
            named = [name.replace("data", base, 1) for name in expected]
            assert found(f"{base}/{pattern}") == (named, [])
        else:
            with pytest.raises(ConfigError, match="no such file"):
                found(f"{base}/{pattern}")


@pytest.mark.usefixtures("folder")
def test_files_are_sorted_and_each_is_there_once():
    expected = sorted(f"data/{name}" for name in NAMES if "/." not in f"/{name}")
    assert found("data") == (expected, HIDDEN)
    assert found("data/more") == (
        [name for name in expected if "/more/" in name],
        ["data/more/.dir: left out, as are all names with a dot before them; there are 1 here"],
    )
    assert found("data/z") == (["data/z/a.txt"], [])
    assert found("data/z", "data", "data/a.txt", "data/**/*.txt")[0] == expected


def test_loops_of_links_end_and_what_is_no_file_is_told(folder):
    (folder / "loop").symlink_to(folder)
    (folder / "more" / "up").symlink_to("..")
    (folder / "gone.txt").symlink_to("nowhere")
    (folder / "self.txt").symlink_to("self.txt")
    (folder / "other.txt").symlink_to("a.txt")
    os.mkfifo(folder / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "sock.txt"))
    assert found("data/*.md") == (["data/b.md"], [])
    expected = sorted([*(f"data/{name}" for name in NAMES if "/." not in f"/{name}"), "data/other.txt"])
    for argument in ("data", "data/**"):
        files, notes = found(argument)
        assert files == expected
        assert sorted(note.partition(" (")[0] for note in notes if note not in HIDDEN) == [
            "data/gone.txt: left out, a link to what is not there",
            "data/loop: left out, a link to a folder",
            "data/more/up: left out, a link to a folder",
            "data/pipe.txt: left out, a named pipe",
            "data/self.txt: left out, a link to what is not there",
            "data/sock.txt: left out, a socket",
        ]
    assert found("data/loop")[0][0] == "data/loop/a.txt"  # a link that is named is followed


def test_links_to_files_elsewhere_are_taken_and_told_once(folder):
    for name in ("one.txt", "two.txt"):
        (folder.parent / name).write_bytes(b"somebody else's")
        (folder / "more" / name).symlink_to(folder.parent / name)
    for argument in ("data", "data/**"):
        files, notes = found(argument)
        assert {"data/more/one.txt", "data/more/two.txt"} <= set(files)
        to = (folder.parent / "one.txt").resolve()
        said = f"taken, a link to {to}, which is not below data; there are 2 such links"
        assert [note for note in notes if note not in HIDDEN] == [f"data/more/one.txt: {said}"]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("/dev/zero", "is a device, not a file"),
        ("data/pipe", "is a named pipe, not a file"),
        ("data/gone", "is a link to what is not there"),
        ("data/empty", "no such file, and no folder or pattern"),
        ("data/none.txt", "no such file"),
        ("data/*.nothing", "no such file"),
    ],
)
def test_an_argument_that_is_no_file_is_refused_as_what_it_is(folder, argument, words):
    os.mkfifo(folder / "pipe")
    (folder / "gone").symlink_to("nowhere")
    (folder / "empty").mkdir()
    with pytest.raises(ConfigError, match=words):
        found(argument)


@pytest.mark.parametrize("argument", ["data", "data/**/*.txt"])
@pytest.mark.usefixtures("folder")
def test_a_folder_that_cannot_be_read_is_an_error_not_fewer_files(monkeypatch, argument):
    real = os.scandir

    def scandir(path):
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(ConfigError, match=r"deep: cannot be read \(Permission denied\)"):
        found(argument)


def test_a_file_is_meant_by_its_own_name_before_it_is_a_pattern(folder):
    assert found(folder / "more" / "[x].txt")[0] == [str(folder / "more" / "[x].txt")]
