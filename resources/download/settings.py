"""How the fetcher behaves: every default stands here, once."""

import os
import re
from dataclasses import dataclass, field

from formats.errors import ConfigError

MIB = 1024 * 1024
PRIVATE_HOSTS_VARIABLE = "CORPUS_PRIVATE_HOSTS"
_HOST = re.compile(r"[0-9A-Za-z._:-]+")


def private_hosts_of_environment() -> tuple[str, ...]:
    """The hosts named in CORPUS_PRIVATE_HOSTS, with commas between; none where it is not set."""
    named = (host.strip() for host in os.environ.get(PRIVATE_HOSTS_VARIABLE, "").split(","))
    return tuple(host for host in named if host)


@dataclass(frozen=True)
class FetchSettings:
    """None of these can change a byte of what is fetched. Raises ConfigError for a value that makes no sense."""

    interval_bytes: int = 8 * MIB
    """One checkpoint an interval; what a kill can cost, and what one file holds in memory."""
    max_tries: int = 8
    """Tries in a row that may fail without one new interval of the file; after them the file is given up."""
    connect_timeout_seconds: float = 10.0
    read_timeout_seconds: float = 60.0
    """The longest silence of a server between two blocks of an answer."""
    backoff_seconds: float = 0.5
    """The wait before the second try; it doubles with each further one, and half of it is drawn at random."""
    max_backoff_seconds: float = 60.0
    max_retry_after_seconds: float = 600.0
    """A server that asks (Retry-After) for a longer wait than this is given up at once."""
    parallel_files: int = 4
    max_redirects: int = 5
    copy_local: bool = False
    """Copy local files into the cache, instead of verifying and reading them where they are."""
    user_agent: str = "corpus-assets"
    private_hosts: tuple[str, ...] = field(default_factory=private_hosts_of_environment)
    """Hosts, by name or address, that may have addresses that are not public: of this machine, of an intranet. All
    others are refused there, whatever their names resolve to (addresses.py).
    """

    def __post_init__(self) -> None:
        for name, least in (
            ("interval_bytes", 1),
            ("max_tries", 1),
            ("parallel_files", 1),
            ("max_redirects", 0),
            ("backoff_seconds", 0),
            ("max_backoff_seconds", 0),
            ("max_retry_after_seconds", 0),
        ):
            if getattr(self, name) < least:
                raise ConfigError(f"fetch setting {name} is {getattr(self, name)}, expected at least {least}")
        for host in self.private_hosts:
            if not _HOST.fullmatch(host):
                raise ConfigError(f"fetch setting private_hosts: {host!r} is no host; write a name or address alone")
        for name in ("connect_timeout_seconds", "read_timeout_seconds"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"fetch setting {name} is {getattr(self, name)}, expected more than 0")

    def may_be_private(self, host: str) -> bool:
        """Whether the settings name this host."""
        return host.casefold().rstrip(".") in {named.casefold().rstrip(".") for named in self.private_hosts}
