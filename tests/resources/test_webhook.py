"""The webhook reaches a receiver that answers late, and says without the url why one did not take it."""

import os
from email.utils import format_datetime
from typing import Any

import dagster as dg
import pytest

from formats.errors import ConfigError, TransientError
from resources import http_post
from resources.outbox import BusyError, RefusedError
from resources.slack import Slack
from resources.webhook import VARIABLE, Webhook
from tests import ports
from tests.receiver import DROP, HANG, Answer, Receiver

ALERT = {"run_id": "7", "failed_checks": [{"check": "licence_allowed", "description": "Überall verboten"}]}


def webhook(url: str, **changes: Any) -> Webhook:
    return Webhook(url=url, **{"tries": 4, "backoff_seconds": 0, **changes})


def test_an_alert_is_posted_as_json() -> None:
    with Receiver() as receiver:
        webhook(receiver.url).send("7", ALERT)
    assert receiver.taken == [ALERT]
    assert receiver.requests[0]["content-type"] == "application/json"


@pytest.mark.parametrize("answers", [(503, 503), (500,), (429, DROP, 502), (DROP,), (302, 301), (404,), (HANG,)])
def test_it_is_posted_again_until_it_is_taken(answers: tuple[int, ...]) -> None:
    patience = 2.0 if HANG in answers else 60.0  # two seconds: a good answer must come within them, too
    with Receiver(*answers) as receiver:
        webhook(receiver.url, timeout_seconds=patience).send("7", ALERT)
    assert receiver.taken == [ALERT]
    assert len(receiver.requests) == len(answers) + 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [(503, "HTTP 503"), (DROP, "RemoteDisconnected|reset"), (302, "HTTP 302"), (HANG, "no answer in time")],
)
def test_when_every_try_failed_a_transient_error_says_so_without_the_url(answer: Answer, words: str) -> None:
    with Receiver(*[answer] * 3) as receiver:
        with pytest.raises(TransientError, match=words) as raised:
            webhook(receiver.url, tries=3, timeout_seconds=0.3 if answer == HANG else 60.0).send("7", ALERT)
        receiver.wait_until_asked(3, 60)
    assert len(receiver.requests) == 3
    assert receiver.taken == []
    assert "CORPUS_WEBHOOK: 3 tries to post an alert failed, the last with: " in str(raised.value)
    assert "secret-path" not in str(raised.value)


@pytest.mark.parametrize("status", [400, 403, 404, 410, 413])
def test_a_4xx_is_of_this_alert_and_408_and_429_are_of_the_receiver(status: int) -> None:
    with Receiver(status) as receiver, pytest.raises(RefusedError, match=f"HTTP {status}"):
        webhook(receiver.url, tries=1).send("7", ALERT)
    for passing in (408, 425, 429):
        with Receiver(passing) as receiver, pytest.raises(TransientError) as raised:
            webhook(receiver.url, tries=1).send("7", ALERT)
        assert not isinstance(raised.value, RefusedError)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_ends_the_tries_and_says_when(status: int) -> None:
    with Receiver((status, "120")) as receiver, pytest.raises(BusyError) as raised:
        webhook(receiver.url).send("7", ALERT)
    assert raised.value.seconds == 120
    assert len(receiver.requests) == 1


def test_retry_after_may_be_a_date_and_nonsense_counts_as_none() -> None:
    from datetime import UTC, datetime, timedelta

    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    tries = http_post.Tries(1, 5.0, 0.0)
    for later, seconds in ((90, 90.0), (-90, 0.0)):
        with Receiver((429, format_datetime(now + timedelta(seconds=later), usegmt=True))) as receiver:
            with pytest.raises(BusyError) as raised:
                http_post.post(VARIABLE, receiver.url, b"{}", tries, now.timestamp)
            assert raised.value.seconds == seconds
    for nonsense in ("soon", "-1", "1e9", "Mon, 99 Foo"):
        with Receiver((429, nonsense)) as receiver, pytest.raises(TransientError) as other:
            http_post.post(VARIABLE, receiver.url, b"{}", tries)
        assert not isinstance(other.value, BusyError)


def test_nobody_listening_is_a_transient_error() -> None:
    with ports.closed() as port, pytest.raises(TransientError, match="refused"):
        webhook(f"http://127.0.0.1:{port}/").send("7", ALERT)


@pytest.mark.parametrize("channel", [Webhook, Slack])
def test_without_a_url_nobody_is_told(channel: type[Webhook] | type[Slack]) -> None:
    assert list(channel().receivers()) == []


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "hooks.example/secret-path",
        "ftp://hooks.example/x",
        "http://hooks.example/secret path",
        "http://hooks.example/secret\n",
        "http://hooks.example:secret/",
        "http://hooks.example:99999999/secret",
        "http:///secret",
        "http://me:secret@hooks.example/",
        "http://[secret/",
        "https://höcker.example/secret",
    ],
)
@pytest.mark.parametrize("channel", [Webhook, Slack])
def test_a_url_that_is_none_is_refused_without_naming_it(url: str, channel: type[Webhook] | type[Slack]) -> None:
    with pytest.raises(ConfigError, match=r"CORPUS_(SLACK_)?WEBHOOK: ") as raised:
        channel(url=url).send("7", ALERT)
    assert url not in str(raised.value)
    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("host", ["a..example", "x" * 70 + ".example"])
def test_a_host_that_cannot_be_asked_is_a_transient_error_without_its_name(host: str) -> None:
    with pytest.raises(TransientError) as raised:
        webhook(f"http://{host}/secret-path", tries=1).send("7", ALERT)
    assert host not in str(raised.value)


def test_the_url_comes_from_the_environment_and_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert Webhook.of_environment().url == ""
    monkeypatch.setenv(VARIABLE, "http://127.0.0.1/secret-path")
    resource = Webhook.of_environment()
    assert "secret-path" not in repr(resource)
    seen = []

    @dg.asset
    def asked(webhook: Webhook) -> None:
        seen.append(webhook.url)

    dg.materialize([asked], resources={"webhook": resource}, instance=dg.DagsterInstance.ephemeral())
    assert seen == [os.environ[VARIABLE]]
