"""How often the fetcher tries again, how long it waits before, and when it gives up."""

import pytest

from formats.errors import ConfigError, TransientError
from tests.fault_server import Answer, FaultServer, serving
from tests.resources.download_helpers import CONTENT, Remembered, fetcher, wanted


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


def test_a_server_that_does_not_exist_is_a_transient_error(tmp_path):
    with FaultServer() as server:
        url = server.url("/f")
    with pytest.raises(TransientError, match="no answer"):
        fetcher(tmp_path, max_tries=2).fetch_all([wanted(url, CONTENT)])
