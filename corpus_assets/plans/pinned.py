"""What a build is about: a version with its config, and a pair with the ledger row as this version pins it."""

from dataclasses import dataclass
from typing import Any

from corpus_assets.validation import corpus_config as config_files
from corpus_assets.validation.ledger import check_row_for_version
from formats import canonical, durable, ledger
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError, PublishedError
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


def pin_row(layout: Layout, pair: PairKey) -> Any:
    """Pin today's ledger row for this version, as it stands: the checks on it say what is wrong, in words.

    A published version keeps the row it was published with. Raises PublishedError when today's is another one.
    """
    value = ledger.find(layout.ledger, pair.source)
    path = layout.pinned_row(pair)
    if layout.lock(pair.version).exists() and path.exists() and durable.json_of(path) != value:
        raise PublishedError(
            f"{layout.ledger}: the row of {pair.source} changed since {pair.version} was published with it; a "
            f"published version is immutable: make a new version for the new row, or restore the old row"
        )
    durable.write_file(path, canonical.to_bytes(value) + b"\n")
    return value


def pinned_value(layout: Layout, pair: PairKey) -> Any:
    """The row as pinned, right or wrong. Raises ConfigError when it was not pinned yet."""
    path = layout.pinned_row(pair)
    if not path.exists():
        raise ConfigError(f"ledger_entry of {pair} is not materialized; materialize ledger_entry first")
    return durable.json_of(path)


def load_pair(layout: Layout, key: PairKey) -> Pair:
    """The pair with its pinned row.

    Raises ConfigError when the config does not name the source, when nothing is pinned, and when the version may not use
    the row: a stage that is materialized alone refuses by itself.
    """
    version = load_version(layout, key.version)
    if key.source not in version.config.sources:
        raise ConfigError(f"{layout.config(key.version)}: source {key.source!r} is not among sources; add it there")
    value = pinned_value(layout, key)
    if refused := check_row_for_version(value, version.config):
        raise ConfigError("\n".join(refused))
    return Pair(key, version, ledger.from_json(value))


def load_pairs(layout: Layout, key: VersionKey) -> list[Pair]:
    """All pairs of a version, in the order of their sources' names."""
    return [load_pair(layout, pair) for pair in load_version(layout, key).pairs]
