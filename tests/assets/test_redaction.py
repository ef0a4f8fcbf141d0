"""Secrets of a URL in a ledger row end in no log, no metadata and no alert, right row or wrong."""

import pytest
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster._serdes import serialize_value

from formats.errors import TransientError
from formats.naming import PairKey
from resources.mail import Mail
from resources.slack import Slack
from resources.webhook import Webhook
from tests import smtp_server
from tests.assets import graph, tiny
from tests.assets.test_alerts import alert_of
from tests.fault_server import FaultServer
from tests.receiver import Receiver
from tests.smtp_server import SmtpServer

WEB = PairKey("web", tiny.V1)
URL = "http://me:hunter2@tales.example/a.jsonl?id=7&token=hunter3"


def test_no_secret_of_a_url_is_in_what_dagster_keeps_or_an_alert_says(tmp_path):
    layout = tiny.unbuilt(tmp_path)
    row = tiny.ledger_row("web")
    files = [{**row["files"][0], "url": URL}, {**row["files"][0], "url": f"{URL} "}]
    tiny.write_ledger(layout, {**row, "files": files, "license_evidence": URL})
    with graph.instance() as instance, Receiver() as receiver, graph.loaded(layout) as defs:
        ran = graph.run(defs, instance, WEB, "ledger_entry", "raw_fetch")
        alert_of(ran, instance, Webhook(url=receiver.url))
        kept = [serialize_value(entry) for entry in instance.all_logs(ran.run_id)]
    said = [*kept, repr(receiver.taken)]
    assert any("tales.example" in one for one in kept), "the row is shown, without its secrets"
    assert receiver.taken
    assert not [one for one in said if "hunter" in one]


@pytest.mark.parametrize("right", [True, False])
def test_a_token_of_this_machine_is_sent_to_the_source_and_kept_by_nobody(tmp_path, monkeypatch, right):
    monkeypatch.setenv("WEB_TOKEN", "hunter8")
    layout, row = tiny.unbuilt(tmp_path), tiny.ledger_row("web")
    layout.fetch_rules.write_text("sources: {web: {authorization_from: WEB_TOKEN}}\n")
    with FaultServer() as server, graph.instance() as instance, graph.loaded(layout) as defs:
        server.wants = "Bearer hunter8" if right else "Bearer hunter9"
        tiny.write_ledger(layout, {**row, "files": [{**row["files"][0], "url": server.put("/a", tiny.FILES["web"])}]})
        ran = graph.run(defs, instance, WEB, "ledger_entry", "raw_fetch")
        kept = [serialize_value(entry) for entry in instance.all_logs(ran.run_id)]
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer hunter8"]
    assert ran.success == right
    assert right or any("answers 401 to the credentials of WEB_TOKEN" in one for one in kept)
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [one for one in (*kept, *map(repr, files)) if "hunter" in one]


SECRETS = {
    "CORPUS_WEBHOOK": "https://hooks.example/hunter4",
    "CORPUS_SLACK_WEBHOOK": "https://hooks.slack.example/services/hunter5",
    "CORPUS_SMTP": "smtp://mail.example",
    "CORPUS_SMTP_USER": "hunter6",
    "CORPUS_SMTP_PASSWORD": "hunter7",
    "CORPUS_MAIL_FROM": "a@b.example",
    "CORPUS_MAIL_TO": "c@d.example",
}


def test_the_ui_is_given_the_names_of_the_channels_settings_and_never_their_values(tmp_path):
    with graph.loaded(tiny.unbuilt(tmp_path), **SECRETS) as defs:
        shown = serialize_value(RepositorySnap.from_def(defs.get_repository_def()))
    assert "CORPUS_SLACK_WEBHOOK" in shown
    assert "CORPUS_SMTP_PASSWORD" in shown
    assert "hunter" not in shown


def test_a_channel_that_fails_tells_its_secrets_to_nobody(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("SSL_CERT_FILE", str(smtp_server.certificate()))
    layout = tiny.unbuilt(tmp_path)
    tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
    no = {"AUTH": ["535 hunter6 hunter7"] * 9}
    with Receiver(*[500] * 9) as hook, SmtpServer(no, tls="starttls") as server, graph.instance() as instance:
        url = hook.url.replace("secret-path", "hunter4")
        mail = Mail(
            server=server.url, user="hunter6", password="hunter7", sender="a@b.example", recipients="c@d.example"
        )
        channels = [Webhook(url=url, tries=1), Slack(url=url, tries=1), mail]
        with graph.loaded(layout) as defs:
            ran = graph.run(defs, instance, WEB, "ledger_entry", "raw_fetch")
            with pytest.raises(TransientError) as raised:
                alert_of(ran, instance, *(one for channel in channels for one in channel.receivers()))
        error = serialize_value(as_dagster_keeps_it(raised.value))
        kept = [serialize_value(entry) for entry in instance.all_logs(ran.run_id)]
    for name in ("CORPUS_WEBHOOK", "CORPUS_SLACK_WEBHOOK", "CORPUS_SMTP"):
        assert name in error
    assert not [one for one in (error, caplog.text, *kept) if "hunter" in one]


def as_dagster_keeps_it(error):
    """The error as Dagster keeps it of a tick, with its causes and frames."""
    from dagster._utils.error import serializable_error_info_from_exc_info

    return serializable_error_info_from_exc_info((type(error), error, error.__traceback__))
