"""E-mail over a real SMTP server: encrypted, logged in, one message a recipient, and no line of anybody else's."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.errors import ConfigError, TransientError
from resources.mail import PASSWORD, Mail, Mailbox
from resources.outbox import RefusedError
from tests import ports, smtp_server
from tests.resources.test_slack import ALERT, ALERTS, WORDS
from tests.smtp_server import DROP, HANG, SmtpServer

SECRET = "hunter2 of the mail"


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' server is its own authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(smtp_server.certificate()))


def mail(server: str, **changes: Any) -> Mail:
    settings = {"sender": "corpus@b.example", "recipients": "ann@d.example, bo@d.example", "timeout_seconds": 60.0}
    return Mail(server=server, **{**settings, **changes})


def send(resource: Mail, alert: dict[str, Any] = ALERT) -> None:
    for receiver in resource.receivers():
        receiver.send("run-1", alert)


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("tls", ["starttls", "ssl"])
def test_an_alert_is_sent_encrypted_after_a_login_one_message_a_recipient(tls: str) -> None:
    with SmtpServer(tls=tls) as server:
        send(mail(server.url, user="me", password=SECRET))
    assert [(taken.sender, taken.recipients) for taken in server.taken] == [
        ("corpus@b.example", ("ann@d.example",)),
        ("corpus@b.example", ("bo@d.example",)),
    ]
    assert all(taken.encrypted and taken.login == ("me", SECRET) for taken in server.taken)
    message = server.taken[0].message
    assert message["Subject"] == "Corpus: run failed: web@tiny.v1"
    assert message["To"] == "ann@d.example"
    assert message["Auto-Submitted"] == "auto-generated"
    text = server.taken[0].text
    for words in (
        "Source: web\n",
        "Version: tiny.v1\n",
        "ERROR ledger_entry/licence_allowed, stops the build\n",
        "licence <!channel> & more (rows at fault: 3; share: 0.25)\n",
        "Step raw_fetch raised\n  sha256 is 77\n",
        "The run: https://dagster.example/runs/0b7e\n",
    ):
        assert words in text


def test_without_tls_it_goes_to_a_server_that_is_asked_for_so() -> None:
    with SmtpServer() as server:
        send(mail(server.url))
    assert len(server.taken) == 2


@pytest.mark.usefixtures("trusted")
def test_where_the_server_offers_no_starttls_nothing_is_sent() -> None:
    with SmtpServer() as server, pytest.raises(TransientError, match="offers no STARTTLS"):
        send(mail(f"smtp://127.0.0.1:{server.port}", user="me", password=SECRET))
    assert server.taken == []
    assert not [line for line in server.lines if not line.upper().startswith("EHLO")]


@pytest.mark.parametrize("tls", ["starttls", "ssl"])
def test_a_certificate_that_is_not_trusted_is_refused(tls: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with SmtpServer(tls=tls) as server, pytest.raises(TransientError, match="TLS failed: CERTIFICATE_VERIFY_FAILED"):
        send(mail(server.url, user="me", password=SECRET))
    assert server.taken == []
    assert not [line for line in server.lines if line.upper().startswith(("AUTH", "MAIL"))]


PASSES = {"CONNECT": "421 down", "MAIL": "451 later", "RCPT": "450 busy", "DATA": "451 later", "DATA.": "452 full"}
STAYS = {"MAIL": "553 who", "RCPT": "550 no such user", "DATA": "554 no", "DATA.": "554 spam"}


@pytest.mark.parametrize(("command", "answer"), [*PASSES.items(), *STAYS.items()])
def test_a_server_that_does_not_take_it_is_told_with_its_words(command: str, answer: str) -> None:
    with SmtpServer({command: [answer]}) as server:
        with pytest.raises(TransientError, match=f"address 1 of CORPUS_MAIL_TO.* answered {answer}") as raised:
            send(mail(server.url))
        assert isinstance(raised.value, RefusedError) == answer.startswith("5")
        assert server.taken == []
        send(mail(server.url))
        assert len(server.taken) == 2


@pytest.mark.parametrize("how", [DROP, HANG])
@pytest.mark.parametrize("command", ["CONNECT", "EHLO", "MAIL", "RCPT", "DATA", "DATA."])
def test_a_server_that_goes_silent_or_away_at_any_point_is_a_transient_error(command: str, how: str) -> None:
    with SmtpServer({command: [how]}) as server, pytest.raises(TransientError):
        send(mail(server.url, timeout_seconds=0.3 if how == HANG else 60.0))
    assert server.taken == []


@pytest.mark.parametrize("answer", [DROP, HANG, "500 what"])
def test_what_the_server_does_after_it_took_the_message_changes_nothing(answer: str) -> None:
    patience = 2.0 if answer == HANG else 60.0  # two seconds: the good answers before it must come within them, too
    with SmtpServer({"QUIT": [answer]}) as server:
        send(mail(server.url, timeout_seconds=patience, recipients="ann@d.example"))
    assert len(server.taken) == 1


def test_nobody_listening_is_a_transient_error() -> None:
    with ports.closed() as port, pytest.raises(TransientError, match="refused"):
        send(mail(f"smtp+plain://127.0.0.1:{port}"))


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("answer", [f"535 no {SECRET}", f"454 {SECRET}", DROP])
def test_a_login_that_fails_says_so_without_user_and_password(answer: str) -> None:
    with SmtpServer({"AUTH": [answer] * 3}, tls="starttls") as server, pytest.raises(TransientError) as raised:
        send(mail(server.url, user="the-user", password=SECRET))
    assert server.taken == []
    assert not re.search("hunter2|the-user", f"{raised.value!r} {raised.value.__cause__} {raised.value.__context__}")


@pytest.mark.usefixtures("trusted")
def test_a_server_that_repeats_the_password_is_told_by_its_code_alone() -> None:
    with (
        SmtpServer({"MAIL": [f"550 you said {SECRET}"]}, tls="ssl") as server,
        pytest.raises(RefusedError, match=r"answered 550$"),
    ):
        send(mail(server.url, user="me", password=SECRET))


WRONG = {
    "scheme": {"server": "http://mail.example/hunter2"},
    "no host": {"server": "smtp://:25"},
    "port": {"server": "smtp://mail.example:hunter2"},
    "login in the url": {"server": "smtp://me:hunter2@mail.example"},
    "user without password": {"user": "hunter2"},
    "password without user": {"password": "hunter2"},
    "login in the clear": {"server": "smtp+plain://mail.example", "user": "me", "password": "hunter2"},
    "login that no server takes": {"user": "me", "password": "hünter2 hunter2"},
    "nobody": {"recipients": " , "},
    "sender": {"sender": ""},
    "line in the sender": {"sender": "a@b.example\nBcc: hunter2@d.example"},
    "line in a recipient": {"recipients": "a@b.example,c@d.example\r\nRCPT TO:<hunter2@d.example>"},
    "name of a recipient": {"recipients": "hunter2 <a@b.example>"},
    "two signs": {"recipients": "a@b@hunter2.example"},
}


@pytest.mark.parametrize("name", WRONG)
def test_settings_that_a_person_has_to_mend_are_told_by_variable_and_never_by_value(name: str) -> None:
    (receiver,) = mail(**{"server": "smtp://mail.example", **WRONG[name]}).receivers()
    with pytest.raises(ConfigError, match=r"CORPUS_(SMTP|MAIL)") as raised:
        receiver.send("run-1", ALERT)
    assert "hunter2" not in str(raised.value)


def test_without_a_server_nobody_is_told() -> None:
    assert list(mail("").receivers()) == []


def test_a_recipient_that_is_set_twice_gets_one_message_and_keeps_its_name() -> None:
    one, two = mail("smtp://mail.example", recipients="a@b.example,c@d.example,a@b.example").receivers()
    again, _ = mail("smtp://mail.example", recipients="c@d.example,a@b.example").receivers()
    assert (one.name != two.name, again.name) == (True, two.name)


def test_the_settings_stay_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORPUS_SMTP", "smtp://mail.example")
    monkeypatch.setenv(PASSWORD, SECRET)
    assert SECRET not in repr(Mail.of_environment())
    assert SECRET not in repr(Mailbox(1, "a@b.example", "c@d.example", "smtp", "h", 25, ("me", SECRET)))


HEADERS = {"Subject", "From", "To", "Date", "Message-ID", "Auto-Submitted", "Content-Type", "MIME-Version"}
HEADERS |= {"Content-Transfer-Encoding"}
INJECTIONS = ["web\nBcc: eve@evil.example", "web\r\n\r\n<h1>", "\r\n.\r\nMAIL FROM:<eve@evil.example>", "a\u2028b\x85c"]


@settings(deadline=None)
@given(ALERTS | st.sampled_from(INJECTIONS).map(lambda word: {**ALERT, "partition": word, "source": word}), WORDS)
def test_no_text_of_an_alert_becomes_a_header_or_breaks_the_message(alert: dict[str, Any], name: str) -> None:
    box = Mailbox(1, "ann@d.example", "corpus@b.example", "smtp", "h", 25, None)
    data = box.message(name, alert).as_bytes()
    head, _, _ = data.partition(b"\r\n\r\n")
    assert {line.split(b":")[0].decode() for line in re.split(rb"\r\n(?![ \t])", head)} == HEADERS
    found = smtp_server.Taken("", (), data, False, None).message
    assert found["To"] == "ann@d.example"
    assert "\n" not in found["Subject"]
    assert max(len(line) for line in data.split(b"\r\n")) <= 998


@pytest.mark.parametrize("word", INJECTIONS)
def test_an_injection_arrives_as_words(word: str) -> None:
    alert = {**ALERT, "partition": word, "source": word, "failed_steps": [{"step": word, "error": word}]}
    with SmtpServer() as server:
        send(mail(server.url, recipients="ann@d.example"), alert)
    (taken,) = server.taken
    assert taken.recipients == ("ann@d.example",)
    assert taken.message["Bcc"] is None
    assert " ".join(word.split()) in taken.text
