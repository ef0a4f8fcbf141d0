"""The fetcher against a server that misbehaves: the bytes are right every time, or an error says what is wrong."""

import threading
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formats import partial
from formats.errors import ConfigError, CorruptDataError, TransientError
from resources.download.wanted import Planned, Wanted
from tests.fault_server import GOOD, OLD, Answer, FaultServer, serving
from tests.resources.download_helpers import (
    INTERVAL,
    KIB,
    Remembered,
    fetcher,
    names_in,
    sha256,
    some_bytes,
    wanted,
)

CONTENT = some_bytes(300 * KIB + 17)
OTHER = some_bytes(len(CONTENT), "b")


def give_up(cache, url, content):
    """One try that breaks off, as the server's script says: it leaves a partial file behind."""
    with pytest.raises(TransientError, match="given up after 1 tries"):
        fetcher(cache, max_tries=1).fetch_all([wanted(url, content)])


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


def test_a_wrong_checksum_is_quarantined_and_named(tmp_path):
    with serving(OTHER) as (server, url):
        with pytest.raises(CorruptDataError, match="sha256") as caught:
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
        assert (caught.value.expected, caught.value.found) == (sha256(CONTENT), sha256(OTHER))
        assert caught.value.path == url
    [name] = names_in(tmp_path)
    assert name == f"quarantine/{sha256(CONTENT)}.found-{sha256(OTHER)}"
    assert (tmp_path / name).read_bytes() == OTHER
    assert name in str(caught.value)
    assert len(server.requests) == 1


def test_a_wrong_file_that_was_guarded_is_not_downloaded_twice(tmp_path):
    with serving(OTHER, [Answer(drop_after=80_000)]) as (server, url), pytest.raises(CorruptDataError, match="sha256"):
        fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert server.sent == len(OTHER)


def test_a_folder_in_the_place_of_a_cached_file_is_named_and_left(tmp_path):
    (tmp_path / sha256(CONTENT) / "somebody's").mkdir(parents=True)
    with serving(CONTENT) as (_, url), pytest.raises(ConfigError, match=r"a folder lies where .* move it away") as told:
        fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert str(told.value).startswith(f"{tmp_path / sha256(CONTENT)}: ")
    assert (tmp_path / sha256(CONTENT) / "somebody's").is_dir()


