"""Every partitions definition and its edges, once. Keys are read from ledger and configs when the code loads.

A new ledger row or config is a new key after "Reload definitions". Keys: source; `<dataset>.<version>`;
`<source>@<dataset>.<version>`; `<dataset>.<version>.<tokens>`.
"""

import dagster as dg

from corpus_assets.validation import corpus_config, token_config
from formats import ledger
from formats.errors import ConfigError
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


PAIRS_OF_VERSION, _BROKEN_VERSIONS = _pairs_by_version()
"""The pairs of every version whose config can be read."""
TOKENS_OF_VERSION, _BROKEN_TOKENS = _tokens_by_version()
"""The token sets of every version, likewise."""
BROKEN = [f"a version that cannot be built until its config is mended: {why}" for why in _BROKEN_VERSIONS]
BROKEN += [f"a token set that cannot be built until its config is mended: {why}" for why in _BROKEN_TOKENS]
"""Why the other versions and token sets have no partitions until they are mended."""
for _why in BROKEN:
    dg.get_dagster_logger("corpus").error(_why)
PAIRS = [PairKey.parse(pair) for pairs in PAIRS_OF_VERSION.values() for pair in pairs]
SOURCES = sorted({row.source_id for _, row in ledger.scan(LAYOUT.ledger)[0]} | {pair.source for pair in PAIRS})
_PAIRS_OF_SOURCE: dict[str, list[str]] = {source: [] for source in SOURCES}
for _pair in PAIRS:
    _PAIRS_OF_SOURCE[_pair.source].append(str(_pair))

by_source = dg.StaticPartitionsDefinition(SOURCES)
by_version = dg.StaticPartitionsDefinition(list(PAIRS_OF_VERSION))
by_pair = dg.StaticPartitionsDefinition([str(pair) for pair in PAIRS])
by_tokens = dg.StaticPartitionsDefinition([key for keys in TOKENS_OF_VERSION.values() for key in keys])

# The direction of a mapping is upstream key -> downstream keys.
source_to_pairs = dg.StaticPartitionMapping(_PAIRS_OF_SOURCE)
version_to_pairs = dg.StaticPartitionMapping(PAIRS_OF_VERSION)
pair_to_version = dg.StaticPartitionMapping({str(pair): str(pair.version) for pair in PAIRS})
version_to_tokens = dg.StaticPartitionMapping(TOKENS_OF_VERSION)
