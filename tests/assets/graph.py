"""The graph as Dagster loads it for one artifacts root, and runs of it in this process."""

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import dagster as dg
from dagster._core.asset_graph_view.asset_graph_view import AssetGraphView
from dagster._core.definitions.data_version import CachingStaleStatusResolver

from corpus_assets.commands import model_train, tokenize
from corpus_assets.commands.build import LAYERS, PAIR
from formats.layout import Layout
from formats.naming import PairKey, TokensKey, VersionKey

Ran = dg.ExecuteInProcessResult
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
INPUTS = ("ledger", "corpus_config", "eval_sets")


def _modules_of_the_graph() -> list[str]:
    """Modules that hold partitions, or what is keyed by them: Dagster's code location is what they are when loaded."""
    found = []
    for name, module in sys.modules.items():
        parts = name.split(".")
        top = parts[0] == "corpus_assets" and len(parts) == 2 and not hasattr(module, "__path__")
        if top or name.startswith("corpus_assets.checks."):
            found.append(name)
    return found


def _forget_the_graph() -> None:
    for name in _modules_of_the_graph():
        parent, _, child = name.rpartition(".")
        sys.modules.pop(name)
        if hasattr(sys.modules.get(parent), child):
            delattr(sys.modules[parent], child)


@contextmanager
def loaded(layout: Layout, **environment: str) -> Iterator[dg.Definitions]:
    """The definitions for `layout`, as a code location that starts now would load them."""
    settings = {"CORPUS_ROOT": str(layout.root), "CORPUS_CACHE": "", "CORPUS_WORKERS": "1"}
    nobody = dict.fromkeys(
        ("CORPUS_WEBHOOK", "CORPUS_SLACK_WEBHOOK", "CORPUS_SMTP", "CORPUS_UI_URL", "CORPUS_STORE"), ""
    )
    with mock.patch.dict(os.environ, {**nobody, **settings, **environment}):
        _forget_the_graph()
        try:
            yield importlib.import_module("corpus_assets.definitions").defs
        finally:
            _forget_the_graph()


def instance() -> dg.DagsterInstance:
    """An instance that is forgotten afterwards."""
    return dg.DagsterInstance.ephemeral()


def run(
    defs: dg.Definitions,
    instance: dg.DagsterInstance,
    partition: PairKey | VersionKey | TokensKey | str | None,
    *assets: str,
) -> Ran:
    """Materialize (or observe) these assets of one partition, with their checks."""
    return defs.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance,
        partition_key=None if partition is None else str(partition),
        asset_selection=[dg.AssetKey(name) for name in assets],
        run_config=_QUIET,
        raise_on_error=False,
    )


def build(
    defs: dg.Definitions, instance: dg.DagsterInstance, key: VersionKey, *, layers: int = len(LAYERS)
) -> Iterator[Ran]:
    """The runs that `corpus build` makes, one after the other; the first layers alone where so many are asked for."""
    sources = defs.resolve_asset_graph().get(dg.AssetKey("ledger_entry")).partitions_def.get_partition_keys()
    pairs = [PairKey.parse(pair) for pair in sources if pair.endswith(f"@{key}")]
    yield run(defs, instance, None, *INPUTS)
    for kind, assets in LAYERS[:layers]:
        for partition in pairs if kind == PAIR else [key]:
            yield run(defs, instance, partition, *assets)


def checks(*ran: Ran) -> dict[str, dg.AssetCheckEvaluation]:
    """The check evaluations of runs, by name; the last one where a check ran for several partitions."""
    return {found.check_name: found for one in ran for found in one.get_asset_check_evaluations()}


def checks_of_a_version(defs: dg.Definitions) -> set[str]:
    """Every check that a build of a version evaluates; those of token sets and models are not among them."""
    keys = defs.resolve_asset_graph().asset_check_keys
    return {
        check.name for check in keys if check.asset_key.to_user_string() not in (*tokenize.ASSETS, *model_train.ASSETS)
    }


def materialized(*ran: Ran) -> list[str]:
    """Assets that were materialized, in this order."""
    events = [event for one in ran for event in one.get_asset_materialization_events()]
    return [event.asset_key.to_user_string() for event in events if event.asset_key]


def data_versions(*ran: Ran) -> dict[tuple[str, str | None], str]:
    """(asset, partition) -> the data version of what was materialized."""
    found = {}
    for one in ran:
        for event in one.get_asset_materialization_events():
            made = event.materialization
            found[made.asset_key.to_user_string(), made.partition] = made.tags["dagster/data_version"]
    return found


def failures(ran: Ran) -> str:
    """The words of what failed: steps by the innermost error, checks by their description."""
    words = []
    for event in ran.filter_events(lambda event: event.is_step_failure):
        error: Any = event.step_failure_data.error
        while error and error.cause:
            error = error.cause
        words.append(error.message if error else "no message")
    words += [str(found.description) for found in ran.get_asset_check_evaluations() if not found.passed]
    return "\n".join(words)


def log_of(instance: dg.DagsterInstance) -> str:
    """What runs and assets logged, errors and warnings among it."""
    return "\n".join(entry.message for run in instance.get_runs() for entry in instance.all_logs(run.run_id))


def stale(
    defs: dg.Definitions, instance: dg.DagsterInstance, asset: str, partition: PairKey | VersionKey | TokensKey | str
) -> set[str]:
    """The upstream assets that make this partition stale, as the UI would name them."""
    context = AssetGraphView.for_test(defs, instance)
    resolver = CachingStaleStatusResolver(instance, defs.resolve_asset_graph(), context)
    causes = resolver.get_stale_causes(dg.AssetKey(asset), str(partition))
    return {cause.dependency.asset_key.to_user_string() for cause in causes if cause.dependency}