def test_a_cached_file_that_went_bad_is_quarantined_and_fetched_again(tmp_path):
    memory = Remembered()
    with serving(CONTENT) as (_, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
        path.chmod(0o644)
        path.write_bytes(OTHER)
        assert fetcher(tmp_path).plan([wanted(url, CONTENT)])[0].state == "planned"
        [path] = fetcher(tmp_path, memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert (tmp_path / "quarantine" / f"{sha256(CONTENT)}.found-{sha256(OTHER)}").read_bytes() == OTHER
    assert memory.said(f"the cached file has sha256 {sha256(OTHER)}")


def test_another_length_is_refused_on_the_second_sight_without_taking_a_byte_of_the_body(tmp_path):
    longer = CONTENT + b"x"
    with serving(longer) as (server, url), pytest.raises(CorruptDataError, match="num_bytes") as caught:
        fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert (caught.value.expected, caught.value.found) == (len(CONTENT), len(longer))
    assert len(server.requests) == 2
    assert (tmp_path / f"{sha256(CONTENT)}.partial").stat().st_size == 0


def test_an_error_page_in_between_is_not_taken_for_the_file(tmp_path):
    page = Answer(content=b"<html>come back later</html>", etag='"page"')
    script = [Answer(drop_after=80_000), page, Answer(content=CONTENT, etag='"v1"')]
    with serving(CONTENT, script) as (server, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert [request.start for request in server.requests] == [0, 80_000, 80_000]


@pytest.mark.parametrize("length", ["chunked", "close"])
def test_a_body_that_goes_on_beyond_the_expected_size_is_stopped_at_once(tmp_path, length):
    with serving(CONTENT, [Answer(length=length, junk=b"!" * 1_000_000)]) as (server, url):
        with pytest.raises(CorruptDataError, match=f"more than {len(CONTENT)}"):
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
        assert len(server.requests) == 1
    assert names_in(tmp_path) == {f"quarantine/{sha256(CONTENT)}.found-{sha256(CONTENT)}"}


@pytest.mark.parametrize("announced", [len(CONTENT) - 100, len(CONTENT) + 100, 0])
def test_an_announced_length_that_is_not_true_costs_a_try(tmp_path, announced):
    with serving(CONTENT, [Answer(announced_length=announced)]) as (_, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "bad",
    [
        Answer(shift=1),
        Answer(shift=-1000),
        Answer(leave_out=("Content-Range",)),
        Answer(headers={"Content-Range": "bytes 1-2/3"}),
        Answer(headers={"Content-Range": "bytes=80000-"}),
        Answer(headers={"Content-Range": f"bytes 80000-{len(CONTENT) - 1}/{len(CONTENT)}"}, ignore_range=True),
        Answer(headers={"Content-Range": "bytes " + "9" * 5000 + "-1/2"}),
        Answer(status=416),
        Answer(status=416, headers={"Content-Range": "bytes */10"}),
    ],
)
def test_a_range_that_was_not_asked_for_is_refused_and_the_whole_is_asked_for(tmp_path, bad):
    with serving(CONTENT, [Answer(drop_after=80_000), bad]) as (server, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
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


def test_a_stored_gzip_file_is_kept_as_served(tmp_path):
    """Many servers say Content-Encoding of a file that simply is a .gz; its bytes are the file."""
    with serving(CONTENT, [Answer(headers={"Content-Encoding": "gzip"})]) as (_, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(("status", "least"), [(429, 7), (503, 7), (403, 7)])
def test_retry_after_is_waited_for(tmp_path, status, least):
    memory = Remembered()
    with serving(CONTENT, [Answer(status=status, headers={"Retry-After": str(least)})]) as (_, url):
        [path] = fetcher(tmp_path, memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    [seconds] = [seconds for seconds in memory.waits if seconds > 0]
    assert least + 0.25 <= seconds <= least + 0.5


def test_retry_after_as_a_date_counts_from_the_answers_own_date(tmp_path):
    memory = Remembered()
    dates = {"Date": "Mon, 06 Jan 2020 08:00:00 GMT", "Retry-After": "Mon, 06 Jan 2020 08:01:30 GMT"}
    with serving(CONTENT, [Answer(status=503, headers=dates)]) as (_, url):
        fetcher(tmp_path, memory, backoff_seconds=0).fetch_all([wanted(url, CONTENT)])
    assert memory.waits == [90.0]


def test_a_longer_retry_after_than_the_setting_allows_gives_up_at_once(tmp_path):
    script = [Answer(status=429, headers={"Retry-After": "86400"})] * 3
    with serving(CONTENT, script) as (server, url), pytest.raises(TransientError, match="asks to wait 86400 s"):
        fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert len(server.requests) == 1


def test_waits_grow_twofold_up_to_the_setting_with_half_of_it_at_random(tmp_path):
    memory = Remembered()
    with serving(CONTENT, [Answer(status=503)] * 7) as (_, url):
        fetcher(tmp_path, memory, backoff_seconds=1, max_backoff_seconds=8).fetch_all([wanted(url, CONTENT)])
    assert len(memory.waits) == 7
    for seconds, longest in zip(memory.waits, [1, 2, 4, 8, 8, 8, 8], strict=True):
        assert longest / 2 <= seconds <= longest


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_the_budget_of_tries_ends_in_a_transient_error_that_names_the_last_failure(tmp_path, status):
    with serving(CONTENT, [Answer(status=status)] * 9) as (server, url):
        with pytest.raises(TransientError, match=f"given up after 3 tries.*status {status}"):
            fetcher(tmp_path, max_tries=3).fetch_all([wanted(url, CONTENT)])
        assert len(server.requests) == 3


def test_tries_that_make_progress_do_not_use_up_the_budget(tmp_path):
    with serving(CONTENT, [Answer(drop_after=10_000)] * 40) as (server, url):
        [path] = fetcher(tmp_path, max_tries=2).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert server.sent == len(CONTENT)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_an_answer_that_will_not_pass_is_told_at_once(tmp_path, status):
    with serving(CONTENT, [Answer(status=status)] * 9) as (server, url):
        with pytest.raises(ConfigError, match=f"the server answers {status}"):
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
        assert len(server.requests) == 1


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


def test_a_server_that_does_not_exist_is_a_transient_error(tmp_path):
    with FaultServer() as server:
        url = server.url("/f")
    with pytest.raises(TransientError, match="no answer"):
        fetcher(tmp_path, max_tries=2).fetch_all([wanted(url, CONTENT)])


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


def test_plan_lists_planned_partial_and_verified_with_bytes_and_changes_nothing(tmp_path):
    contents = {name: some_bytes(200_000, name) for name in ("whole", "part", "none")}
    with FaultServer() as server:
        files = {name: wanted(server.put(f"/{name}", content), content) for name, content in contents.items()}
        server.files["/part"].script.append(Answer(drop_after=150_000))
        fetcher(tmp_path).fetch_all([files["whole"]])
        with pytest.raises(TransientError):
            fetcher(tmp_path, max_tries=1).fetch_all([files["part"]])
        before, asked = names_in(tmp_path), len(server.requests)
        planned = fetcher(tmp_path).plan(list(files.values()))
        assert planned == [
            Planned(server.url("/whole"), "verified", 200_000, 200_000),
            Planned(server.url("/part"), "partial", 200_000, 150_000),
            Planned(server.url("/none"), "planned", 200_000, 0),
        ]
        assert (names_in(tmp_path), len(server.requests)) == (before, asked)


def test_a_plan_needs_no_cache_folder_and_makes_none(tmp_path):
    assert fetcher(tmp_path / "not there").plan([wanted("http://example.org/f", b"x")])[0].state == "planned"
    assert not (tmp_path / "not there").exists()


def test_resume_only_refuses_a_fresh_start_before_any_request(tmp_path):
    with serving(CONTENT, [Answer(drop_after=100_000)]) as (server, url):
        fresh = wanted(server.put("/fresh", OTHER), OTHER)
        give_up(tmp_path, url, CONTENT)
        asked = len(server.requests)
        with pytest.raises(ConfigError, match=r"--resume-only: 1 of 2 files.*/fresh"):
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT), fresh], resume_only=True)
        assert len(server.requests) == asked
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)], resume_only=True)
        assert fetcher(tmp_path).fetch_all([wanted(url, CONTENT)], resume_only=True) == [path]
    assert path.read_bytes() == CONTENT
    assert server.requests[-1].start == 100_000


