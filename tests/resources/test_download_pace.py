"""Limits of a source and a host, under a clock that moves when somebody waits."""

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from formats.fetch_rules import AccessRules, FetchRules
from resources.download import pace
from resources.download.access import Access
from resources.download.fetcher import Fetcher
from resources.download.pace import Pace, Paces
from resources.download.settings import FetchSettings
from resources.download.sources import Sources
from tests.fault_server import Answer, FaultServer
from tests.resources.download_helpers import CONTENT, KIB, Remembered, some_bytes, wanted
from tests.resources.paced_process import NOW, PER_SECOND, access


class Clock(Remembered):
    """Time that passes while somebody waits, and in no other way; and a Progress."""

    now = 0.0

    def wait(self, seconds: float) -> None:
        super().wait(seconds)
        self.now += seconds

    def fetcher(self, cache, rules: FetchRules, source="forum", **settings) -> Fetcher:
        access = Access(rules, source, Paces(lambda: self.now))
        return Fetcher(cache, FetchSettings(read_timeout_seconds=120.0, **settings), self, self.wait, access)


def of_source(**limits) -> FetchRules:
    return FetchRules(sources={"forum": AccessRules(**limits)})


def files(server: FaultServer, number: int):
    return [wanted(server.put(f"/{n}", some_bytes(9, str(n))), some_bytes(9, str(n))) for n in range(number)]


def test_a_pace_spaces_what_passes_and_saves_nothing_up():
    clock = Clock()
    pace = Pace(2.0, lambda: clock.now)
    assert [pace.reserve() for _ in range(4)] == [0.0, 0.5, 1.0, 1.5]
    clock.now = 100.0
    assert [pace.reserve(), pace.reserve()] == [0.0, 0.5]


def test_a_pace_holds_over_all_threads():
    pace = Pace(2.0, lambda: 0.0)
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: pace.reserve(), range(100)))
    assert sorted(waits) == [n / 2 for n in range(100)]


def test_two_requests_a_second(tmp_path):
    clock = Clock()
    with FaultServer() as server:
        clock.fetcher(tmp_path, of_source(requests_per_second=2.0), parallel_files=1).fetch_all(files(server, 5))
        assert [request.path for request in server.requests] == ["/0", "/1", "/2", "/3", "/4"]
    assert (clock.waits, clock.now) == ([0.5] * 4, 2.0)


def test_another_fetch_of_the_process_waits_for_the_first_ones_turn(tmp_path):
    clock = Clock()
    paces, rules = Paces(lambda: clock.now), of_source(requests_per_second=2.0)
    for n, of in enumerate(("forum", "other", "forum")):
        with FaultServer() as server:
            fetcher = Fetcher(tmp_path / str(n), None, clock, clock.wait, Access(rules, of, paces))
            fetcher.fetch_all(files(server, 1))
    assert clock.waits == [0.5]


def test_requests_of_many_threads_have_a_turn_each(tmp_path):
    memory = Remembered()
    access = Access(
        of_source(requests_per_second=2.0), "forum", Paces(lambda: 0.0)
    )  # nobody's wait moves another's turn
    with FaultServer() as server:
        Fetcher(tmp_path, FetchSettings(), memory, memory.wait, access).fetch_all(files(server, 6))
    assert sorted(memory.waits) == [0.5, 1.0, 1.5, 2.0, 2.5]


def test_the_slower_of_source_and_host_holds_and_a_redirect_counts_for_its_host(tmp_path):
    clock = Clock()
    rules = FetchRules({"forum": AccessRules(4.0)}, {"127.0.0.1": AccessRules(1.0)})
    with FaultServer() as server:
        server.put("/new", CONTENT)
        url = server.put("/old", b"", [Answer(status=302, headers={"Location": "/new", "Content-Length": "0"})])
        clock.fetcher(tmp_path, rules).fetch_all([wanted(url, CONTENT)])
    assert clock.waits == [1.0]


def test_a_wait_that_the_server_asks_for_comes_first_and_the_limit_then(tmp_path):
    clock = Clock()
    script = [Answer(status=503, headers={"Retry-After": "7"}), Answer(status=503, headers={"Retry-After": "0"})]
    with FaultServer() as server:
        url = server.put("/f", CONTENT, script)
        clock.fetcher(tmp_path, of_source(requests_per_second=0.1), backoff_seconds=0).fetch_all([wanted(url, CONTENT)])
    assert clock.waits == [7.0, 3.0, 10.0]


def test_bytes_come_no_faster_than_the_limit(tmp_path):
    clock = Clock()
    with FaultServer() as server:
        url = server.put("/f", CONTENT)
        clock.fetcher(tmp_path, of_source(bytes_per_second=100 * KIB)).fetch_all([wanted(url, CONTENT)])
    seconds, rounding = len(CONTENT) / (100 * KIB), 1e-9  # the pieces, and so the sums, are as the socket has them
    assert seconds - 1 - rounding <= clock.now <= seconds + rounding
    assert max(clock.waits) <= 1.0 + rounding  # no server is kept waiting for longer at once


