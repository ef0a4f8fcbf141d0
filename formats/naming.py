"""Names and partition keys: what a person may call a source, dataset or version, and how keys are built of them.

A name is `[a-z0-9][a-z0-9_-]*`, so a key has exactly one reading: `<source>@<dataset>.<version>`.
"""

import re
from dataclasses import dataclass

from formats.errors import ConfigError

NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
MAX_LENGTH = 100
RESERVED = frozenset({"raw", "work", "cache", "configs"})


def check_name(kind: str, name: object) -> str:
    """The name itself. Raises ConfigError when it is none; `kind` ("source", "dataset", …) goes into the words."""
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > MAX_LENGTH:
        raise ConfigError(
            f"{kind} {name!r} is not a name: expected [a-z0-9][a-z0-9_-]*, at most {MAX_LENGTH} characters; rename it"
        )
    if kind in ("source", "dataset") and name in RESERVED:
        raise ConfigError(f"{kind} {name!r} is reserved (one of {', '.join(sorted(RESERVED))}); choose another name")
    return name


@dataclass(frozen=True, order=True)
class VersionKey:
    """One version of a dataset: the key `<dataset>.<version>`."""

    dataset: str
    version: str

    def __str__(self) -> str:
        return f"{self.dataset}.{self.version}"

    @classmethod
    def parse(cls, key: str) -> "VersionKey":
        dataset, dot, version = key.partition(".")
        if not dot:
            raise ConfigError(f"version key {key!r} has no dot; expected <dataset>.<version>, such as starter.v1")
        return cls(check_name("dataset", dataset), check_name("version", version))


@dataclass(frozen=True, order=True)
class TokensKey:
    """One token set of a version: the key `<dataset>.<version>.<tokens>`."""

    version: VersionKey
    tokens: str

    def __str__(self) -> str:
        return f"{self.version}.{self.tokens}"

    @classmethod
    def parse(cls, key: str) -> "TokensKey":
        version, _, tokens = key.rpartition(".")
        if "." not in version:
            words = "expected <dataset>.<version>.<tokens>, such as starter.v1.bpe-512"
            raise ConfigError(f"token key {key!r} has too few dots; {words}")
        return cls(VersionKey.parse(version), check_name("tokens", tokens))


@dataclass(frozen=True, order=True)
class PairKey:
    """One source within a version: the key `<source>@<dataset>.<version>`."""

    source: str
    version: VersionKey

    def __str__(self) -> str:
        return f"{self.source}@{self.version}"

    @classmethod
    def parse(cls, key: str) -> "PairKey":
        source, at, version = key.partition("@")
        if not at:
            raise ConfigError(
                f"pair key {key!r} has no @; expected <source>@<dataset>.<version>, such as web@starter.v1"
            )
        return cls(check_name("source", source), VersionKey.parse(version))
