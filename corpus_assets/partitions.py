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


PAIRS_OF_VERSION, BROKEN = _pairs_by_version()
"""The pairs of every version whose config can be read; and why others have no partitions until they are mended."""
for _why in BROKEN:
    dg.get_dagster_logger("corpus").error(f"a version without partitions: {_why}")
PAIRS = [PairKey.parse(pair) for pairs in PAIRS_OF_VERSION.values() for pair in pairs]
SOURCES = sorted({row.source_id for _, row in ledger.scan(LAYOUT.ledger)[0]} | {pair.source for pair in PAIRS})
_PAIRS_OF_SOURCE: dict[str, list[str]] = {source: [] for source in SOURCES}
for _pair in PAIRS:
    _PAIRS_OF_SOURCE[_pair.source].append(str(_pair))

by_source = dg.StaticPartitionsDefinition(SOURCES)
by_version = dg.StaticPartitionsDefinition(list(PAIRS_OF_VERSION))
by_pair = dg.StaticPartitionsDefinition([str(pair) for pair in PAIRS])

# The direction of a mapping is upstream key -> downstream keys.
source_to_pairs = dg.StaticPartitionMapping(_PAIRS_OF_SOURCE)
version_to_pairs = dg.StaticPartitionMapping(PAIRS_OF_VERSION)
pair_to_version = dg.StaticPartitionMapping({str(pair): str(pair.version) for pair in PAIRS})
