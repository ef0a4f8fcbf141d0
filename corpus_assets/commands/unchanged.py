"""What a build need not run again: assets whose stored bytes, inputs and checks are those of a run that Dagster has.

A run that went well is tagged with what it was made of. It stands while all of this holds: the same program, config,
rows and eval sets; every file of its assets has the length and hash of its manifest; and Dagster's latest
materialization of each asset, and its latest evaluation of each check, are that run's. Then the UI shows what is true,
and a run would show the same. Anything else, damage above all, is run.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import dagster as dg
from dagster import AssetCheckKey, AssetKey, AssetRecordsFilter, DagsterEventType, RunsFilter

from corpus_assets.alerts import failed_checks
from corpus_assets.commands import program
from corpus_assets.plans import stored
from corpus_assets.plans.eval_index import eval_set_path
from corpus_assets.plans.pinned import Build, Version, todays_value
from corpus_assets.plans.published_version import published_versions
from corpus_assets.plans.stored import Stored
from corpus_assets.plans.token_build import TokenBuild
from formats import canonical, durable
from formats.errors import ConfigError, CorpusError, CorruptDataError
from formats.naming import PairKey

TAG = "corpus/made_of"
_DATA_VERSION = "dagster/data_version"


@dataclass(frozen=True)
class Finding:
    """Of one partition: the run that stands, with its warnings; or why its files are not what they were."""

    run_id: str | None = None
    warnings: tuple[dict[str, Any], ...] = ()
    damage: tuple[CorruptDataError, ...] = ()
    num_files: int = 0


@dataclass
class Unchanged:
    """Asked layer after layer, in order: what a layer stored is an input of the next."""

    build: Build
    version: Version
    instance: dg.DagsterInstance
    checks: Sequence[AssetCheckKey]
    _known: dict[str, dict[str, str]] = field(default_factory=dict)
    """Partition -> asset -> data version, of the layers before."""

    def layer(self, partitions: Sequence[str], assets: Sequence[str]) -> dict[str, Finding]:
        """What stands of a layer, before anything of it runs. A partition without a finding was never made so."""
        made = {one: lies for one in partitions if (lies := self._stored(one, assets))}
        tags = {one: self._made_of(one, assets, lies) for one, lies in made.items()}
        runs = self._runs_tagged(list(tags.values()))
        latest = {one: runs[tags[one]] for one in made if tags[one] in runs}
        shown = self._shown(sorted(latest), assets)
        found = {}
        for one, run_id in latest.items():
            files = [file for lies in made[one].values() for file in lies.files]
            damage = tuple(stored.damaged(made[one].values()))
            if damage:
                found[one] = Finding(damage=damage)
            elif (warnings := self._warnings(one, run_id, assets, shown)) is not None:
                found[one] = Finding(run_id, warnings, num_files=len(files))
        return found

    def stands(self, partition: str, assets: Sequence[str]) -> None:
        """Let what lies there be an input of the next layers, found unchanged or just made."""
        lies = self._stored(partition, assets) or {}
        self._known.setdefault(partition, {}).update({asset: one.data_version for asset, one in lies.items()})

    def ran(self, partition: str, assets: Sequence[str], run_id: str) -> None:
        """Tag a run that went well with what it was made of."""
        if lies := self._stored(partition, assets):
            self.instance.add_run_tags(run_id, {TAG: self._made_of(partition, assets, lies)})

    def still_damaged(self, partition: str, assets: Sequence[str]) -> list[CorruptDataError]:
        """What a run did not mend."""
        return stored.damaged((self._stored(partition, assets) or {}).values())

    def observed(self) -> bool:
        """Whether Dagster's latest observation of every input is what it is now."""
        from corpus_assets import inputs  # what the code location has loaded

        configs = inputs.configs(lambda _: None)  # the observation itself, and the build, say what is wrong
        now = {
            "ledger": inputs.ledger_versions(),
            "corpus_config": inputs.config_versions(configs),
        }
        if not all(self._observed(name, versions) for name, versions in now.items()):
            return False
        last = self.instance.fetch_observations(AssetKey("eval_sets"), limit=1).records
        observed = last[0].asset_observation if last else None
        return observed is not None and observed.tags.get(_DATA_VERSION) == inputs.eval_sets_version(configs.values())

    def _observed(self, name: str, now: dict[str, str]) -> bool:
        """Whether the latest observation of every partition of an input has its present data version."""
        storage, observation = self.instance.event_log_storage, DagsterEventType.ASSET_OBSERVATION
        tags = storage.get_latest_tags_by_partition(AssetKey(name), observation, [_DATA_VERSION])
        return {one: tags.get(one, {}).get(_DATA_VERSION) for one in now} == now

    def _stored(self, partition: str, assets: Sequence[str]) -> dict[str, Stored] | None:
        """None where not all of it was made, or where it cannot be read: a run says why, or makes it."""
        try:
            if partition == str(self.version.key):
                return {asset: stored.of_version(self.build, self.version.key, asset) for asset in assets}
            return {asset: stored.of_pair(self.build, PairKey.parse(partition), asset) for asset in assets}
        except CorpusError:
            return None

    def _made_of(self, partition: str, assets: Sequence[str], lies: dict[str, Stored]) -> str:
        """What names everything that decides how a run of these assets ends."""
        key = str(self.version.key)
        before = self._known if partition == key else {one: self._known.get(one) for one in (partition, key)}
        return canonical.digest(
            {
                "program": program.digest(),
                "partition": partition,
                "assets": {asset: lies[asset].data_version for asset in assets},
                "before": before,
                "config": self.version.config.config_sha256,
                "eval_sets": self._eval_sets,
                "todays_row": self._todays_row(partition) if "ledger_entry" in assets else None,
                "other_versions": self._other_versions() if "manifest" in assets else None,
            }
        )

    def _todays_row(self, partition: str) -> Any:
        """What a check of ledger_entry holds the pinned row against."""
        with suppress(ConfigError):
            return todays_value(self.build.layout, PairKey.parse(partition).source)
        return None

    def _other_versions(self) -> dict[str, str]:
        """What a check of the manifest holds the version against: the dataset's published ones, by their locks."""
        key, layout = self.version.key, self.build.layout
        others = (one for one in published_versions(layout) if one.dataset == key.dataset and one != key)
        return {str(one): durable.read_lock(layout.lock(one)) for one in others}

    @cached_property
    def _eval_sets(self) -> dict[str, str]:
        paths = {one.name: eval_set_path(self.build.layout, one) for one in self.version.config.decontaminate.eval_sets}
        return {name: durable.sha256_of(path) if path.is_file() else "missing" for name, path in paths.items()}

    def _runs_tagged(self, values: list[str]) -> dict[str, str]:
        """Tag -> id of the latest run that ended well with it."""
        if not values:
            return {}
        wanted = RunsFilter(tags={TAG: values}, statuses=[dg.DagsterRunStatus.SUCCESS])
        return {run.tags[TAG]: run.run_id for run in reversed(self.instance.get_runs(wanted))}

    def _shown(self, partitions: Sequence[str], assets: Sequence[str]) -> dict[tuple[str, str], Any]:
        """(partition, asset or check) -> what Dagster shows of it."""
        storage, made = self.instance.event_log_storage, DagsterEventType.ASSET_MATERIALIZATION
        found: dict[tuple[str, str], Any] = {}
        if not partitions:
            return found
        for asset in assets:
            ids = storage.get_latest_storage_id_by_partition(AssetKey(asset), made, set(partitions))
            wanted = AssetRecordsFilter(AssetKey(asset), storage_ids=list(ids.values()))
            for record in storage.fetch_materializations(wanted, limit=len(ids)).records if ids else ():
                found[str(record.partition_key), asset] = record
        for info in storage.get_asset_check_partition_info(self._checks_of(assets), partition_keys=list(partitions)):
            found[str(info.partition_key), info.check_key.to_user_string()] = info
        return found

    def _checks_of(self, assets: Sequence[str]) -> list[AssetCheckKey]:
        return [check for check in self.checks if check.asset_key.to_user_string() in assets]

    def _warnings(
        self, partition: str, run_id: str, assets: Sequence[str], shown: dict[tuple[str, str], Any]
    ) -> tuple[dict[str, Any], ...] | None:
        """What the checks of a run warned of; None unless all that Dagster shows of the partition is this run's."""
        if any((record := shown.get((partition, asset))) is None or record.run_id != run_id for asset in assets):
            return None
        warned = False
        for check in self._checks_of(assets):
            info = shown.get((partition, check.to_user_string()))
            if info is None or info.latest_planned_run_id != run_id or not info.is_current:
                return None
            if info.latest_execution_status.value not in ("SUCCEEDED", "FAILED"):
                return None
            warned |= info.latest_execution_status.value == "FAILED"
        warnings = failed_checks(self.instance, run_id) if warned else []
        return tuple(warnings) if all(one["severity"] == "WARN" for one in warnings) else None


@dataclass(kw_only=True)
class UnchangedTokens(Unchanged):
    """The same of a token set: its config and the version that it is made of take the place of the version's inputs."""

    tokens: TokenBuild

    def observed(self) -> bool:
        from corpus_assets import inputs

        return self._observed("token_config", inputs.token_versions(lambda _: None))

    def _stored(self, _partition: str, assets: Sequence[str]) -> dict[str, Stored] | None:
        try:
            return {asset: stored.of_tokens(self.tokens, asset) for asset in assets}
        except CorpusError:
            return None

    def _made_of(self, partition: str, assets: Sequence[str], lies: dict[str, Stored]) -> str:
        return canonical.digest(
            {
                "program": program.digest(),
                "partition": partition,
                "assets": {asset: lies[asset].data_version for asset in assets},
                "config": self.tokens.config.config_sha256,
                "corpus": self.tokens.version.digest,
            }
        )
