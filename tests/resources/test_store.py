"""Where the artifacts lie: as environment or resource say."""

from pathlib import Path

import pytest

from formats.layout import Layout
from resources.store import Store, layout_of_environment


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CORPUS_ROOT", "CORPUS_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_without_settings_it_is_the_working_directory_and_its_own_cache(tmp_path: Path) -> None:
    assert layout_of_environment() == Layout(tmp_path)
    assert layout_of_environment().cache == tmp_path / "corpus" / "cache"


@pytest.mark.parametrize("root", ["", "elsewhere", "a/../elsewhere"])
def test_relative_folders_are_taken_from_the_working_directory_at_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    monkeypatch.setenv("CORPUS_ROOT", root)
    monkeypatch.setenv("CORPUS_CACHE", root and "cache")
    store = Store.of_environment()
    monkeypatch.chdir("/")
    assert store.layout.root == (tmp_path / "elsewhere" if root else tmp_path)
    assert store.layout.cache == (tmp_path / "cache" if root else tmp_path / "corpus" / "cache")


def test_the_resource_says_what_the_layout_of_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORPUS_ROOT", str(tmp_path / "root"))
    for cache in ("", str(tmp_path / "shared")):
        monkeypatch.setenv("CORPUS_CACHE", cache)
        assert Store.of_environment().layout == layout_of_environment()
