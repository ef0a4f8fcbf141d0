"""How a loader reads. None of these changes what is served: every default stands here, once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formats.errors import ConfigError
from formats.json_words import described
from formats.order.numbers import flag, whole

MIB = 1 << 20


@dataclass(frozen=True)
class ReadSettings:
    """Raises ConfigError for a value that makes no sense. Whole numbers may be numpy's, and the folder text."""

    prefetch_bytes: int = 256 * MIB
    """Tokens held at a moment: the block that is served, and those read before they are asked for. Where three steps
    are more than that, three steps.
    """
    threads: int = 4
    """For opening, fetching and verifying shards."""
    max_open_shards: int = 4096
    """An open shard takes a file descriptor: at most half of what the process may have."""
    lead_steps: int = 64
    """A lane's next run is opened this many steps before it begins, and up to twice that: lanes take turns."""
    verify: bool = True
    """Hold every shard to its digest, once, before its first row is served. The length is always held."""
    cache_folder: Path | str | None = None
    """Where shards of an object store are kept, by digest, and notes on which shards of a folder were verified. May be
    shared by the loaders of a machine.
    """
    cache_bytes: int | None = None
    """What the cache may hold; the shards used longest ago go. None: all that was read."""
    max_tries: int = 5
    backoff_seconds: float = 0.5
    """The wait before the second try; it doubles with each further one."""
    allow_yanked: bool = False
    """Serve a snapshot although it, or the version it was made of, is yanked (formats/yank.md)."""
    max_silence_seconds: float = 1800
    """The trainer gets an error where reading has not brought a block for so long."""

    def __post_init__(self) -> None:
        for name in ("prefetch_bytes", "threads", "max_open_shards", "lead_steps", "max_tries"):
            self._hold(name, whole(getattr(self, name), name))
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, expected at least 1; mend the read settings")
        if self.cache_bytes is not None:
            self._hold("cache_bytes", whole(self.cache_bytes, "cache_bytes"))
        if self.cache_folder is not None:
            self._hold("cache_folder", _path(self.cache_folder))
        self._hold("verify", flag(self.verify, "verify"))
        self._hold("allow_yanked", flag(self.allow_yanked, "allow_yanked"))
        for name in ("backoff_seconds", "max_silence_seconds"):
            self._hold(name, _seconds(getattr(self, name), name))
        if not self.max_silence_seconds > 0:
            raise ConfigError("max_silence_seconds is above 0; mend the read settings")
        if not self.backoff_seconds >= 0 or (self.cache_bytes is not None and self.cache_bytes < 0):
            raise ConfigError("backoff_seconds and cache_bytes are at least 0; mend the read settings")

    @property
    def cache(self) -> Path | None:
        return None if self.cache_folder is None else Path(self.cache_folder)

    def _hold(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def _path(value: Path | str) -> Path:
    try:
        return Path(value)
    except TypeError:
        raise ConfigError(f"cache_folder is {described(value)}, expected a path; mend the read settings") from None


def _seconds(value: Any, name: str) -> float:
    if isinstance(value, str | bool) or not hasattr(value, "__float__"):
        raise ConfigError(f"{name} is {described(value)}, expected a number of seconds; mend the read settings")
    return float(value)


def settings_of(settings: ReadSettings | None) -> ReadSettings:
    """What a loader was given, or the defaults. Raises ConfigError for anything else."""
    if settings is not None and not isinstance(settings, ReadSettings):
        raise ConfigError(f"settings is {settings!r:.100}, expected ReadSettings(prefetch_bytes=…); mend the request")
    return settings or ReadSettings()
