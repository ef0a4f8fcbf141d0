"""What the rules of this machine say about the files of one source: how fast they are asked for, and who asks.

Secrets are read from the environment when a request is made, and kept nowhere.
"""

import base64
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from formats.errors import ConfigError
from formats.fetch_rules import AccessRules, FetchRules
from resources.download.addresses import host_of
from resources.download.pace import OF_PROCESS, Paces
from resources.download.settings import PRIVATE_HOSTS_VARIABLE, FetchSettings
from resources.download.wanted import HTTP_SCHEMES, masked

_LOOK_SECONDS = 0.05
_HEADER = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*")
_TEXT = re.compile(r"[^\x00-\x1f\x7f]+")
Scope = tuple[str, str]
"""("source", its name) or ("host", its name)."""


class Access:
    """Safe for threads. Without rules nothing is limited, and no credentials are sent."""

    def __init__(self, rules: FetchRules | None = None, source: str = "", paces: Paces = OF_PROCESS) -> None:
        self._rules, self._source, self._paces = rules or FetchRules(), source, paces

    def in_force(self, urls: Iterable[str]) -> dict[Scope, AccessRules]:
        """The rules that hold for the urls, the source's first."""
        found = {("source", self._source): self._rules.sources.get(self._source)}
        found.update({("host", host): self._rules.hosts.get(host) for host in sorted({*map(host_of, urls)})})
        return {scope: rules for scope, rules in found.items() if rules is not None}

    def before_request(self, url: str) -> float:
        """The seconds to wait before the url may be asked; it counts as asked then."""
        return max((self._paces.pace((scope, "requests"), limit).reserve()
                    for scope, rules in self.in_force([url]).items() if (limit := rules.requests_per_second)),
                   default=0.0)  # fmt: skip

    def after_read(self, url: str, num_bytes: int) -> float:
        """The seconds to wait after so many bytes of the url came."""
        return max((self._paces.pace((scope, "bytes"), limit).reserve(num_bytes)
                    for scope, rules in self.in_force([url]).items() if (limit := rules.bytes_per_second)),
                   default=0.0)  # fmt: skip

    def block_bytes(self, url: str, at_most: int) -> int:
        """How much to read at once: what may pass in a second, so that no wait is longer than a server's patience."""
        limits = [rules.bytes_per_second for rules in self.in_force([url]).values()]
        return min([at_most, *(limit for limit in limits if limit)])

    @contextmanager
    def connection(self, url: str, pause: Callable[[float], None]) -> Iterator[None]:
        """One of the connections that the url may have; waits for one, unless `pause` raises."""
        with ExitStack() as held:
            for scope, rules in self.in_force([url]).items():  # always the source's first, so that none wait in a ring
                if rules.connections:
                    slots = self._paces.slots(scope, rules.connections)
                    while (let_go := slots.take(_LOOK_SECONDS)) is None:
                        pause(0)
                    held.callback(let_go)
            yield

    def check(self, urls: Iterable[str], settings: FetchSettings) -> None:
        """Raises ConfigError, before any request, for credentials that are not there or must not be sent."""
        for url in urls:
            self.authorization(url, settings)

    def credentials_of(self, url: str) -> tuple[Scope, AccessRules] | None:
        """Whose credentials are sent with the url: the source's, else its host's."""
        return next(((scope, rules) for scope, rules in self.in_force([url]).items() if rules.variables), None)

    def authorization(self, url: str, settings: FetchSettings) -> str | None:
        """The value of the header for the url's own scheme, host and port. Raises ConfigError, without any secret."""
        if (found := self.credentials_of(url)) is None:
            return None
        (kind, name), rules = found
        where, scheme = f"fetch rules of {kind} {name}", urlsplit(url).scheme
        if scheme not in HTTP_SCHEMES:
            todo = "give it credentials where it looks for them, and take these out"
            raise ConfigError(f"{where}: the driver of {scheme}:// knows no {rules.variables[0]}; {todo}")
        if scheme == "http" and not settings.may_be_private(host_of(url)):
            raise ConfigError(
                f"{where}: credentials go over https alone, the url is {masked(url)}; put the https one into the "
                f"ledger, or name the host in {PRIVATE_HOSTS_VARIABLE} if it is one of your own network"
            )
        if rules.authorization_from:
            value = _secret(rules.authorization_from, where, _HEADER, "one line of printable ASCII")
            return value if " " in value else f"Bearer {value}"
        values = [_secret(variable, where, _TEXT, "one line of text") for variable in rules.variables]
        if ":" in values[0]:
            raise ConfigError(f"{where}: the user in {rules.variables[0]} has a colon, which no user may have; mend it")
        return "Basic " + base64.b64encode(":".join([*values, ""][:2]).encode()).decode()


def _secret(variable: str, where: str, form: re.Pattern[str], says: str) -> str:
    value = os.environ.get(variable, "")
    if not value:
        raise ConfigError(f"{where}: the environment variable {variable} is not set; set it where the fetch runs")
    if not form.fullmatch(value) or not value.isprintable():
        raise ConfigError(f"{where}: the environment variable {variable} holds no {says}; mend it where it is set")
    return value
