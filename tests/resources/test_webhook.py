"""Alerts reach a receiver that answers late, and wait for one that does not answer at all."""

import os
import socket
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from formats.errors import ConfigError, TransientError
from resources.webhook import VARIABLE, Outbox, Webhook
from tests.receiver import DROP, Receiver

ALERT = {"run_id": "7", "failed_checks": [{"check": "licence_allowed", "description": "Überall verboten"}]}


def webhook(url: str, **changes: Any) -> Webhook:
    return Webhook(url=url, backoff_seconds=0, **changes)


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_an_alert_is_posted_as_json() -> None:
    with Receiver() as receiver:
        assert webhook(receiver.url).post(ALERT)
    assert receiver.taken == [ALERT]
    assert receiver.requests[0]["content-type"] == "application/json"


@pytest.mark.parametrize("answers", [(503, 503), (500,), (429, DROP, 502), (DROP,), (302, 301), (404,)])
def test_it_is_posted_again_until_it_is_taken(answers: tuple[int, ...]) -> None:
    with Receiver(*answers) as receiver:
        assert webhook(receiver.url).post(ALERT)
    assert receiver.taken == [ALERT]
    assert len(receiver.requests) == len(answers) + 1


@pytest.mark.parametrize("answers", [(503,) * 3, (DROP,) * 3, (302,) * 3])
def test_when_every_try_failed_a_transient_error_says_so_without_the_url(answers: tuple[int, ...]) -> None:
    with Receiver(*answers) as receiver, pytest.raises(TransientError) as raised:
        webhook(receiver.url, tries=3).post(ALERT)
    assert len(receiver.requests) == 3
    assert receiver.taken == []
    assert "CORPUS_WEBHOOK: 3 tries to post an alert failed, the last with: " in str(raised.value)
    assert "secret-path" not in str(raised.value)


def test_nobody_listening_is_a_transient_error() -> None:
    with pytest.raises(TransientError, match="refused"):
        webhook(f"http://127.0.0.1:{closed_port()}/").post(ALERT)


def test_without_a_url_nothing_is_posted() -> None:
    assert not webhook("").post(ALERT)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "hooks.example/secret-path", "ftp://hooks.example/x"])
def test_a_url_of_another_kind_is_refused_without_naming_it(url: str) -> None:
    with pytest.raises(ConfigError, match="CORPUS_WEBHOOK: expected a URL that begins with http") as raised:
        webhook(url).post(ALERT)
    assert url not in str(raised.value)


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


def test_what_is_not_taken_waits_in_the_outbox_and_is_delivered_once(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "alerts")
    outbox.put("a", {"run_id": "a"})
    outbox.put("b", {"run_id": "b"})
    with Receiver(200, 503, 503) as receiver:
        hook = webhook(receiver.url, tries=2)
        with pytest.raises(TransientError):
            outbox.deliver(hook)
        assert receiver.taken == [{"run_id": "a"}]
        assert outbox.deliver(hook) == 1
        assert outbox.deliver(hook) == 0
    assert receiver.taken == [{"run_id": "a"}, {"run_id": "b"}]


def test_the_same_alert_twice_is_one_and_without_a_url_it_waits(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "alerts")
    for _ in range(2):
        outbox.put("a", ALERT)
    assert outbox.deliver(webhook("")) == 0
    with Receiver() as receiver:
        assert outbox.deliver(webhook(receiver.url)) == 1
    assert receiver.taken == [ALERT]
