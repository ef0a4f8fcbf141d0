"""Every partitions definition and its edges, once. Keys are read from ledger and configs when the code loads.

A new ledger row or config is a new key after "Reload definitions". Keys: source; `<dataset>.<version>`;
`<source>@<dataset>.<version>`.
"""

import dagster as dg

from corpus_assets.validation import corpus_config
from formats import ledger
from formats.errors import ConfigError
from formats.naming import PairKey
from resources.store import layout_of_environment

LAYOUT = layout_of_environment()

BROKEN: dict[str, str] = {}
"""Configs that cannot be read, by version key, and why: they have no partitions until they are mended."""


def _pairs_by_version() -> dict[str, list[str]]:
    found = {}
    for key, path in sorted(corpus_config.discover(LAYOUT).items()):
        try:
            config = corpus_config.load(path, key)
        except ConfigError as error:
            BROKEN[str(key)] = str(error)
            continue
        found[str(key)] = [str(PairKey(source, key)) for source in config.sources]
    return found


PAIRS_OF_VERSION = _pairs_by_version()
PAIRS = [pair for pairs in PAIRS_OF_VERSION.values() for pair in pairs]
SOURCES = sorted(
    {row.source_id for _, row in ledger.scan(LAYOUT.ledger)[0]} | {PairKey.parse(pair).source for pair in PAIRS}
)

by_source = dg.StaticPartitionsDefinition(SOURCES)
by_version = dg.StaticPartitionsDefinition(list(PAIRS_OF_VERSION))
by_pair = dg.StaticPartitionsDefinition(PAIRS)

# The direction of a mapping is upstream key -> downstream keys.
source_to_pairs = dg.StaticPartitionMapping(
    {source: [pair for pair in PAIRS if PairKey.parse(pair).source == source] for source in SOURCES}
)
version_to_pairs = dg.StaticPartitionMapping(PAIRS_OF_VERSION)
pair_to_version = dg.StaticPartitionMapping({pair: str(PairKey.parse(pair).version) for pair in PAIRS})