class Waits(Exception):
    """Somebody would have to wait."""


@pytest.mark.parametrize("connections", [1, 3])
@pytest.mark.parametrize("rules", ["source", "host"])
def test_no_more_connections_than_the_limit(connections, rules):
    def pause(_seconds):
        raise Waits

    limit = AccessRules(connections=connections)
    of = FetchRules({"forum": limit}) if rules == "source" else FetchRules(hosts={"127.0.0.1": limit})
    paces, settings = Paces(), FetchSettings()
    with FaultServer() as server, ExitStack() as held:
        url = server.put("/f", CONTENT)
        each = [held.enter_context(Sources(settings, Access(of, "forum", paces), pause)) for _ in range(5)]
        for sources in each[:connections]:
            first = held.enter_context(ExitStack())
            first.enter_context(sources.get(url, 0, None))
        with pytest.raises(Waits):
            held.enter_context(each[4].get(url, 0, None))
        assert len(server.requests) == connections
        first.close()
        held.enter_context(each[4].get(url, 0, None))


def test_who_waits_for_a_connection_gets_it_when_another_is_done(tmp_path):
    with FaultServer() as server:
        several = files(server, 6)
        paths = Clock().fetcher(tmp_path, of_source(connections=1), parallel_files=4).fetch_all(several)
    assert [path.name for path in paths] == [one.sha256 for one in several]


# Over processes.


@contextmanager
def process(folder: Path, urls: list[str], source: str = "forum", **more) -> Iterator[subprocess.Popen[str]]:
    """One that is there and has not begun."""
    job = {"folder": str(folder), "urls": urls, "source": source, **more}
    words = [sys.executable, "-m", "tests.resources.paced_process", json.dumps(job)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        try:
            assert one.stdout.readline() == "ready\n"
            yield one
        finally:
            one.kill()


def test_two_processes_of_two_sources_have_a_turn_each_at_their_host(tmp_path):
    """The clock stands still in both, so that no turn passes by itself: each request has another one."""
    with FaultServer() as server:
        urls = [one.url for one in files(server, 5)]
        with process(tmp_path, urls) as one, process(tmp_path, urls, "books") as other:
            for each in (one, other):
                print(file=each.stdin, flush=True)
            waits = [seconds for each in (one, other) for seconds in json.loads(each.stdout.readline())]
        assert len(server.requests) == 10
    assert sorted(waits) == [n / 2 for n in range(1, 10)]  # who comes first waits for nothing
    paces = Paces(lambda: NOW, tmp_path)
    assert paces.pace((("host", "127.0.0.1"), "requests"), PER_SECOND).reserve() == 5.0
    assert Paces(lambda: NOW + 4).pace((("host", "127.0.0.1"), "requests"), PER_SECOND).reserve() == 0.0


def test_a_connection_of_another_process_is_waited_for_and_free_when_that_is_killed(tmp_path):
    with FaultServer() as server, process(tmp_path, [url := server.put("/f", CONTENT)], hold=True) as one:
        print(file=one.stdin, flush=True)
        assert one.stdout.readline() == "held\n"
        mine = access(tmp_path, "books", connections=1)

        def pause(_seconds: float) -> None:
            raise Waits

        with pytest.raises(Waits), mine.connection(url, pause):
            pass
        one.kill()
        one.wait()
        with mine.connection(url, pause):
            assert Paces(folder=tmp_path).slots(("host", "127.0.0.1"), 1).take(0) is None
        let_go = Paces(folder=tmp_path).slots(("host", "127.0.0.1"), 1).take(0)
        assert let_go is not None
        let_go()


@pytest.mark.parametrize("found", [b"", b"half", b"\0" * 16 + struct.pack("<d", 1e9)], ids=["new", "cut", "old boot"])
def test_turns_of_before_the_machine_started_and_what_is_none_hold_nobody_up(tmp_path, found):
    of = (("host", "a.example"), "requests")
    Paces(lambda: 5.0, tmp_path).pace(of, 2.0).reserve()
    (path,) = tmp_path.iterdir()
    path.write_bytes(found)
    assert [Paces(lambda: 5.0, tmp_path).pace(of, 2.0).reserve() for _ in range(2)] == [0.0, 0.5]


def test_where_nobody_says_when_the_machine_started_a_process_has_its_own_turns(tmp_path, monkeypatch):
    monkeypatch.setattr(pace, "_BOOT_ID", tmp_path / "none")
    pace._boot.cache_clear()
    try:
        paces = Paces(lambda: 0.0, tmp_path / "folder")
        assert [paces.pace(("x",), 2.0).reserve() for _ in range(2)] == [0.0, 0.5]
        assert paces.slots(("x",), 1).take(0) is not None
        assert not (tmp_path / "folder").exists()
    finally:
        pace._boot.cache_clear()


def test_without_rules_nothing_waits(tmp_path):
    clock = Clock()
    with FaultServer() as server:
        clock.fetcher(tmp_path, of_source(requests_per_second=0.01), source="books").fetch_all(files(server, 5))
    assert clock.waits == []
