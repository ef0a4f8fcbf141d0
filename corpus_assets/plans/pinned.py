"""What a build is about: a version with its config, and a pair with the ledger row as this version pins it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from corpus_assets.plans import published_version
from corpus_assets.validation import corpus_config as config_files
from corpus_assets.validation.ledger import check_row_for_version
from formats import canonical, durable, evidence, ledger
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError, CorruptDataError, NotMadeError, PublishedError
from formats.layout import Layout
from formats.ledger import LedgerRow
from formats.naming import PairKey, VersionKey
from resources.engines.contract import Engine

_Of = ParamSpec("_Of")
_Result = TypeVar("_Result")


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

    @cached_property
    def digest(self) -> str:
        """Names the pair's row and rules."""
        return canonical.digest([self.row.digest, self.config.config_sha256])

    @property
    def source_number(self) -> int:
        """The source's place among the version's sources, which are in the order of their names."""
        return self.config.sources.index(self.row.source_id)

    def __str__(self) -> str:
        return str(self.key)


@dataclass(frozen=True)
class Build:
    """Where a build reads and writes, and the engine that does its work; `known` is kept by `once_a_build`."""

    layout: Layout
    engine: Engine
    known: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)


def once_a_build(
    plan: Callable[Concatenate[Build, _Of], _Result],
) -> Callable[Concatenate[Build, _Of], _Result]:
    """A plan of (build, pairs or a pair or a version …) that a build works out once: it opens every stage before it, so
    that a build of many sources would else read each manifest again for every source. What it raises is not kept.
    """

    @wraps(plan)
    def known(build: Build, *of: _Of.args, **named: _Of.kwargs) -> _Result:
        key = (plan, *map(_name, (*of, *named.values())))
        if key not in build.known:
            build.known[key] = plan(build, *of, **named)
        return build.known[key]

    return known


def _name(of: Any) -> tuple[Any, ...]:
    """What tells one argument of a plan from another."""
    if isinstance(of, Version):
        return of.key, of.config.config_sha256
    pairs: Sequence[Pair] = (of,) if isinstance(of, Pair) else of
    return tuple((pair.key, pair.digest) for pair in pairs)


def load_version(layout: Layout, key: VersionKey) -> Version:
    """The version with its config. Raises ConfigError, naming file and field, when the config is not valid; where that
    of a published version is gone, it names the copy in its evidence.
    """
    path = layout.config(key)
    copy = layout.evidence(key) / published_version.CONFIG_COPY
    if not path.exists() and layout.lock(key).exists() and copy.is_file():
        raise ConfigError(f"{path}: is missing, and {key} is published with it; put a copy of {copy} there")
    return _version(path, key, config_files.read_bytes(path, key))


@lru_cache(maxsize=64)
def _version(path: Path, key: VersionKey, data: bytes) -> Version:
    """A file with the same content is parsed once a process: every step and check of a build loads its version."""
    return Version(key, config_files.parse(data, path, key))


def pin_row(layout: Layout, pair: PairKey) -> Any:
    """Pin today's ledger row for this version, right or wrong: the checks on it say what is wrong, in words.

    Raises what `row_to_pin` raises.
    """
    value = row_to_pin(layout, pair)
    path, data = layout.pinned_row(pair), canonical.to_bytes({"row": value, "sha256": canonical.digest(value)}) + b"\n"
    if not path.exists() or path.read_bytes() != data:
        durable.write_file(path, data)
    return value


def row_to_pin(layout: Layout, pair: PairKey) -> Any:
    """The row that the version would pin now. A published version keeps the row it was published with, which its
    evidence holds; whether today's is another one, a check tells. Raises PublishedError when the version is published
    with another config.
    """
    published = _published_row(layout, pair)
    return ledger.to_json(published) if published else todays_value(layout, pair.source)


def todays_value(layout: Layout, source: str) -> Any:
    """The source's row in the ledger: as it stands when it is wrong, else in one form, whatever its files' order."""
    value = ledger.find(layout.ledger, source)
    return value if ledger.problems(value) else ledger.to_json(ledger.from_json(value))


def _published_row(layout: Layout, pair: PairKey) -> LedgerRow | None:
    """The row in the evidence of the published version; None for a version or a source that is not published."""
    folder = layout.evidence(pair.version)
    if not layout.lock(pair.version).exists() or not folder.exists():
        return None
    hold_to_published_config(layout, load_version(layout, pair.version))
    return published_version.ledger_rows(folder, evidence.read_seal(folder)).get(pair.source)


def hold_to_published_config(layout: Layout, version: Version) -> None:
    """For a version that is published: raises PublishedError when it was with another config, CorruptDataError where
    its evidence cannot say so.
    """
    key, folder = version.key, layout.evidence(version.key)
    made_of = published_version.json_in(folder, evidence.read_seal(folder), evidence.STAGE_VERSIONS)
    then, now = made_of["config_sha256"], version.config.config_sha256
    if then != now:
        raise PublishedError(
            f"{layout.version(key)}: is published with manifest {durable.read_lock(layout.lock(key))}, made by config "
            f"{then}, and {layout.config(key)} is now {now}. A published version is immutable: take the change to a "
            f"new one with `corpus config new <new> --from {key}`, and put back "
            f"{folder / published_version.CONFIG_COPY} here"
        )


def pinned_value(layout: Layout, pair: PairKey) -> Any:
    """The row as pinned, right or wrong; a changed byte would be another row, so it is held to its digest.

    Raises NotMadeError when it was not pinned yet, CorruptDataError when it changed since.
    """
    path = layout.pinned_row(pair)
    if not path.exists():
        raise NotMadeError(f"ledger_entry of {pair} is not materialized; materialize ledger_entry first")
    todo = "delete the file and materialize ledger_entry again"
    stored = durable.json_of(path, todo)
    try:
        value, said = stored["row"], stored["sha256"]
    except (KeyError, TypeError) as error:
        raise CorruptDataError(path, "content", "a row and its sha256", repr(error), todo) from None
    if (found := canonical.digest(value)) != said:
        raise CorruptDataError(path, "sha256 of the row", said, found, todo)
    return value


def load_pair(layout: Layout, key: PairKey) -> Pair:
    """The pair with its pinned row.

    Raises ConfigError when the config does not name the source, when nothing is pinned, and when the version may not
    use the row: a stage that is materialized alone refuses by itself.
    """
    return _pinned_pair(layout, load_version(layout, key.version), key)


def load_pairs(layout: Layout, key: VersionKey) -> list[Pair]:
    """All pairs of a version, in the order of their sources' names."""
    version = load_version(layout, key)
    return [_pinned_pair(layout, version, pair) for pair in version.pairs]


def _pinned_pair(layout: Layout, version: Version, key: PairKey) -> Pair:
    if key.source not in version.config.sources:
        raise ConfigError(f"{layout.config(key.version)}: source {key.source!r} is not among sources; add it there")
    value = pinned_value(layout, key)
    if refused := check_row_for_version(value, version.config):
        raise ConfigError("\n".join(f"{layout.ledger}: {wrong}" for wrong in refused))
    return Pair(key, version, ledger.from_json(value))
