"""The ingest sensor, off until somebody turns it on: requests a run of each source that ledger and configs name anew.

Partitions are static and read when the code loads, so a sensor cannot add any: what is on disk and not loaded is said,
with what to do. Each run has its blocking checks, and a run key of row and config: the same is never launched twice.
"""

import dagster as dg

from corpus_assets import inputs
from corpus_assets.partitions import PAIRS
from corpus_assets.plans import ingest
from resources.download.wanted import mask_text
from resources.store import Store

_UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


@dg.sensor(
    target=dg.AssetSelection.assets(*ingest.ASSETS),
    default_status=dg.DefaultSensorStatus.STOPPED,
    minimum_interval_seconds=60,
)
def ingest_new_sources(context: dg.SensorEvaluationContext, store: Store) -> dg.SensorResult:
    """Runs ledger_entry to minhash_signatures of every source of an unpublished version that is new or whose row
    changed; says what it does not run, and why.
    """
    found = ingest.look(store.layout, frozenset(str(pair) for pair in PAIRS))
    notes = [mask_text(note) for note in found.notes]
    requests = []
    for new in found.new:
        if _under_way(context.instance, str(new.pair)):
            notes.append(f"{new.pair}: a run of it is under way")
            continue
        context.log.info(mask_text(f"{new.pair}: {new.why}"))
        requests.append(dg.RunRequest(run_key=new.name, partition_key=str(new.pair), tags={"corpus/ingest": new.name}))
    for note in notes:
        context.log.warning(note)
    if not requests:
        return dg.SensorResult(skip_reason="; ".join(notes) or "nothing new in ledger and configs")
    return dg.SensorResult(run_requests=requests, asset_events=_observations())


def _under_way(instance: dg.DagsterInstance, pair: str) -> bool:
    wanted = dg.RunsFilter(tags={"dagster/partition": pair}, statuses=_UNDER_WAY)
    return instance.get_runs_count(wanted) > 0


def _observations() -> list[dg.AssetObservation]:
    """What the inputs are now. Dagster calls nothing stale that was made before its inputs were first observed."""
    configs = inputs.configs(lambda _: None)  # the notes say what is broken
    found = [("ledger", source, version) for source, version in inputs.ledger_versions().items()]
    found += [("corpus_config", key, version) for key, version in inputs.config_versions(configs).items()]
    return [
        dg.AssetObservation(asset, partition=partition, tags={"dagster/data_version": version})
        for asset, partition, version in [*found, ("eval_sets", None, inputs.eval_sets_version(configs.values()))]
    ]
