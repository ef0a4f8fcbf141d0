"""Spill folders: removed at the end, never while in use, and swept when their run was killed."""

from pathlib import Path

import pytest

from resources.engines.scratch import spill_folder


def fail_in(scratch: Path) -> None:
    with spill_folder(scratch) as folder:
        (folder / "run").write_text("x")
        raise ZeroDivisionError


def test_a_spill_folder_is_gone_after_its_run_also_after_a_failure(tmp_path):
    with pytest.raises(ZeroDivisionError):
        fail_in(tmp_path / "deep" / "scratch")
    assert not list((tmp_path / "deep" / "scratch").glob("sort-*"))


def test_folders_in_use_are_left_alone_and_those_of_killed_runs_are_removed(tmp_path):
    (tmp_path / "sort-killed-early").mkdir()
    (tmp_path / "sort-killed").mkdir()
    (tmp_path / "sort-killed" / "lock").touch()
    (tmp_path / "another").mkdir()
    with spill_folder(tmp_path) as first, spill_folder(tmp_path) as second:
        left = {path for path in tmp_path.iterdir() if path.is_dir()}
        assert left == {first, second, tmp_path / "another"}
