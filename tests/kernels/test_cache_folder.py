"""Where compiled kernels lie: numba reads them with pickle, so nobody else may be able to put them there."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from corpus_assets import kernels

ROOT = Path(kernels.__file__).parents[2]


@pytest.fixture
def places(tmp_path, monkeypatch):
    """(the folder that is asked for, the shared one for temporary files): both this user's."""
    wanted, shared = tmp_path / "wanted", tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("CORPUS_KERNEL_CACHE", str(wanted))
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    return wanted, shared


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_made_for_its_user_alone_whatever_the_umask(places):
    before = os.umask(0)
    try:
        found = kernels._cache_folder()
    finally:
        os.umask(before)
    assert found.parent == places[0]
    assert (mode(found), mode(found.parent)) == (0o700, 0o700)


def test_the_folder_that_was_asked_for_is_used_and_used_again(places):
    wanted, _ = places
    found = kernels._cache_folder()
    assert (found.parent, mode(found)) == (wanted, 0o700)
    assert kernels._cache_folder() == found


@pytest.mark.parametrize("opened", ["itself", "its parent"])
def test_a_folder_that_others_may_write_is_not_used(places, opened):
    wanted, shared = places
    folder = kernels._cache_folder()
    (folder if opened == "itself" else wanted).chmod(0o777)
    assert kernels._cache_folder().is_relative_to(shared)


def test_a_sticky_folder_around_it_is_as_good_as_a_closed_one(places):
    wanted, _ = places
    wanted.mkdir()
    wanted.chmod(0o1777)
    assert kernels._cache_folder().parent == wanted


def test_a_name_that_another_user_took_in_the_shared_folder_is_left_alone(places, monkeypatch):
    wanted, shared = places
    wanted.write_text("no folder")
    planted = kernels._cache_folder()  # this user's, until somebody else asks
    assert planted.is_relative_to(shared)
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    (shared / f"corpus-assets-{owner + 1}").mkdir()
    found = kernels._cache_folder()
    assert found.parent == shared
    assert not found.name.startswith(f"corpus-assets-{owner + 1}")
    assert (mode(found), list(found.iterdir())) == (0o700, [])


def test_a_link_that_another_user_planted_is_not_followed_into_a_folder_of_theirs(places, tmp_path):
    wanted, shared = places
    wanted.write_text("no folder")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    (shared / f"corpus-assets-{os.getuid()}").symlink_to(theirs)
    assert not kernels._cache_folder().is_relative_to(theirs)


def test_a_folder_for_one_process_goes_with_it(tmp_path):
    taken = tmp_path / "corpus-assets-4000000000"  # the name that such a user's folder would have, of another's
    taken.mkdir()
    program = (
        "import os; os.getuid = lambda: 4_000_000_000\n"
        "from corpus_assets import kernels\n"
        "print(kernels.numba.config.CACHE_DIR)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "CORPUS_KERNEL_CACHE": "/proc/none"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    folder = Path(done.stdout.strip())
    assert folder.parent == tmp_path
    assert not folder.exists()
