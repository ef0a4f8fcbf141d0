"""A download that broke off goes on where it was, and never joins the bytes of two contents."""

import threading
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formats.errors import TransientError
from tests.fault_server import GOOD, OLD, Answer, FaultServer, serving
from tests.resources.download_helpers import CONTENT, INTERVAL, OTHER, Remembered, fetcher, names_in, some_bytes, wanted


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("length", ["content-length", "chunked", "close"])
def test_dropped_connections_go_on_where_they_broke_off(tmp_path, length, reset):
    script = [Answer(drop_after=n, length=length, reset=reset) for n in (0, 1, 70_000, 65_536, 5)]
    with serving(CONTENT, [*script, Answer(length=length)]) as (server, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    for before, after in pairwise(server.requests):
        if not reset:  # after a reset the kernel may throw away what was not read yet
            assert after.start == before.start + before.sent
        assert after.if_range == ('"v1"' if after.start else None)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    size=st.integers(1, 5 * INTERVAL),
    drops=st.lists(st.integers(0, 2 * INTERVAL), max_size=6),
    chunked=st.booleans(),
    interval=st.sampled_from([10_000, 30_000, INTERVAL]),
)
def test_drops_at_any_byte_cost_nothing_while_the_process_lives(tmp_path_factory, size, drops, chunked, interval):
    content = some_bytes(size)
    length = "chunked" if chunked else "content-length"
    with serving(content, [Answer(drop_after=n, length=length) for n in drops]) as (server, url):
        cache = tmp_path_factory.mktemp("cache")
        [path] = fetcher(cache, interval_bytes=interval).fetch_all([wanted(url, content)])
    assert path.read_bytes() == content
    assert server.sent == size
    assert names_in(cache) == {path.name}


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    drops=st.lists(st.integers(0, 2 * INTERVAL), min_size=1, max_size=5), interval=st.sampled_from([30_000, INTERVAL])
)
def test_processes_that_give_up_leave_what_the_next_one_needs(tmp_path_factory, drops, interval):
    """As above, with a new fetcher for each try: all it knows is on disk."""
    content, cache = some_bytes(3 * INTERVAL + 5), tmp_path_factory.mktemp("cache")
    with serving(content, [Answer(drop_after=n) for n in drops]) as (server, url):
        for _ in drops:
            try:
                fetcher(cache, max_tries=1, interval_bytes=interval).fetch_all([wanted(url, content)])
            except TransientError:
                [planned] = fetcher(cache).plan([wanted(url, content)])
                assert planned.verified_bytes == server.sent
        [path] = fetcher(cache, interval_bytes=interval).fetch_all([wanted(url, content)])
    assert path.read_bytes() == content
    assert server.sent == len(content)


