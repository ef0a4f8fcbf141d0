"""Every partitions definition and its edges, once. Keys are read from ledger and configs when the code loads.

A new ledger row or config is a new key after "Reload definitions". Keys: source; `<dataset>.<version>`;
`<source>@<dataset>.<version>`; `<dataset>.<version>.<tokens>`; the name of a model.
"""

import dagster as dg

from corpus_assets.validation import corpus_config, model_config, token_config
from formats import ledger
from formats.errors import ConfigError
from formats.model_config import PUBLISHED, ModelConfig
from formats.naming import PairKey
from resources.store import layout_of_environment

LAYOUT = layout_of_environment()


def _pairs_by_version() -> tuple[dict[str, list[str]], list[str]]:
    found = {}
    configs, broken = corpus_config.discover(LAYOUT)
    for key, path in configs.items():
        try:
            config = corpus_config.load(path, key)
        except ConfigError as error:
            broken.append(str(error))
            continue
        found[str(key)] = [str(PairKey(source, key)) for source in config.sources]
    return found, broken


def _tokens_by_version() -> tuple[dict[str, list[str]], list[str]]:
    found: dict[str, list[str]] = {key: [] for key in PAIRS_OF_VERSION}
    broken = []
    for key, path in token_config.discover(LAYOUT).items():
        try:
            token_config.load(path, key)
            if str(key.version) not in found:
                raise ConfigError(
                    f"{path}: {key.version} has no config that can be read; see {key.version.version}.yaml"
                )
        except ConfigError as error:
            broken.append(str(error))
            continue
        found[str(key.version)].append(str(key))
    return found, broken


def _models() -> tuple[dict[str, ModelConfig], list[str]]:
    found = {}
    configs, broken = model_config.discover(LAYOUT)
    for name, path in configs.items():
        try:
            config = model_config.load(path, name)
            sources = {PairKey.parse(pair).source for pair in PAIRS_OF_VERSION.get(config.version, ())}
            if not sources:
                raise ConfigError(f"{path}: version: {config.version} has no config that can be read")
            if strangers := sorted(set(config.sources) - sources):
                raise ConfigError(f"{path}: {config.version} has no source {', '.join(strangers)}; add it there")
        except ConfigError as error:
            broken.append(str(error))
            continue
        found[name] = config
    return found, broken


PAIRS_OF_VERSION, _BROKEN_VERSIONS = _pairs_by_version()
"""The pairs of every version whose config can be read."""
TOKENS_OF_VERSION, _BROKEN_TOKENS = _tokens_by_version()
"""The token sets of every version, likewise."""
MODELS, _BROKEN_MODELS = _models()
"""The config of every model that can be trained, likewise."""
BROKEN = [f"a version that cannot be built until its config is mended: {why}" for why in _BROKEN_VERSIONS]
BROKEN += [f"a token set that cannot be built until its config is mended: {why}" for why in _BROKEN_TOKENS]
BROKEN += [f"a model that cannot be trained until its config is mended: {why}" for why in _BROKEN_MODELS]
"""Why the other versions, token sets and models have no partitions until they are mended."""
for _why in BROKEN:  # every command loads this: of each file a line
    _first, *_more = _why.splitlines()
    _told = f" (and {len(_more)} more)" if _more else ""
    dg.get_dagster_logger("corpus").error(f"{_first.partition(' (there are: ')[0]}{_told}; `corpus status` says all")
PAIRS = [PairKey.parse(pair) for pairs in PAIRS_OF_VERSION.values() for pair in pairs]
SOURCES = sorted({row.source_id for _, row in ledger.scan(LAYOUT.ledger)[0]} | {pair.source for pair in PAIRS})
_PAIRS_OF_SOURCE: dict[str, list[str]] = {source: [] for source in SOURCES}
for _pair in PAIRS:
    _PAIRS_OF_SOURCE[_pair.source].append(str(_pair))

by_source = dg.StaticPartitionsDefinition(SOURCES)
by_version = dg.StaticPartitionsDefinition(list(PAIRS_OF_VERSION))
by_pair = dg.StaticPartitionsDefinition([str(pair) for pair in PAIRS])
by_model = dg.StaticPartitionsDefinition(list(MODELS))
by_tokens = dg.StaticPartitionsDefinition([key for keys in TOKENS_OF_VERSION.values() for key in keys])

# The direction of a mapping is upstream key -> downstream keys.
source_to_pairs = dg.StaticPartitionMapping(_PAIRS_OF_SOURCE)
version_to_pairs = dg.StaticPartitionMapping(PAIRS_OF_VERSION)
pair_to_version = dg.StaticPartitionMapping({str(pair): str(pair.version) for pair in PAIRS})
version_to_tokens = dg.StaticPartitionMapping(TOKENS_OF_VERSION)
_MODELS_OF: dict[str, list[str]] = {}
"""By pair, the models of what raw_fetch holds; by version, those of what it published."""
for _name, _config in MODELS.items():
    _raw = [str(PairKey(source, _config.key)) for source in _config.sources]
    for _key in [_config.version] if _config.documents == PUBLISHED else _raw:
        _MODELS_OF.setdefault(_key, []).append(_name)
pair_to_models = dg.StaticPartitionMapping({one: names for one, names in _MODELS_OF.items() if "@" in one})
version_to_models = dg.StaticPartitionMapping({one: names for one, names in _MODELS_OF.items() if "@" not in one})
