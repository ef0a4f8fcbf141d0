"""The ingest sensor, off until somebody turns it on: requests a run of each source that ledger and configs name anew.

Partitions are static and read when the code loads, so a sensor cannot add any: what is on disk and not loaded is said,
with what to do. Each run has its blocking checks, and a run key of row and config: the same is never launched twice.
"""

import dagster as dg

from corpus_assets import inputs
from corpus_assets.partitions import PAIRS
from corpus_assets.plans import ingest
from formats import canonical
from resources.download.wanted import mask_text
from resources.store import Store

_TAG = "corpus/ingest"
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
    description="Runs ledger_entry to minhash_signatures of every source of an unpublished version that is new or "
    "whose row changed, once; says what it does not run, and why.",
)
def ingest_new_sources(context: dg.SensorEvaluationContext, store: Store) -> dg.SensorResult:
    """A request a source, or the notes as the reason why there is none."""
    found = ingest.look(store.layout, frozenset(str(pair) for pair in PAIRS))
    notes = [mask_text(note) for note in found.notes]
    requests = []
    for new in found.new:
        if _under_way(context.instance, str(new.pair)):
            notes.append(f"{new.pair}: a run of it is under way")
            continue
        if run := _asked_for(context.instance, new.name):
            notes.append(
                f"{new.pair}: was asked for as it is now, and run {run[:8]} did not make all of it; mend what that run "
                f"names, and materialize what it left or run `corpus build {new.pair.version}`"
            )
            continue
        context.log.info(mask_text(f"{new.pair}: {new.why}"))
        requests.append(dg.RunRequest(run_key=new.name, partition_key=str(new.pair), tags={_TAG: new.name}))
    said = canonical.digest(notes)
    for note in notes if said != context.cursor else ():  # each tick has them, the log those that are new
        context.log.warning(note)
    if not requests:
        return dg.SensorResult(skip_reason="; ".join(notes) or "nothing new in ledger and configs", cursor=said)
    return dg.SensorResult(run_requests=requests, asset_events=_observations(), cursor=said)


def _asked_for(instance: dg.DagsterInstance, name: str) -> str:
    """The id of the run that was made for this request, which the daemon would not launch again; "" for none."""
    found = instance.get_runs(dg.RunsFilter(tags={_TAG: name}), limit=1)
    return found[0].run_id if found else ""


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