def test_a_server_that_ignores_range_is_read_from_its_start(tmp_path):
    """Report 1: the whole file under 200 must not be appended to the part that is here."""
    script = [Answer(drop_after=len(CONTENT) // 10), Answer(ignore_range=True)]
    memory = Remembered()
    with serving(CONTENT, script) as (server, url):
        [path] = fetcher(tmp_path, memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert [request.headers["accept-encoding"] for request in server.requests] == ["identity", "identity"]
    assert server.requests[1].start == len(CONTENT) // 10
    assert memory.said("fetched from zero")


@pytest.mark.parametrize("drop_after", [100, INTERVAL, 3 * INTERVAL + 1])
def test_a_slice_under_status_200_goes_where_content_range_says(tmp_path, drop_after):
    """Report 2: the tail must not be written at offset 0, nor fetched again."""
    with serving(CONTENT, [Answer(drop_after=drop_after), Answer(say_200=True)]) as (server, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert server.sent == len(CONTENT)


@pytest.mark.parametrize("new_process", [False, True])
def test_a_file_that_changes_between_tries_is_fetched_anew_each_time(tmp_path, new_process):
    """Report 3: If-Range is sent with every try, also the second retry."""
    first, second = some_bytes(len(CONTENT), "first"), some_bytes(len(CONTENT), "second")
    script = [
        Answer(drop_after=80_000, content=first, etag='"1"'),
        Answer(drop_after=90_000, content=second, etag='"2"'),
        Answer(drop_after=100_000, content=CONTENT, etag='"3"'),
        Answer(drop_after=0),
        GOOD,
    ]
    memory = Remembered()
    with serving(CONTENT, script) as (server, url):
        for _ in range(4 if new_process else 0):
            with pytest.raises(TransientError):
                fetcher(tmp_path, memory, max_tries=1).fetch_all([wanted(url, CONTENT)])
        [path] = fetcher(tmp_path, memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert [request.if_range for request in server.requests] == [None, '"1"', '"2"', '"3"', '"3"']
    assert [request.start for request in server.requests] == [0, 80_000, 90_000, 100_000, 100_000]
    assert sum("the file changed on the server" in event for event in memory.events) == 2


def test_a_slice_of_the_changed_file_is_refused_also_when_the_server_ignores_if_range(tmp_path):
    script = [
        Answer(drop_after=80_000, content=OTHER, etag='"old"'),
        Answer(ignore_if_range=True, content=CONTENT, etag='"new"'),
    ]
    memory = Remembered()
    with serving(CONTENT, script) as (server, url):
        [path] = fetcher(tmp_path, memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert memory.said("sent a part of the new one")
    assert [request.start for request in server.requests] == [0, 80_000, 0]


def test_without_an_etag_a_strong_last_modified_guards_the_range(tmp_path):
    with FaultServer() as server:
        url = server.put("/f", CONTENT, [Answer(drop_after=80_000)], etag=None, last_modified=OLD)
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert server.requests[1].if_range == OLD
    assert server.sent == len(CONTENT)


@pytest.mark.parametrize(
    ("etag", "headers"), [(None, {}), ('W/"weak"', {}), ("unquoted", {}), (None, {"Last-Modified": OLD, "Date": OLD})]
)
def test_without_a_strong_validator_no_if_range_is_sent_and_the_checksum_decides(tmp_path, etag, headers):
    with FaultServer() as server:
        script = [Answer(drop_after=80_000, headers=headers), Answer(headers=headers)]
        url = server.put("/f", CONTENT, script, etag=etag)
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert server.requests[1].start == 80_000
    assert server.requests[1].if_range is None


def test_two_contents_joined_without_a_validator_are_fetched_once_more_in_one_piece(tmp_path):
    memory = Remembered()
    with FaultServer() as server:
        url = server.put("/f", OTHER, [Answer(drop_after=80_000), Answer(content=CONTENT)], etag=None)
        [path] = fetcher(tmp_path, memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert memory.said("no validator tied together")
    assert [request.start for request in server.requests] == [0, 80_000, 0]


def test_a_server_that_gives_small_slices_is_asked_until_the_file_is_whole(tmp_path):
    first = Answer(drop_after=1000)
    with serving(CONTENT, [first, *[Answer(max_slice=10_000)] * 40]) as (server, url):
        [path] = fetcher(tmp_path, max_tries=2).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert server.sent == len(CONTENT)


def test_a_server_that_starts_over_for_ever_is_given_up(tmp_path):
    for_ever = [Answer(ignore_range=True, drop_after=200_000)] * 50
    with serving(CONTENT, for_ever) as (server, url), pytest.raises(TransientError, match="after 4 tries"):
        fetcher(tmp_path, max_tries=4).fetch_all([wanted(url, CONTENT)])
    assert len(server.requests) == 4


def test_a_connection_that_ends_before_the_status_is_tried_again(tmp_path):
    with serving(CONTENT, [Answer(drop_before_status=True), Answer(drop_before_status=True, reset=True)]) as (_, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT


def test_a_silent_server_is_left_after_the_read_timeout(tmp_path):
    over = threading.Event()
    with serving(CONTENT, [Answer(drop_after=80_000, silent_until=over)]) as (server, url):
        try:
            [path] = fetcher(tmp_path, read_timeout_seconds=2.0).fetch_all([wanted(url, CONTENT)])
        finally:
            over.set()
    assert path.read_bytes() == CONTENT
    assert server.requests[1].start == 80_000
