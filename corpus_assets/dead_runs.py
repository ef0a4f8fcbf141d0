"""A sensor, running by default: Dagster leaves a run as started whose process was killed together with its code server,
and a queue, a backfill or an automation condition would wait for it without an end or a word.
"""

import dagster as dg

from corpus_assets.commands import dead_runs
from resources.store import Store


@dg.sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=60,
    description="Marks runs whose process is gone as failed, so that the alert goes out and what waits for them goes "
    "on.",
)
def fail_runs_of_dead_processes(context: dg.SensorEvaluationContext, store: Store) -> dg.SkipReason:
    """The tick says how many there were."""
    return dg.SkipReason(f"{dead_runs.bury(store.layout, context.instance)} runs of dead processes marked as failed")
