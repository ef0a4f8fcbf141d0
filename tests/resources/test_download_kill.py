"""kill -9, a full disk, an interrupt, two processes: the bytes are right every time, and little is fetched again."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from formats import durable, partial
from tests.fault_server import Answer, FaultServer, serving
from tests.resources.download_helpers import KIB, fetcher, names_in, sha256, some_bytes, wanted
from tests.resources.fetch_process import received

REPO = Path(__file__).resolve().parents[2]
INTERVAL = 64 * KIB
BUFFER = 16 * KIB
IN_FLIGHT = 8 * BUFFER  # both sockets' buffers (the kernel doubles what is asked for), and the piece being sent


def start(cache, url, content, **more):
    job = {"cache": str(cache), "url": url, "sha256": sha256(content), "num_bytes": len(content), "interval": INTERVAL}
    command = [sys.executable, "-m", "tests.resources.fetch_process", json.dumps({**job, **more})]
    return subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, text=True)


def test_a_kill_at_every_change_of_the_disk_costs_at_most_one_interval(tmp_path):
    interval = 20_000
    content = some_bytes(2 * interval + 500)
    with serving(content) as (server, url):
        process = start(tmp_path, url, content, kill_points=True, interval=interval)
        out, _ = process.communicate(timeout=1200)
        starts: dict[str, int] = {request.path.partition("=")[2]: request.start for request in server.requests}
    points = [json.loads(line.removeprefix("line ")) for line in out.splitlines() if line.startswith("line ")]
    assert process.returncode == 0
    assert [point["point"] for point in points] == list(range(len(points)))
    assert len(points) >= 20  # 3 intervals of some 7 changes, and the end
    assert points[-1]["status"] == 0
    for point in points:
        number, got = point["point"], point["received"]
        assert point["second"] == 0
        assert names_in(tmp_path / str(number)) == {sha256(content)}
        assert durable.sha256_of(tmp_path / str(number) / sha256(content)) == sha256(content)
        # No second request: nothing at all was fetched again. The address differs in its token only, so the ETag holds.
        assert got - starts.get(f"{number}-second", len(content)) <= interval


def kill_at(server, url, content, cache, kills):
    """Run processes one after the other, each killed once the server sent so many bytes to it; then one to the end."""
    for number, after in enumerate([*kills, None]):
        report = cache.with_name(f"{cache.name}.{number}")
        process = start(cache, url, content, report=str(report), buffer=BUFFER)

        def kill(request, process=process, after=after):
            if after is not None and request.sent >= after:
                os.kill(process.pid, signal.SIGKILL)

        server.on_sent = kill
        process.communicate(timeout=600)
        assert process.returncode == (0 if after is None else -signal.SIGKILL)
        yield received(report)


def check_kills(tmp_path, seeds):
    content = some_bytes(1024 * KIB + 7)
    for seed in seeds:
        draw = random.Random(seed)
        kills = [draw.randrange(1, 280 * KIB) for _ in range(3)]
        cache = tmp_path / str(seed)
        with FaultServer() as server:
            server.send_buffer_bytes, server.piece_bytes = BUFFER, 4 * KIB
            url = server.put("/f", content)
            ends = list(kill_at(server, url, content, cache, kills))
            starts = [request.start for request in server.requests]
            assert (cache / sha256(content)).read_bytes() == content
            assert names_in(cache) == {sha256(content)}
            for end, next_start in zip(ends, starts[1:], strict=False):
                assert end - next_start <= INTERVAL
            assert server.sent <= len(content) + len(kills) * (INTERVAL + IN_FLIGHT)


def test_kill_9_at_random_bytes_leaves_the_bytes_right_and_costs_at_most_one_interval_each(tmp_path):
    check_kills(tmp_path, range(3))


@pytest.mark.slow
def test_kill_9_at_many_random_bytes(tmp_path):
    check_kills(tmp_path, range(3, 43))


def test_a_full_disk_is_told_and_the_next_run_goes_on(tmp_path):
    content = some_bytes(1024 * KIB)
    with serving(content) as (server, url):
        process = start(tmp_path, url, content, max_file_bytes=300 * KIB)
        out, _ = process.communicate(timeout=600)
        assert process.returncode == 1
        assert "TransientError" in out
        assert "make room and run again" in out
        assert sha256(content) not in names_in(tmp_path)
        [path] = fetcher(tmp_path).fetch_all([wanted(url, content)])
    assert path.read_bytes() == content
    assert server.requests[-1].start == 256 * KIB  # 4 whole intervals fit


def test_an_interrupt_keeps_every_byte_that_reached_the_process(tmp_path):
    content, over = some_bytes(1024 * KIB), threading.Event()
    came = 100 * KIB
    with serving(content, [Answer(drop_after=came, silent_until=over)]) as (server, url):
        report = tmp_path / "received"
        process = start(tmp_path / "cache", url, content, timeout=2.0, report=str(report))

        def interrupt(request):
            """Once some of it is there: how much, is the client's affair."""
            while request.sent == came and not received(report) and process.poll() is None:
                over.wait(0.01)
            if request.sent == came:
                process.send_signal(signal.SIGINT)

        server.on_sent = interrupt
        process.communicate(timeout=600)
        over.set()
        server.on_sent = lambda _: None
        assert process.returncode == 130
        assert fetcher(tmp_path / "cache").plan([wanted(url, content)])[0].verified_bytes == received(report) > 0
        [path] = fetcher(tmp_path / "cache").fetch_all([wanted(url, content)])
    assert path.read_bytes() == content
    assert server.requests[-1].start == received(report)


