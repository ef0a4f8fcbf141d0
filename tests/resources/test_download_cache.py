"""The cache folder: locks, leftovers, full and read-only disks."""

import os
import shutil
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from formats.errors import ConfigError
from resources.download.cache import Cache
from tests.fault_server import FaultServer, serving
from tests.resources.download_helpers import fetcher, names_in, sha256, some_bytes, wanted

CONTENT = some_bytes(100_000)
DIGEST = sha256(CONTENT)


def no_wait(seconds: float) -> None:
    """Looking again at once is allowed too."""


def test_one_holder_at_a_time_and_no_lock_file_is_left(tmp_path):
    inside, most = [0], [0]
    guard = threading.Lock()

    def work(_: int) -> None:
        with Cache(tmp_path).lock(DIGEST, no_wait, lambda: None):
            with guard:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            with guard:
                inside[0] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(200)))
    assert most == [1]
    assert names_in(tmp_path) == set()


def test_the_lock_is_freed_when_the_work_fails(tmp_path):
    cache = Cache(tmp_path)
    with pytest.raises(KeyError), cache.lock(DIGEST, no_wait, lambda: None):
        raise KeyError
    with cache.lock(DIGEST, no_wait, lambda: pytest.fail("busy")):
        pass


def test_what_a_kill_left_beside_a_verified_file_goes(tmp_path):
    with serving(CONTENT) as (server, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
        for name in (f"{DIGEST}.partial", f"{DIGEST}.partial.json", f".{DIGEST}.flock"):
            (tmp_path / name).write_bytes(b"left")
        assert fetcher(tmp_path).fetch_all([wanted(url, CONTENT)]) == [path]
    assert names_in(tmp_path) == {DIGEST}
    assert len(server.requests) == 1


def test_resume_only_leaves_a_cached_file_that_went_bad_where_it_is(tmp_path):
    (tmp_path / DIGEST).write_bytes(b"bad")
    with serving(CONTENT) as (server, url), pytest.raises(ConfigError, match="--resume-only"):
        fetcher(tmp_path).fetch_all([wanted(url, CONTENT)], resume_only=True)
    assert (tmp_path / DIGEST).read_bytes() == b"bad"
    assert server.requests == []


def test_temporary_files_of_a_killed_checkpoint_go(tmp_path):
    stale = tmp_path / f".{DIGEST}.partial.json.00c0ffee.tmp"
    stale.write_bytes(b"half a check")
    (tmp_path / f"{DIGEST}.partial").write_bytes(b"")  # it is made before the first checkpoint
    with serving(CONTENT) as (_, url):
        fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert names_in(tmp_path) == {DIGEST}


def test_what_cannot_fit_is_refused_before_any_request(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=99_999))
    with serving(CONTENT) as (server, url), pytest.raises(ConfigError, match="make room"):
        fetcher(tmp_path / "a" / "cache").fetch_all([wanted(url, CONTENT)])
    assert server.requests == []


@pytest.mark.parametrize("place", ["a file", "a file on the way"])
def test_a_cache_folder_that_cannot_be_is_a_config_error(tmp_path, place):
    (tmp_path / "file").write_bytes(b"")
    cache = tmp_path / "file" if place == "a file" else tmp_path / "file" / "cache"
    with serving(CONTENT) as (server, url), pytest.raises(ConfigError, match="choose another one"):
        fetcher(cache).fetch_all([wanted(url, CONTENT)])
    assert server.requests == []


def test_a_cache_one_may_only_read_serves_what_it_has(tmp_path, monkeypatch):
    with serving(CONTENT) as (_, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
        (tmp_path / f".{DIGEST}.flock").write_bytes(b"")
        monkeypatch.setattr(os, "access", lambda *_: False)
        monkeypatch.setattr(Path, "mkdir", lambda *_, **__: pytest.fail("a write"))
        assert fetcher(tmp_path).fetch_all([wanted(url, CONTENT)]) == [path]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o444), (0o027, 0o440), (0o077, 0o400)])
@pytest.mark.parametrize("copied", [False, True])
def test_a_cached_file_is_to_read_for_whom_the_umask_lets_and_for_nobody_to_write(tmp_path, umask, mode, copied):
    content = some_bytes(1_000)
    (tmp_path / "f").write_bytes(content)
    before = os.umask(umask)
    try:
        with FaultServer() as server:
            url = "f" if copied else server.put("/f", content)
            one = wanted(url, content, tmp_path / "f" if copied else None)
            [path] = fetcher(tmp_path / "cache", copy_local=copied).fetch_all([one])
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode
