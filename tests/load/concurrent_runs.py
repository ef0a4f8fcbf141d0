"""Many runs at once on one instance, each a process of its own, and what the instance has of them afterwards.

    python -m tests.load.concurrent_runs HOME RUNS ASSETS [--quickly]

HOME has the dagster.yaml. Prints JSON: per run the events that its process saw, and those that the instance has.
"""

import json
import multiprocessing
import os
import sys
from collections import Counter
from contextlib import nullcontext
from typing import Any

import dagster as dg

from corpus_assets.commands import history

MESSAGES = 10
"""What each asset logs, beside its events."""


def definitions(runs: int, assets: int) -> dg.Definitions:
    """A chain of assets with a check each, in as many partitions as there are runs."""
    parts = dg.StaticPartitionsDefinition([f"part-{number}" for number in range(runs)])

    def one(number: int) -> dg.AssetsDefinition:
        @dg.asset(
            name=f"asset_{number}",
            partitions_def=parts,
            deps=[f"asset_{number - 1}"] if number else [],
            check_specs=[dg.AssetCheckSpec("counted", asset=f"asset_{number}", partitions_def=parts)],
        )
        def made(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
            for message in range(MESSAGES):
                context.log.info(f"message {message}")
            return dg.MaterializeResult(
                data_version=dg.DataVersion(context.partition_key),
                check_results=[dg.AssetCheckResult(passed=True, check_name="counted")],
            )

        return made

    return dg.Definitions(assets=[one(number) for number in range(assets)], executor=dg.in_process_executor)


def _run(number: int, runs: int, assets: int, quickly: bool, start: Any, answers: Any) -> None:
    with history.written_quickly() if quickly else nullcontext(), history.open_instance() as instance:
        job = definitions(runs, assets).resolve_implicit_global_asset_job_def()
        start.wait()
        done = job.execute_in_process(
            instance=instance,
            partition_key=f"part-{number}",
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            raise_on_error=False,
        )
        seen = Counter(event.event_type_value for event in done.all_events)
        answers.put((done.run_id, done.success, dict(seen)))


def measure(home: str, runs: int, assets: int, *, quickly: bool) -> dict[str, Any]:
    """All runs begin at once, each forked from this process, which has loaded everything and opened nothing."""
    os.environ["DAGSTER_HOME"] = home
    os.chdir(home)
    with history.open_instance() as instance:  # the tables are made before, as any command does
        instance.get_runs_count()
    fork = multiprocessing.get_context("fork")
    start, answers = fork.Barrier(runs), fork.Queue()
    children = [
        fork.Process(target=_run, args=(number, runs, assets, quickly, start, answers)) for number in range(runs)
    ]
    for child in children:
        child.start()
    seen = [answers.get(timeout=1200) for _ in children]
    for child in children:
        child.join()
    with history.open_instance() as instance:
        return {
            "runs": [
                {
                    "success": success and instance.get_run_by_id(run_id).status == dg.DagsterRunStatus.SUCCESS,
                    "seen": events,
                    "kept": dict(
                        Counter(
                            entry.dagster_event.event_type_value
                            for entry in instance.all_logs(run_id)
                            if entry.dagster_event
                        )
                    ),
                    "messages": sum(entry.user_message.startswith("message ") for entry in instance.all_logs(run_id)),
                }
                for run_id, success, events in seen
            ],
            "materialized": {
                f"asset_{number}": len(instance.get_materialized_partitions(dg.AssetKey(f"asset_{number}")))
                for number in range(assets)
            },
        }


if __name__ == "__main__":
    home, runs, assets, *more = sys.argv[1:]
    print(json.dumps(measure(home, int(runs), int(assets), quickly="--quickly" in more)))
