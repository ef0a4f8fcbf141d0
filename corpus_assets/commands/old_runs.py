"""Old runs in Dagster's history, deleted through Dagster's own API. Of each asset of each partition the latest run that
went well stays, whatever its age: what the UI shows of it, and what a build takes for unchanged, come from there.
"""

from datetime import UTC, datetime, timedelta

import dagster as dg

_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_PARTITION = "dagster/partition"
_PAGE = 500


def older_than(instance: dg.DagsterInstance, days: float) -> list[str]:
    """The ids of ended runs that were made more than so many days ago and that may go, the latest first."""
    before = datetime.now(UTC) - timedelta(days=days)
    found: list[str] = []
    told: set[tuple[str | None, str]] = set()
    cursor: str | None = None
    while page := instance.get_run_records(dg.RunsFilter(), limit=_PAGE, cursor=cursor):
        for record in page:
            run = record.dagster_run
            partition = run.tags.get(_PARTITION)
            assets = {(partition, key.to_user_string()) for key in run.asset_selection or ()}
            is_latest = not assets or not assets <= told
            if run.status == dg.DagsterRunStatus.SUCCESS:
                told |= assets
            if run.status in _ENDED and not is_latest and record.create_timestamp < before:
                found.append(run.run_id)
        cursor = page[-1].dagster_run.run_id
    return found


def delete(instance: dg.DagsterInstance, run_ids: list[str]) -> None:
    """With their events and logs."""
    for run_id in run_ids:
        instance.delete_run(run_id)
