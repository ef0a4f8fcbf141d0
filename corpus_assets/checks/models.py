"""Checks of trained models: the file is the one recorded, and it does better than chance."""

from collections.abc import Callable

import dagster as dg

from corpus_assets.checks.results import as_result
from corpus_assets.partitions import by_model
from corpus_assets.plans import model_figures
from corpus_assets.plans.audit_finding import Finding
from formats.layout import Layout
from resources.store import Store


def _check(
    name: str, find: Callable[[Layout, str], Finding], description: str, *, blocking: bool
) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset="trained_models", name=name, partitions_def=by_model, blocking=blocking, description=description
    )
    def check(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
        key = context.partition_key
        return as_result(lambda: find(store.layout, key), key, warn=not blocking)

    return check


model_is_the_recorded = _check(
    "model_is_the_recorded",
    model_figures.model_is_the_recorded,
    "The file has the digest that its record says, can be read, and is of the config as it is now",
    blocking=True,
)
better_than_chance = _check(
    "better_than_chance",
    model_figures.better_than_chance,
    "Held-out documents: a classifier's AUC is above a half, a language model's perplexity below guessing",
    blocking=False,
)
