"""Alerts: a failed run, or a check that did not pass in a run that went on, goes to every channel that is set: webhook,
Slack, e-mail. Running by default.

Two sensors, since a warning and a non-blocking error leave their run a success. Dagster calls them once a run, so a
third one tries again what a receiver did not take.
"""

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from resources.alert_words import UI_VARIABLE
from resources.download.wanted import mask_text, mask_values, masked
from resources.mail import Mail
from resources.outbox import Outbox, Receiver
from resources.slack import Slack
from resources.webhook import Webhook

_WORDS = ("what_is_wrong",)
"""Metadata of a failed check that its description says already."""

_BY_STEPS = "Steps failed: "
_OF_NOTHING = "marked as failed from outside the execution context."
_DIED = re.compile(
    r"(?:Run execution process|Subprocess for) .*?"
    r"((?:was terminated by signal|unexpectedly exited|terminated unexpectedly) .*)"
)
"""How the code server says it, of a process at work and of one that had only begun."""


def failed_checks(instance: dg.DagsterInstance, run_id: str) -> list[dict[str, Any]]:
    """The check evaluations of a run that did not pass, in their order."""
    records = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION).records
    found = []
    for record in records:
        event = record.event_log_entry.dagster_event
        evaluation: Any = event.event_specific_data if event else None
        if evaluation is not None and not evaluation.passed:
            found.append(
                {
                    "asset": evaluation.asset_key.to_user_string(),
                    "check": evaluation.check_name,
                    "partition": evaluation.partition,
                    "severity": evaluation.severity.value,
                    "blocking": evaluation.blocking,
                    "description": evaluation.description,
                    "figures": _figures(evaluation.metadata),
                }
            )
    return found


def _figures(metadata: Mapping[str, dg.MetadataValue]) -> dict[str, Any]:
    """The figures of a check, the rows at fault among them, as JSON has them."""
    found = {name: value.value for name, value in metadata.items() if name not in _WORDS}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    }


def failed_steps(instance: dg.DagsterInstance, run_id: str) -> list[dict[str, str]]:
    """The steps of a run that raised, with the words of the innermost error; a blocking check has words of its own."""
    found = []
    for record in instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_FAILURE).records:
        event = record.event_log_entry.dagster_event
        error = event.step_failure_data.error if event else None
        while error and error.cause:
            error = error.cause
        if event and error and error.cls_name != "DagsterAssetCheckFailedError":
            found.append({"step": str(event.step_key), "error": error.message.strip()})
    return found


def _why_failed(instance: dg.DagsterInstance, run_id: str, message: str) -> str:
    """Dagster's message, but for a run whose process died: of that, the code server noted how just before."""
    if not message.endswith(_OF_NOTHING):
        return message
    records = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT).records
    for event in (record.event_log_entry.dagster_event for record in reversed(records)):
        error = event.engine_event_data.error if event else None
        if event and (found := _DIED.search(f"{event.message} {error.message if error else ''}")):
            return f"its process died: it {found[1].strip()}"
    return message


def outbox(instance: dg.DagsterInstance) -> Outbox:
    """Where alerts wait: beside the instance's own files."""
    return Outbox(Path(instance.storage_directory()) / "alerts")


def run_url(run_id: str) -> str | None:
    """The run's page; None where it is not known where people reach the UI."""
    base = os.environ.get(UI_VARIABLE, "")
    return f"{masked(base).rstrip('/')}/runs/{run_id}" if base.startswith(("http://", "https://")) else None


def alert(context: dg.RunStatusSensorContext, receivers: Sequence[Receiver]) -> None:
    """Tell of the run when it failed or a check of it did not pass; of one that failed by no step of its own in the
    log, too, since its process cannot. Raises TransientError, which the sensor's tick shows, when a receiver did not
    take it; it waits then.
    """
    run = context.dagster_run
    found = failed_checks(context.instance, run.run_id)
    failed = run.status == dg.DagsterRunStatus.FAILURE
    why = _why_failed(context.instance, run.run_id, context.dagster_event.message or "") if failed else None
    if why and _BY_STEPS not in why:
        context.log.error(mask_text(f"run {run.run_id} failed: {why}"))
    if not receivers or not (found or failed):
        return
    partition = run.tags.get("dagster/partition", "")
    source, _, version = partition.rpartition("@")
    payload = {
        "run_id": run.run_id,
        "run_path": f"/runs/{run.run_id}",
        "run_url": run_url(run.run_id),
        "status": run.status.value,
        "partition": partition or None,
        "source": source or None,
        "version": version or None,
        "message": why,
        "failed_steps": failed_steps(context.instance, run.run_id),
        "failed_checks": found,
    }
    outbox(context.instance).put(run.run_id, mask_values(payload), receivers)
    outbox(context.instance).deliver(receivers)


def receivers(*channels: Webhook | Slack | Mail) -> list[Receiver]:
    """Everybody that the channels reach."""
    return [receiver for channel in channels for receiver in channel.receivers()]


@dg.run_failure_sensor(
    monitor_all_code_locations=True,
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=10,
    description="Tells the alert channels that are set of every run that failed, with the checks that stopped it.",
)
def alert_on_failed_runs(context: dg.RunFailureSensorContext, webhook: Webhook, slack: Slack, mail: Mail) -> None:
    """Called once a failed run."""
    alert(context, receivers(webhook, slack, mail))


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    monitor_all_code_locations=True,
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=10,
    description="Tells the alert channels that are set of checks that did not pass in runs that succeeded: warnings, "
    "and errors that do not block.",
)
def alert_on_failed_checks(context: dg.RunStatusSensorContext, webhook: Webhook, slack: Slack, mail: Mail) -> None:
    """Called once a run that succeeded."""
    alert(context, receivers(webhook, slack, mail))


@dg.sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
    description="Sends the alerts that a receiver did not take when they came.",
)
def deliver_waiting_alerts(
    context: dg.SensorEvaluationContext, webhook: Webhook, slack: Slack, mail: Mail
) -> dg.SkipReason:
    """Raises TransientError, which the tick shows, while one is not taken."""
    told = receivers(webhook, slack, mail)
    delivered = outbox(context.instance).deliver(told)
    return dg.SkipReason(f"{delivered} waiting alerts delivered, {outbox(context.instance).waiting(told)} wait")