@pytest.mark.parametrize("change", ["no checkpoint", "unreadable checkpoint", "other bytes"])
def test_resume_only_refuses_a_partial_file_that_cannot_be_trusted_and_leaves_it(tmp_path, change):
    part = tmp_path / f"{sha256(CONTENT)}.partial"
    with serving(CONTENT, [Answer(drop_after=100_000)]) as (_, url):
        give_up(tmp_path, url, CONTENT)
        if change == "no checkpoint":
            partial.path_of(part).unlink()
        elif change == "unreadable checkpoint":
            partial.path_of(part).write_bytes(b"{")
        else:
            part.write_bytes(OTHER[:100_000])
        before = part.read_bytes()
        with pytest.raises(ConfigError, match="--resume-only"):
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)], resume_only=True)
        assert part.read_bytes() == before
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT


def test_resume_only_refuses_to_discard_what_is_here_when_the_file_changed(tmp_path):
    with serving(CONTENT, [Answer(drop_after=100_000), Answer(etag='"other"')]) as (_, url):
        give_up(tmp_path, url, CONTENT)
        with pytest.raises(ConfigError, match=r"--resume-only.*the file changed on the server"):
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)], resume_only=True)
    assert (tmp_path / f"{sha256(CONTENT)}.partial").stat().st_size == 100_000


def test_another_address_goes_on_from_the_same_bytes_without_the_first_ones_etag(tmp_path):
    with FaultServer() as server:
        first = server.put("/first", CONTENT, [Answer(drop_after=100_000)])
        mirror = server.put("/mirror", CONTENT, [Answer(drop_after=1000)], etag='"mirror"')
        give_up(tmp_path, first, CONTENT)
        [path] = fetcher(tmp_path).fetch_all([wanted(mirror, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert [(r.path, r.start, r.if_range) for r in server.requests] == [
        ("/first", 0, None),
        ("/mirror", 100_000, None),
        ("/mirror", 101_000, '"mirror"'),
    ]


@pytest.mark.parametrize(
    ("at", "left"),
    [(100_000, 100_000), (99_999, INTERVAL), (INTERVAL, INTERVAL), (INTERVAL - 1, 0), (0, 0)],
)
def test_a_flipped_byte_falls_back_to_the_previous_pair_or_to_zero(tmp_path, at, left):
    part = tmp_path / f"{sha256(CONTENT)}.partial"
    with serving(CONTENT, [Answer(drop_after=100_000)]) as (server, url):
        give_up(tmp_path, url, CONTENT)
        data = bytearray(part.read_bytes() + b"\0")
        data[at] ^= 1
        part.write_bytes(data)
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert server.requests[1].start == left


def test_a_byte_the_disk_changes_during_the_fetch_is_found_before_the_file_gets_its_name(tmp_path):
    part, memory = tmp_path / f"{sha256(CONTENT)}.partial", Remembered()

    def flip_a_byte(_: float) -> None:
        data = bytearray(part.read_bytes())
        data[10] ^= 1
        part.write_bytes(data)

    memory.wait = flip_a_byte
    with serving(CONTENT, [Answer(drop_after=100_000)]) as (server, url):
        [path] = fetcher(tmp_path, memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert memory.said("the disk gave back sha256")
    assert [request.start for request in server.requests] == [0, 100_000, 0]
