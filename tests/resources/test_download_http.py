"""Redirects, credentials, compression and headers of one request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.errors import ConfigError, TransientError
from resources.download.http import Connections
from resources.download.http_answer import retry_after_seconds, validators_of
from resources.download.partial_file import Validators
from resources.download.settings import FetchSettings
from tests.fault_server import Answer, FaultServer
from tests.resources.download_helpers import fetcher, some_bytes, wanted

CONTENT = some_bytes(50_000)


def to(url, status=302):
    return Answer(status=status, headers={"Location": url, "Content-Length": "0"})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_and_each_try_begins_at_the_ledgers_address(tmp_path, status):
    with FaultServer() as server:
        server.put("/new", CONTENT, [Answer(drop_after=10_000)])
        url = server.put("/old", b"", [to("/new", status), to(server.url("/new"), status)])
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert [(request.path, request.start) for request in server.requests] == [
        *(("/old", 0), ("/new", 0)),
        *(("/old", 10_000), ("/new", 10_000)),
    ]


def test_redirects_without_end_are_stopped(tmp_path):
    with FaultServer() as server:
        url = server.put("/f", CONTENT, [to("/f")] * 20)
        with pytest.raises(ConfigError, match="more than 5 redirects"):
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert len(server.requests) == 6


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/f", "file:///etc/hostname", "gopher://e.org/?token=secret"])
def test_a_redirect_to_another_scheme_is_refused(tmp_path, target):
    with FaultServer() as server:
        url = server.put("/f", CONTENT, [to(target)])
        with pytest.raises(ConfigError, match="redirects to") as caught:
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert "secret" not in str(caught.value)


def test_credentials_go_to_their_own_origin_only(tmp_path):
    with FaultServer() as server, FaultServer() as other:
        other.put("/f", CONTENT)
        url = server.put("/f", b"", [to("/here"), to("/here")])
        server.put("/here", b"", [to(other.url("/f"))])
        fetcher(tmp_path).fetch_all([wanted(url.replace("http://", "http://a%40b:c%3Ad@"), CONTENT)])
    sent = [request.headers.get("authorization") for request in (*server.requests, *other.requests)]
    assert sent == ["Basic YUBiOmM6ZA==", "Basic YUBiOmM6ZA==", None]


def test_the_server_would_compress_if_it_were_allowed_to():
    """The fault server's own proof: without `Accept-Encoding: identity` the bytes would be others."""
    import urllib.request

    with FaultServer() as server:
        with urllib.request.urlopen(urllib.request.Request(server.put("/f", CONTENT))) as answer:
            assert answer.headers["Content-Encoding"] is None  # urllib says identity as well
        request = urllib.request.Request(server.url("/f"), headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"


def test_the_proxy_of_the_environment_is_used(tmp_path, monkeypatch):
    with FaultServer() as proxy:
        proxy.put("http://nowhere.invalid/f", CONTENT)  # a proxy is asked for the whole address
        monkeypatch.setenv("http_proxy", proxy.url("").replace("http://", "http://me:pw@"))
        monkeypatch.setenv("no_proxy", "elsewhere.invalid")
        [path] = fetcher(tmp_path).fetch_all([wanted("http://nowhere.invalid/f", CONTENT)])
        assert path.read_bytes() == CONTENT
        assert proxy.requests[0].headers["proxy-authorization"] == "Basic bWU6cHc="
        with pytest.raises(TransientError, match=r"elsewhere\.invalid"):
            fetcher(tmp_path, max_tries=1).fetch_all([wanted("http://elsewhere.invalid/f", b"x")])
        assert len(proxy.requests) == 1


def test_connections_are_kept_between_files(tmp_path):
    ports = set()
    with FaultServer() as server:
        files = [wanted(server.put(f"/{n}", some_bytes(9, str(n))), some_bytes(9, str(n))) for n in range(5)]
        accept = server._http.get_request

        def counted():
            connection, address = accept()
            ports.add(address)
            return connection, address

        server._http.get_request = counted
        fetcher(tmp_path, parallel_files=1).fetch_all(files)
    assert len(ports) == 1


NOW = "Mon, 06 Jan 2020 08:00:00 GMT"
MINUTE_AGO = "Mon, 06 Jan 2020 07:59:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": " 120 "}, 120.0),
        ({"Retry-After": "Mon, 06 Jan 2020 08:00:30 GMT", "Date": NOW}, 30.0),
        ({"Retry-After": "Mon, 06 Jan 2020 07:00:00 GMT", "Date": NOW}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "1.5"}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers, seconds):
    assert retry_after_seconds(headers) == seconds


@given(st.text(max_size=60))
def test_any_retry_after_is_read_or_left_aside(text):
    seconds = retry_after_seconds({"Retry-After": text})
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("headers", "found", "if_range"),
    [
        ({"ETag": '"a"'}, Validators('"a"'), '"a"'),
        ({"ETag": 'W/"a"'}, Validators('W/"a"'), None),
        ({"ETag": "a"}, Validators(), None),
        ({"ETag": '"a b"'}, Validators(), None),
        ({"ETag": '"' + "a" * 300 + '"'}, Validators(), None),
        ({"Last-Modified": MINUTE_AGO, "Date": NOW}, Validators(None, MINUTE_AGO), MINUTE_AGO),
        ({"Last-Modified": "Mon, 06 Jan 2020 07:59:01 GMT", "Date": NOW}, Validators(), None),
        ({"Last-Modified": "Mon, 06 Jan 2020 07:00:00 GMT"}, Validators(), None),
        ({"Last-Modified": "long ago", "Date": NOW}, Validators(), None),
        ({"Last-Modified": "Mon, 06 Jan 2020 07:00:00 -0000", "Date": NOW}, Validators(), None),
    ],
)  # fmt: skip
def test_only_strong_validators_go_into_if_range(headers, found, if_range):
    assert validators_of(headers) == found
    assert found.if_range == if_range


def test_where_there_is_an_etag_the_date_is_not_sent_in_its_place():
    assert Validators('W/"a"', NOW).if_range is None


def test_an_answer_says_which_bytes_it_brings_and_ends():
    with (
        FaultServer() as server,
        Connections(FetchSettings()) as connections,
        connections.get(server.put("/f", b"abc"), 0, None) as answer,
    ):
        assert (answer.start, answer.stop, answer.total) == (0, 3, 3)
        assert answer.read(100) == b"abc"
        assert answer.read(100) == b""
