"""What a build is about: a version with its config, and a pair with the ledger row as this version pins it."""

import json
from dataclasses import dataclass
from typing import Any

from corpus_assets.validation import corpus_config as config_files
from corpus_assets.validation.ledger import check_row_for_version
from formats import canonical, durable, ledger
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError
from formats.layout import Layout
from formats.ledger import LedgerRow
from formats.naming import PairKey, VersionKey
from resources.engines.contract import Engine


@dataclass(frozen=True)
class Version:
    """One version: its key, and its rules from its YAML file."""

    key: VersionKey
    config: CorpusConfig

    @property
    def pairs(self) -> tuple[PairKey, ...]:
        return tuple(PairKey(source, self.key) for source in self.config.sources)

    def __str__(self) -> str:
        return str(self.key)


@dataclass(frozen=True)
class Pair:
    """One source within a version, with its ledger row as pinned."""

    key: PairKey
    version: Version
    row: LedgerRow

    @property
    def config(self) -> CorpusConfig:
        return self.version.config

    @property
    def source_number(self) -> int:
        """The source's place among the version's sources, which are in the order of their names."""
        return self.config.sources.index(self.row.source_id)

    def __str__(self) -> str:
        return str(self.key)


@dataclass(frozen=True)
class Build:
    """Where a build reads and writes, and the engine that does its work."""

    layout: Layout
    engine: Engine


def load_version(layout: Layout, key: VersionKey) -> Version:
    """The version with its config. Raises ConfigError, naming file and field, when the config is not valid."""
    return Version(key, config_files.load(layout.config(key), key))


def ledger_row(layout: Layout, source: str) -> LedgerRow:
    """The source's row in today's ledger. Raises ConfigError when there is none or the ledger is not valid."""
    for row in ledger.read(layout.ledger):
        if row.source_id == source:
            return row
    raise ConfigError(f"{layout.ledger}: no row has source_id {source!r}; add one with: corpus ledger add {source} …")


def pin_row(layout: Layout, pair: PairKey) -> LedgerRow:
    """Pin today's ledger row for this version; a published version keeps the row it was published with.

    The row is pinned as it stands, allowed or not: the checks on it say what is wrong, in words.
    """
    row = ledger_row(layout, pair.source)
    durable.write_file(layout.pinned_row(pair), canonical.to_bytes(ledger.to_json(row)) + b"\n")
    return row


def pinned_row(layout: Layout, pair: PairKey) -> LedgerRow:
    """The row as pinned. Raises ConfigError when it was not pinned yet."""
    path = layout.pinned_row(pair)
    try:
        document: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"ledger_entry of {pair} is not materialized; materialize ledger_entry first") from None
    return ledger.from_json(document)


def load_pair(layout: Layout, key: PairKey) -> Pair:
    """The pair with its pinned row. Raises ConfigError when the config does not name the source, or nothing is pinned."""
    version = load_version(layout, key.version)
    if key.source not in version.config.sources:
        raise ConfigError(f"{layout.config(key.version)}: source {key.source!r} is not among sources; add it there")
    return Pair(key, version, pinned_row(layout, key))


def load_pairs(layout: Layout, key: VersionKey) -> list[Pair]:
    """All pairs of a version, in the order of their sources' names."""
    return [load_pair(layout, pair) for pair in load_version(layout, key).pairs]


def refusals(pair: Pair) -> list[str]:
    """Why this version may not use this source, in words; empty when it may."""
    return check_row_for_version(pair.row, pair.config)
