"""A project that holds nothing: what Dagster itself takes and grows by, beside ours.

Loaded by `dagster dev` with the same instance settings. It has one asset, in the partition that is launched, and as
many sensors as run by default in ours, at the same intervals and of the same kinds; they do nothing.
"""

import dagster as dg

from tests.load.roots import PARTITION

_RUNNING = dg.DefaultSensorStatus.RUNNING


@dg.asset(partitions_def=dg.StaticPartitionsDefinition([PARTITION]))
def ledger_entry() -> None:
    """Nothing."""


@dg.run_failure_sensor(monitor_all_code_locations=True, default_status=_RUNNING, minimum_interval_seconds=10)
def alert_on_failed_runs() -> None:
    """Looks at failed runs, and does nothing."""


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    monitor_all_code_locations=True,
    default_status=_RUNNING,
    minimum_interval_seconds=10,
)
def alert_on_failed_checks() -> None:
    """Looks at every run, and does nothing."""


@dg.sensor(default_status=_RUNNING, minimum_interval_seconds=30)
def deliver_waiting_alerts() -> dg.SkipReason:
    """Looks at nothing."""
    return dg.SkipReason("nothing to do")


defs = dg.Definitions(
    assets=[ledger_entry],
    sensors=[alert_on_failed_runs, alert_on_failed_checks, deliver_waiting_alerts],
    executor=dg.in_process_executor,
)
