"""The artifacts root and Dagster's home before any work: what cannot be used is refused in words."""

import os
from pathlib import Path

import pytest

from corpus_assets import cli
from corpus_assets.commands import environment
from formats.errors import ConfigError
from formats.layout import Layout
from tests.assets import tiny


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A corpus; working directory and environment are put back after the test."""
    monkeypatch.chdir(tmp_path)
    for name in ("CORPUS_ROOT", "CORPUS_CACHE", "DAGSTER_HOME"):
        monkeypatch.setenv(name, "")
    return tiny.unbuilt(tmp_path / "root")


def test_without_a_home_the_project_is_one_and_work_is_in_the_root(layout, capsys):
    environment.prepare(layout)
    assert os.environ["DAGSTER_HOME"] == str(environment.PROJECT)
    assert Path.cwd() == layout.root
    environment.prepare(layout)  # again, as the UI after a build
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("home", "words"),
    [
        ("here", "DAGSTER_HOME is 'here', expected an absolute path; make it one, or unset DAGSTER_HOME"),
        ("/no/such/folder", "expected a folder that is there"),
        ("/dev/null", "expected a folder that is there"),
    ],
)
@pytest.mark.parametrize("command", ["build", "up"])
def test_a_home_that_is_none_is_refused_in_words(layout, capsys, monkeypatch, command, home, words):
    monkeypatch.setenv("DAGSTER_HOME", home)
    version = ["tiny.v1"] if command == "build" else []
    assert cli.main(["--root", str(layout.root), command, *version]) == cli.WRONG_USAGE
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert not (layout.root / ".dagster").exists()


@pytest.mark.parametrize(
    ("settings", "words"), [("a: [", "dagster.yaml: is not YAML"), ("word", "dagster.yaml: expected settings by name")]
)
def test_settings_that_cannot_be_read_are_refused(layout, tmp_path, monkeypatch, settings, words):
    (tmp_path / "dagster.yaml").write_text(settings, "utf-8")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=words):
        environment.prepare(layout)


@pytest.mark.parametrize("settings", [None, "", "telemetry: {enabled: false}\n"])
def test_a_home_without_the_projects_settings_is_noted_in_one_line(layout, tmp_path, capsys, monkeypatch, settings):
    if settings is not None:
        (tmp_path / "dagster.yaml").write_text(settings, "utf-8")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    environment.prepare(layout)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "concurrency" in said
    assert "this project's pools, limits and logs are not in force; unset DAGSTER_HOME" in said
    assert ("telemetry" in said) == (not settings)


def test_a_copy_of_the_projects_settings_is_as_good(layout, tmp_path, capsys, monkeypatch):
    (tmp_path / "dagster.yaml").write_bytes((environment.PROJECT / "dagster.yaml").read_bytes())
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    environment.prepare(layout)
    assert (os.environ["DAGSTER_HOME"], capsys.readouterr().err) == (str(tmp_path), "")


@pytest.mark.parametrize("name", ["root", "root/corpus", "root/.dagster", "root/corpus/cache", "home"])
def test_a_folder_that_may_not_be_written_is_refused_before_any_work(layout, tmp_path, capsys, monkeypatch, name):
    for folder in ("root/.dagster", "root/corpus/cache", "home"):
        (tmp_path / folder).mkdir()
    closed, access = tmp_path / name, os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and access(path, mode))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    assert cli.main(["--root", str(layout.root), "build", "tiny.v1"]) == cli.WRONG_USAGE
    said = capsys.readouterr().err.splitlines()[-1]
    assert str(closed) in said
    assert "make it writable" in said
    assert not any((layout.root / ".dagster").iterdir())
