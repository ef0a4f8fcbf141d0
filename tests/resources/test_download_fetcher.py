"""The fetcher against a server that misbehaves: the bytes are right every time, or an error says what is wrong."""

import threading

import pytest

from formats.errors import ConfigError
from resources.download.wanted import Wanted
from tests.fault_server import FaultServer, serving
from tests.resources.download_helpers import CONTENT, KIB, fetcher, names_in, sha256, some_bytes, wanted


def test_a_file_is_fetched_under_its_digest_read_only_and_alone(tmp_path):
    with serving(CONTENT) as (server, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path == tmp_path / sha256(CONTENT)
    assert path.read_bytes() == CONTENT
    assert path.stat().st_mode & 0o222 == 0
    assert names_in(tmp_path) == {path.name}
    assert server.sent == len(CONTENT)
    assert server.requests[0].headers["accept-encoding"] == "identity"
    assert "range" not in server.requests[0].headers


def test_a_rerun_asks_the_server_nothing(tmp_path):
    with serving(CONTENT) as (server, url):
        first = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
        assert fetcher(tmp_path).fetch_all([wanted(url, CONTENT)]) == first
    assert len(server.requests) == 1


def test_an_empty_file_needs_no_request(tmp_path):
    with serving(b"") as (server, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, b"")])
    assert path.read_bytes() == b""
    assert server.requests == []


def test_paths_come_in_the_order_wanted_with_several_files_at_once(tmp_path):
    contents = [some_bytes(n * 7 * KIB, f"file {n}") for n in range(12)]
    with FaultServer() as server:
        files = [wanted(server.put(f"/{n}", content), content) for n, content in enumerate(contents)]
        paths = fetcher(tmp_path, parallel_files=5).fetch_all(files)
    assert [path.read_bytes() for path in paths] == contents


def test_two_urls_with_the_same_bytes_are_downloaded_once(tmp_path):
    with FaultServer() as server:
        files = [wanted(server.put(path, CONTENT), CONTENT) for path in ("/a", "/b", "/c")]
        paths = fetcher(tmp_path).fetch_all(files)
    assert len(set(paths)) == 1
    assert server.sent == len(CONTENT)


def test_files_really_come_at_the_same_time(tmp_path):
    """Each answer waits until the other one has begun: one file after the other would never end."""
    both_began = threading.Barrier(2, timeout=60)
    with FaultServer() as server:
        server.on_sent = lambda request: both_began.wait() if request.sent == server.piece_bytes else None
        files = [wanted(server.put(f"/{s}", some_bytes(40 * KIB, s)), some_bytes(40 * KIB, s)) for s in "ab"]
        assert len(fetcher(tmp_path, parallel_files=2).fetch_all(files)) == 2


def test_every_file_is_worked_on_and_the_first_failure_is_raised_with_the_others_noted(tmp_path):
    good, bad = some_bytes(10_000, "good"), some_bytes(10_000, "bad")
    with FaultServer() as server:
        files = [
            Wanted(server.url("/missing"), sha256(b"x"), 1),
            wanted(server.put("/bad", bad), some_bytes(10_000, "what the ledger says")),
            wanted(server.put("/good", good), good),
        ]
        with pytest.raises(ConfigError, match=r"/missing.*404") as caught:
            fetcher(tmp_path, parallel_files=1).fetch_all(files)
        assert any("sha256" in note and "/bad" in note for note in caught.value.__notes__)
    assert (tmp_path / sha256(good)).read_bytes() == good
