"""The three inputs a person edits: observed, never made. Their data version is a hash of their content."""

from collections.abc import Iterator

import dagster as dg

from corpus_assets.partitions import BROKEN, LAYOUT, PAIRS_OF_VERSION, SOURCES, by_source, by_version
from corpus_assets.plans.eval_index import eval_set_path
from corpus_assets.plans.pinned import load_version
from formats import canonical, durable, ledger
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError
from formats.naming import VersionKey

GROUP = "inputs"
NOT_VALID = "not valid"


def _configs(context: dg.OpExecutionContext) -> Iterator[tuple[str, CorpusConfig | None]]:
    """Every version's config as it is now; None, and an error in the log, where it broke since the code was loaded."""
    for key in PAIRS_OF_VERSION:
        try:
            yield key, load_version(LAYOUT, VersionKey.parse(key)).config
        except ConfigError as error:
            context.log.error(str(error))
            yield key, None


@dg.observable_source_asset(name="ledger", partitions_def=by_source, group_name=GROUP)
def observe_ledger() -> dg.DataVersionsByPartition:
    """LEDGER.jsonl, one partition a row: what may be used, from where, under which licence."""
    rows = {row.source_id: row.digest for _, row in ledger.scan(LAYOUT.ledger)[0]}
    return dg.DataVersionsByPartition({source: rows.get(source, NOT_VALID) for source in SOURCES})


@dg.observable_source_asset(name="corpus_config", partitions_def=by_version, group_name=GROUP)
def observe_configs(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    """configs/<dataset>/<version>.yaml: the sources and rules of each version."""
    for why in BROKEN:
        context.log.error(f"a version without partitions: {why}")
    found = _configs(context)
    return dg.DataVersionsByPartition({key: config.config_sha256 if config else NOT_VALID for key, config in found})


@dg.observable_source_asset(name="eval_sets", group_name=GROUP)
def observe_eval_sets(context: dg.OpExecutionContext) -> dg.DataVersion:
    """The benchmarks that configs protect, by the bytes on disk."""
    digests = {}
    for _, config in _configs(context):
        for eval_set in config.decontaminate.eval_sets if config else ():
            path = eval_set_path(LAYOUT, eval_set)
            digests[str(eval_set.path)] = durable.sha256_of(path) if path.is_file() else "missing"
    return dg.DataVersion(canonical.digest(digests))