def test_a_second_process_waits_and_then_finds_the_file_verified(tmp_path):
    content, second_waits = some_bytes(500 * KIB), threading.Event()
    with serving(content) as (server, url):
        server.on_sent = lambda request: second_waits.wait(60) if request.sent == server.piece_bytes else None
        first = start(tmp_path, url, content)
        while not server.requests and first.poll() is None:  # the first one has the lock before it asks
            second_waits.wait(0.01)
        second = start(tmp_path, url, content)
        assert second.stdout.readline() == "another process fetches it; waiting\n"
        second_waits.set()
        for process in (first, second):
            process.communicate(timeout=600)
            assert process.returncode == 0
    assert server.sent == len(content)
    assert names_in(tmp_path) == {sha256(content)}


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    content, over = some_bytes(500 * KIB), threading.Event()
    with serving(content, [Answer(drop_after=200 * KIB, silent_until=over)]) as (server, url):
        process = start(tmp_path, url, content)
        server.on_sent = lambda request: process.kill() if request.sent == 200 * KIB else None
        process.communicate(timeout=600)
        over.set()
        assert f".{sha256(content)}.flock" in names_in(tmp_path)
        [path] = fetcher(tmp_path).fetch_all([wanted(url, content)])
    assert path.read_bytes() == content
    assert names_in(tmp_path) == {sha256(content)}


def test_bytes_behind_the_checkpoint_are_cut_off(tmp_path):
    """What a power cut may leave: the file is longer than both pairs, or has other bytes where the last one ends."""
    content = some_bytes(300 * KIB)
    part = tmp_path / f"{sha256(content)}.partial"
    with serving(content, [Answer(drop_after=200 * KIB)]) as (server, url):
        process = start(tmp_path, url, content, resume_only=False)
        server.on_sent = lambda request: process.kill() if request.sent == 200 * KIB else None
        process.communicate(timeout=600)
        server.on_sent = lambda _: None
        checkpoint = partial.read(partial.path_of(part)) if partial.path_of(part).exists() else None
        verified = checkpoint.verified_bytes if checkpoint and part.stat().st_size >= checkpoint.verified_bytes else 0
        with open(part, "ab") as file:
            file.write(b"\0" * 10_000)
        [path] = fetcher(tmp_path).fetch_all([wanted(url, content)])
    assert path.read_bytes() == content
    assert server.requests[-1].start >= verified
