"""The inputs a person edits: observed, never made. Their data version is a hash of their content."""

from collections.abc import Callable, Iterable, Mapping

import dagster as dg

from corpus_assets.partitions import (
    BROKEN,
    LAYOUT,
    MODELS,
    PAIRS_OF_VERSION,
    SOURCES,
    TOKENS_OF_VERSION,
    by_model,
    by_source,
    by_tokens,
    by_version,
)
from corpus_assets.plans.eval_index import eval_set_path
from corpus_assets.plans.pinned import load_version
from corpus_assets.validation import model_config, token_config
from formats import canonical, durable, ledger
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError
from formats.naming import TokensKey, VersionKey

GROUP = "inputs"
NOT_VALID = "not valid"


def ledger_versions() -> dict[str, str]:
    """Source -> what names its row in the ledger as it is now."""
    rows = {row.source_id: row.digest for _, row in ledger.scan(LAYOUT.ledger)[0]}
    return {source: rows.get(source, NOT_VALID) for source in SOURCES}


def configs(tell: Callable[[str], None]) -> dict[str, CorpusConfig | None]:
    """Every version's config as it is now; None, and an error told, where it broke since the code was loaded."""
    found: dict[str, CorpusConfig | None] = {}
    for key in PAIRS_OF_VERSION:
        try:
            found[key] = load_version(LAYOUT, VersionKey.parse(key)).config
        except ConfigError as error:
            tell(str(error))
            found[key] = None
    return found


def config_versions(found: Mapping[str, CorpusConfig | None]) -> dict[str, str]:
    """Version -> what names its config."""
    return {key: config.config_sha256 if config else NOT_VALID for key, config in found.items()}


def eval_sets_version(found: Iterable[CorpusConfig | None]) -> str:
    """What names the benchmarks of all configs, by the bytes on disk."""
    digests = {}
    for config in found:
        for eval_set in config.decontaminate.eval_sets if config else ():
            path = eval_set_path(LAYOUT, eval_set)
            digests[str(eval_set.path)] = durable.sha256_of(path) if path.is_file() else "missing"
    return canonical.digest(digests)


def token_versions(tell: Callable[[str], None]) -> dict[str, str]:
    """Token set -> what names its config, the pin of its tokenizer included; an error is told where it broke."""
    found = {}
    for key in (TokensKey.parse(key) for keys in TOKENS_OF_VERSION.values() for key in keys):
        try:
            found[str(key)] = token_config.load(LAYOUT.token_config(key), key).config_sha256
        except ConfigError as error:
            tell(str(error))
            found[str(key)] = NOT_VALID
    return found


def model_versions(tell: Callable[[str], None]) -> dict[str, str]:
    """Model -> what names its config; an error is told where it broke."""
    found = {}
    for name in MODELS:
        try:
            found[name] = model_config.load(LAYOUT.model_config(name), name).config_sha256
        except ConfigError as error:
            tell(str(error))
            found[name] = NOT_VALID
    return found


@dg.observable_source_asset(name="ledger", partitions_def=by_source, group_name=GROUP)
def observe_ledger() -> dg.DataVersionsByPartition:
    """LEDGER.jsonl, one partition a row: what may be used, from where, under which licence."""
    return dg.DataVersionsByPartition(ledger_versions())


@dg.observable_source_asset(name="corpus_config", partitions_def=by_version, group_name=GROUP)
def observe_configs(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    """configs/<dataset>/<version>.yaml: the sources and rules of each version."""
    for why in BROKEN:
        context.log.error(why)
    return dg.DataVersionsByPartition(config_versions(configs(context.log.error)))


@dg.observable_source_asset(name="eval_sets", group_name=GROUP)
def observe_eval_sets(context: dg.OpExecutionContext) -> dg.DataVersion:
    """The benchmarks that configs protect, by the bytes on disk."""
    return dg.DataVersion(eval_sets_version(configs(context.log.error).values()))


@dg.observable_source_asset(name="token_config", partitions_def=by_tokens, group_name=GROUP)
def observe_token_configs(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    """configs/<dataset>/<version>.<tokens>.yaml: tokenizer, sequence length and packing of each token set."""
    return dg.DataVersionsByPartition(token_versions(context.log.error))


@dg.observable_source_asset(name="model_config", partitions_def=by_model, group_name=GROUP)
def observe_model_configs(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    """models/<name>.yaml: of which documents each model of quality, safety or perplexity is trained."""
    return dg.DataVersionsByPartition(model_versions(context.log.error))
