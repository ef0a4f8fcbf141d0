"""Credentials of a source and a host: where they go, where they do not, and that nobody reads them elsewhere."""

import base64
import logging

import pytest

from formats.errors import ConfigError
from formats.fetch_rules import AccessRules, FetchRules
from resources.download.access import Access
from resources.download.fetcher import Fetcher
from resources.download.settings import FetchSettings
from tests.fault_server import Answer, FaultServer
from tests.resources.download_helpers import CONTENT, Remembered, wanted

SECRET = "hunter2-of-the-forum"
TOKEN = FetchRules(sources={"forum": AccessRules(authorization_from="FORUM_TOKEN")})
PAIR = AccessRules(user_from="EX_USER", password_from="EX_PASSWORD")


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    for name in ("FORUM_TOKEN", "EX_PASSWORD"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("EX_USER", "ann")


@pytest.fixture
def server():
    with FaultServer() as server:
        server.wants = f"Bearer {SECRET}"
        yield server


def fetch(cache, url, rules=TOKEN, source="forum", **settings):
    memory = Remembered()
    fetcher = Fetcher(cache, FetchSettings(**settings), memory, memory.wait, Access(rules, source))
    return fetcher.fetch_all([wanted(url, CONTENT)])[0]


def test_a_server_that_wants_a_token_answers_who_has_it(tmp_path, server):
    url = server.put("/f", CONTENT)
    with pytest.raises(ConfigError, match=r"answers 401; .* name its credentials in corpus/fetch.yaml"):
        fetch(tmp_path, url, FetchRules())
    with pytest.raises(ConfigError, match="answers 401"):
        fetch(tmp_path, url, source="books")
    assert fetch(tmp_path, url).read_bytes() == CONTENT


def test_it_is_sent_with_every_try_and_in_no_file_event_or_log(tmp_path, server, caplog):
    caplog.set_level(logging.DEBUG)
    memory = Remembered()
    url = server.put("/f", CONTENT, [Answer(drop_after=100_000), Answer(status=503), Answer(status=404)])
    fetcher = Fetcher(tmp_path, FetchSettings(interval_bytes=64 * 1024), memory, memory.wait, Access(TOKEN, "forum"))
    with pytest.raises(ConfigError) as raised:
        fetcher.fetch_all([wanted(url, CONTENT)])
    assert [request.headers.get("authorization") for request in server.requests] == [server.wants] * 3
    said = [*memory.events, *memory.files, str(raised.value)]
    assert SECRET not in "\n".join([*said, caplog.text, repr(vars(fetcher))])
    assert any(path.is_file() for path in tmp_path.rglob("*"))
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_a_token_that_is_refused_is_named_by_its_variable(tmp_path, server):
    server.wants = "Bearer another"
    with pytest.raises(ConfigError, match="answers 401 to the credentials of FORUM_TOKEN") as raised:
        fetch(tmp_path, server.put("/f", CONTENT))
    assert SECRET not in str(raised.value)


def test_it_is_not_sent_to_where_a_redirect_leads(tmp_path, server):
    with FaultServer() as other:
        other.put("/f", CONTENT)
        there = other.url("/f").replace("127.0.0.1", "localhost")
        hops = [Answer(status=302, headers={"Location": to, "Content-Length": "0"}) for to in ("/here", there)]
        url = server.put("/f", b"", hops[:1])
        server.put("/here", b"", hops[1:])
        rules = FetchRules(TOKEN.sources, {"localhost": PAIR})  # nor are those of that host
        fetch(tmp_path, url, rules, private_hosts=("127.0.0.1", "localhost"))
    assert [request.headers.get("authorization") for request in server.requests] == [server.wants] * 2
    assert [request.headers.get("authorization") for request in other.requests] == [None]


def test_those_of_the_source_go_before_those_of_the_host(tmp_path, server):
    url = server.put("/f", CONTENT)
    fetch(tmp_path / "1", url, FetchRules(TOKEN.sources, {"127.0.0.1": PAIR}))
    server.wants = "Basic " + base64.b64encode(f"ann:{SECRET}".encode()).decode()
    fetch(tmp_path / "2", url, FetchRules(hosts={"127.0.0.1": PAIR}))
    server.wants = "Basic " + base64.b64encode(b"ann:").decode()
    fetch(tmp_path / "3", url, FetchRules(hosts={"127.0.0.1": AccessRules(user_from="EX_USER")}))


def test_a_value_of_two_words_is_sent_as_it_stands(tmp_path, server, monkeypatch):
    monkeypatch.setenv("FORUM_TOKEN", server.wants.replace("Bearer", "token"))
    server.wants = f"token {SECRET}"
    fetch(tmp_path, server.put("/f", CONTENT))


@pytest.mark.parametrize("value", [None, "", f"{SECRET}\r\nHost: e.org", f"{SECRET}\n", f"ü{SECRET}", f" {SECRET}"])
def test_a_variable_that_holds_no_token_is_named_before_any_request(tmp_path, server, monkeypatch, value):
    monkeypatch.delenv("FORUM_TOKEN")
    if value is not None:
        monkeypatch.setenv("FORUM_TOKEN", value)
    with pytest.raises(ConfigError, match="source forum: the environment variable FORUM_TOKEN ") as raised:
        fetch(tmp_path, server.put("/f", CONTENT))
    assert SECRET not in str(raised.value)
    assert server.requests == []


def test_what_is_here_needs_no_token(tmp_path, server, monkeypatch):
    url = server.put("/f", CONTENT)
    fetch(tmp_path, url)
    monkeypatch.delenv("FORUM_TOKEN")
    assert fetch(tmp_path, url).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://data.example.org/f", "credentials go over https alone"),
        ("s3://bucket/f", "the driver of s3:// knows no FORUM_TOKEN"),
    ],
)
def test_credentials_that_must_not_be_sent_are_refused_before_any_request(url, words):
    with pytest.raises(ConfigError, match=words) as raised:
        Access(TOKEN, "forum").check([url], FetchSettings())
    assert SECRET not in str(raised.value)


def test_over_https_they_may_go_to_any_host():
    Access(TOKEN, "forum").check(["https://data.example.org/f"], FetchSettings())


def test_a_user_with_a_colon_would_be_another_one(monkeypatch):
    monkeypatch.setenv("EX_USER", "ann:b")
    with pytest.raises(ConfigError, match=r"host e\.org: the user in EX_USER has a colon"):
        Access(FetchRules(hosts={"e.org": PAIR}), "forum").check(["https://e.org/f"], FetchSettings())


def test_over_http_they_go_through_no_proxy(tmp_path, server, monkeypatch):
    with FaultServer() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url(""))
        monkeypatch.setenv("no_proxy", "elsewhere.invalid")
        with pytest.raises(ConfigError, match=r"through a proxy that reads them; name 127\.0\.0\.1 in no_proxy"):
            fetch(tmp_path, server.put("/f", CONTENT))
    assert proxy.requests == []
