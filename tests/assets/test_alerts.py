"""What an alert says, of runs made in this process; the sensors under a real daemon are in test_ui.py."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.events import EngineEventData
from dagster._utils import get_run_crash_explanation
from dagster._utils.error import SerializableErrorInfo

from formats.errors import TransientError
from formats.layout import Layout
from formats.naming import PairKey
from resources import alert_words, outbox
from resources.mail import Mail
from resources.outbox import Receiver as Told
from resources.slack import Slack
from resources.webhook import Webhook
from tests import faults
from tests.assets import graph, tiny
from tests.receiver import Receiver
from tests.smtp_server import SmtpServer

WEB = PairKey("web", tiny.V1)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with graph.instance() as instance:
        yield instance


def alert_of(ran: graph.Ran, instance: dg.DagsterInstance, *receivers: Told) -> None:
    """What the sensors do once a run has ended."""
    from corpus_assets import alerts

    run = instance.get_run_by_id(ran.run_id)
    assert run
    event = next(e for e in reversed(ran.all_events) if e.is_run_failure or e.event_type_value == "PIPELINE_SUCCESS")
    alerts.alert(
        dg.build_run_status_sensor_context("alerts", dagster_event=event, dagster_instance=instance, dagster_run=run),
        receivers,
    )


def told(layout: Layout, instance: dg.DagsterInstance, partition: Any, *assets: str) -> list[dict[str, Any]]:
    """The alerts that materializing these assets gives."""
    with Receiver() as receiver, graph.loaded(layout) as defs:
        alert_of(graph.run(defs, instance, partition, *assets), instance, Webhook(url=receiver.url))
    return receiver.taken


def test_a_ledger_violation_is_told_with_source_version_check_words_and_run(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
    (alert,) = told(layout, instance, WEB, "ledger_entry", "raw_fetch")
    assert (alert["source"], alert["version"], alert["partition"]) == ("web", "tiny.v1", "web@tiny.v1")
    assert alert["status"] == "FAILURE"
    assert alert["run_path"] == f"/runs/{alert['run_id']}"
    assert instance.get_run_by_id(alert["run_id"])
    (check,) = alert["failed_checks"]
    assert (check["asset"], check["check"], check["partition"]) == ("ledger_entry", "licence_allowed", "web@tiny.v1")
    assert (check["severity"], check["blocking"]) == ("ERROR", True)
    assert "source web: licence GPL-3.0-only is not allowed by tiny.v1" in check["description"]
    assert check["figures"] == {"license": "GPL-3.0-only", "violations": 1}
    assert alert["failed_steps"] == []  # the check's own words are enough


def test_a_step_that_raised_is_told_with_its_innermost_words(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    layout = tiny.unbuilt(tmp_path)
    faults.flip_byte(layout.root / "inputs" / "web.jsonl", 10)
    (alert,) = told(layout, instance, WEB, "ledger_entry", "raw_fetch")
    assert alert["failed_checks"] == []
    (step,) = alert["failed_steps"]
    assert step["step"] == "raw_fetch"
    assert "web.jsonl" in step["error"]
    assert "sha256" in step["error"]
    assert "Traceback" not in step["error"]


def test_a_warning_of_a_run_that_succeeded_is_told(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    layout = tiny.copy(tmp_path / "root")
    tiny.write_ledger(layout, tiny.ledger_row("web", title="The web, again"))
    (alert,) = told(layout, instance, WEB, "ledger_entry")
    assert (alert["status"], alert["message"]) == ("SUCCESS", None)
    (check,) = alert["failed_checks"]
    assert (check["check"], check["severity"], check["blocking"]) == ("unchanged_in_ledger", "WARN", False)
    assert "web@tiny.v1: the ledger's row changed since it was pinned: title" in check["description"]


@pytest.mark.parametrize(
    ("noted", "error", "told"),
    [
        (get_run_crash_explanation("Run execution process for a-b", -9), None, "was terminated by signal 9 (SIGKILL)"),
        (get_run_crash_explanation("Run execution process for a-b", 3), None, "unexpectedly exited with code 3."),
        (
            "Caught an unrecoverable error",
            "GRPC server: Subprocess for a-b terminated unexpectedly with exit code -9",
            "terminated unexpectedly with exit code -9",
        ),
    ],
)
def test_a_run_whose_process_died_is_told_as_such(
    instance: dg.DagsterInstance, capfd: pytest.CaptureFixture[str], noted: str, error: str | None, told: str
) -> None:
    from corpus_assets import alerts

    run = instance.create_run_for_job(dg.GraphDefinition(name="of_nothing").to_job())
    found = SerializableErrorInfo(f"{error}\n", ["a stack\n"], "DagsterLaunchFailedError") if error else None
    instance.report_engine_event(noted, run, EngineEventData(error=found))
    event, failed = instance.report_run_failed(run), instance.get_run_by_id(run.run_id)
    assert failed
    context = dg.build_run_status_sensor_context("alerts", event, instance, failed)
    alerts.alert(context, [])
    assert f"run {run.run_id} failed: its process died: it {told}" in capfd.readouterr().err
    with Receiver() as receiver:
        alerts.alert(context, [Webhook(url=receiver.url)])
    (alert,) = receiver.taken
    assert alert["message"].startswith(f"its process died: it {told}")
    assert ("The run said", alert["message"]) in [(head, words) for head, words in alert_words.failures(alert)]


def test_of_a_run_without_fault_nothing_is_told(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    assert told(tiny.copy(tmp_path / "root"), instance, WEB, "ledger_entry") == []


def test_an_alert_that_was_not_taken_is_told_by_the_sensor_that_tries_again(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "PAUSE_SECONDS", 0.0)
    layout = tiny.copy(tmp_path / "root")
    tiny.write_ledger(layout, tiny.ledger_row("web", title="The web, again"))
    with Receiver(503, 503) as receiver, graph.loaded(layout) as defs:
        webhook = Webhook(url=receiver.url, tries=1, backoff_seconds=0)
        ran = graph.run(defs, instance, WEB, "ledger_entry")
        with pytest.raises(TransientError):
            alert_of(ran, instance, webhook)
        context = dg.build_sensor_context(instance, resources={"webhook": webhook, "slack": Slack(), "mail": Mail()})
        sensor = defs.get_sensor_def("deliver_waiting_alerts")
        with pytest.raises(Exception, match="503"):
            sensor.evaluate_tick(context)
        assert sensor.evaluate_tick(context).skip_message == "1 waiting alerts delivered, 0 wait"
        assert sensor.evaluate_tick(context).skip_message == "0 waiting alerts delivered, 0 wait"
        alert_of(ran, instance, webhook)  # a sensor that begins anew sees the run again
    assert [alert["run_id"] for alert in receiver.taken] == [ran.run_id]


def test_every_channel_that_is_set_is_told_once_while_one_is_down(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "PAUSE_SECONDS", 0.0)
    layout = tiny.unbuilt(tmp_path)
    tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
    with Receiver() as hook, Receiver(500, 500) as chat, SmtpServer() as server:
        environment = {
            "CORPUS_WEBHOOK": hook.url,
            "CORPUS_SLACK_WEBHOOK": chat.url,
            "CORPUS_SMTP": server.url,
            "CORPUS_MAIL_FROM": "corpus@b.example",
            "CORPUS_MAIL_TO": "ann@d.example,bo@d.example",
            "CORPUS_UI_URL": "https://dagster.example/",
        }
        with graph.loaded(layout, **environment) as defs:
            ran = graph.run(defs, instance, WEB, "ledger_entry", "raw_fetch")
            resources = {
                "webhook": Webhook(url=hook.url),
                "slack": Slack(url=chat.url, tries=1),
                "mail": Mail(server=server.url, sender="corpus@b.example", recipients="ann@d.example,bo@d.example"),
            }
            receivers = [one for channel in resources.values() for one in channel.receivers()]
            with pytest.raises(TransientError, match=r"CORPUS_SLACK_WEBHOOK.*500"):
                alert_of(ran, instance, *receivers)
            sensor = defs.get_sensor_def("deliver_waiting_alerts")
            context = dg.build_sensor_context(instance, resources=resources)
            with pytest.raises(Exception, match="500"):
                sensor.evaluate_tick(context)
            assert sensor.evaluate_tick(context).skip_message == "1 waiting alerts delivered, 0 wait"
            assert sensor.evaluate_tick(context).skip_message == "0 waiting alerts delivered, 0 wait"
    link = f"https://dagster.example/runs/{ran.run_id}"
    (alert,) = hook.taken
    assert alert["run_url"] == link
    (sent,) = chat.taken
    assert link in str(sent)
    assert sorted(taken.recipients for taken in server.taken) == [("ann@d.example",), ("bo@d.example",)]
    for taken in server.taken:
        text = taken.text
        for words in ("Source: web", "Version: tiny.v1", "ledger_entry/licence_allowed, stops the build", link):
            assert words in text
        assert "violations: 1" in text


def test_the_channels_are_those_of_the_environment(tmp_path: Path) -> None:
    names = {"CORPUS_SLACK_WEBHOOK": "slack", "CORPUS_WEBHOOK": "webhook"}
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs:
        assert not any(list(defs.resources[name].receivers()) for name in ("webhook", "slack", "mail"))
    for variable, name in names.items():
        with graph.loaded(layout, **{variable: "http://127.0.0.1/x"}) as defs:
            said = [one for one in ("webhook", "slack", "mail") if list(defs.resources[one].receivers())]
            assert said == [name]


def test_every_sensor_of_alerts_runs_by_default(tmp_path: Path) -> None:
    with graph.loaded(tiny.unbuilt(tmp_path)) as defs:
        names = ("alert_on_failed_runs", "alert_on_failed_checks", "deliver_waiting_alerts")
        found = {sensor.name: sensor.default_status.value for sensor in defs.sensors}
        assert {name: found[name] for name in names} == dict.fromkeys(names, "RUNNING")


def test_every_sensor_says_in_the_ui_what_it_does(tmp_path: Path) -> None:
    with graph.loaded(tiny.unbuilt(tmp_path)) as defs:
        assert {sensor.name for sensor in defs.sensors if not (sensor.description or "").endswith(".")} == set()
