"""What a version that is not published needs, asked for as soon as what it is made of is there; off until turned on.

One condition on every asset from raw_fetch to what is published; ledger_entry is asked for by the ingest sensor, which
holds the ledger against the configs. It is evaluated in the code location: it looks at the locks of published versions.
"""

import dagster as dg

from corpus_assets import inputs
from corpus_assets.partitions import LAYOUT
from corpus_assets.plans import standing
from corpus_assets.plans.pinned import load_version
from formats.errors import CorpusError
from formats.naming import VersionKey


class NotMade(dg.AutomationCondition[dg.AssetKey]):
    """True of partitions whose version has no lock on disk, and of what is made after the lock where the evidence does
    not have it: a run may have been stopped between the two. Dagster's history need not know a version that is
    published: it was pulled, or made into another history; nothing of it is made again.
    """

    @property
    def description(self) -> str:
        return "Its version is not published, or lacks it"

    @property
    def name(self) -> str:
        return "not_made"

    def evaluate(self, context: dg.AutomationContext[dg.AssetKey]) -> dg.AutomationResult[dg.AssetKey]:
        asked = context.candidate_subset.expensively_compute_asset_partitions()
        versions = {one.partition_key: str(one.partition_key).rpartition("@")[2] for one in asked}
        asset = context.key.to_user_string()
        wanted = {key for key in set(versions.values()) if _is_wanted(VersionKey.parse(key), asset)}
        left = {one for one in asked if versions[one.partition_key] in wanted}
        return dg.AutomationResult(
            context, context.asset_graph_view.get_asset_subset_from_asset_partitions(context.key, left)
        )


def _is_wanted(key: VersionKey, asset: str) -> bool:
    if not LAYOUT.lock(key).exists():
        return True
    try:
        return standing.lacks(LAYOUT, load_version(LAYOUT, key), asset)
    except CorpusError:  # damaged, or published with another config: `corpus status` says so, and a person decides
        return False


_INPUTS = [one.key for one in (inputs.observe_ledger, inputs.observe_configs, inputs.observe_eval_sets)]
"""Files that are there, observed or not: Dagster takes what was never observed for missing."""
_AC = dg.AutomationCondition
WHEN_READY = (
    (
        _AC.missing()
        & ~_AC.in_progress()
        & ~_AC.execution_failed()  # what failed waits for a person; the alert has gone out
        & NotMade()
        & ~_AC.any_deps_missing()  # of a version: of any of its sources
        & ~_AC.any_deps_in_progress()
        & _AC.all_deps_match(
            _AC.all_checks_match(_AC.check_passed(), blocking_only=True) | _AC.will_be_requested()
        ).with_label("all_deps_blocking_checks_passed or run before it in the same run")
    )
    .ignore(dg.AssetSelection.assets(*_INPUTS))
    .with_label("ready, never made, and not part of a version that is published and has it")
)
"""What is asked for together and has the same keys is one run, in which a blocking check that fails stops the rest."""

make_new_versions = dg.AutomationConditionSensorDefinition(
    "make_new_versions",
    target=dg.AssetSelection.all(),
    default_status=dg.DefaultSensorStatus.STOPPED,
    minimum_interval_seconds=30,
    emit_backfills=False,  # a run a source, as the ingest sensor and `corpus build` have it
    use_user_code_server=True,
    description="Takes every version that is not published from its ledger rows to the published version: a run of "
    "each source once the checks of its row passed, dedup_clusters once all sources of the version are there, "
    "scrubbed_docs, then shards, manifest, datasheet and n-gram index. A blocking check that fails stops what comes "
    "after it; what failed is not run again by itself. Published versions are left alone. Turn on "
    "ingest_new_sources, too: it runs ledger_entry.",
)
