"""Fetch rules: how fast this machine asks a source or a host, and which environment variables hold its credentials.
Spec: fetch_rules.md.

Settings of a machine: they change no byte, so they are in no identity, and no secret stands in them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from formats.json_fields import Kind, Number, OrNull, Problem, Text, Whole, first_problems
from formats.json_kinds import name_of
from formats.json_tables import MapOf, Rules, table
from formats.json_words import described

_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = rf"([1-9][0-9]{{0,11}}) ?({'|'.join(_UNITS)})"
_VARIABLE = r"[A-Z_][A-Z0-9_]{0,99}"
_HOST = r"[0-9a-z_:-][0-9a-z._:-]*[0-9a-z_:-]|[0-9a-z]"


class Size(Kind):
    """Bytes: a whole number, or text with a unit."""

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if not whole and not (isinstance(value, str) and re.fullmatch(_SIZE, value)):
            yield path, f"expected bytes, such as 500kB, 5MB or 64MiB, found {described(value)}"

    def build(self, value: Any) -> int:
        if isinstance(value, int):
            return value
        number, unit = re.fullmatch(_SIZE, value).groups()  # type: ignore[union-attr]  # it has no problems
        return int(number) * _UNITS[unit]

    def schema(self) -> dict[str, Any]:
        text = {"type": "string", "pattern": f"^(?:{_SIZE})$(?!\\n)"}
        return {"anyOf": [{"type": "integer", "minimum": 1}, text]}


class Variable(Text):
    """The name of an environment variable. What stands there instead may be the secret itself: it is not repeated."""

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if any(super().problems(value, path)):
            yield path, f"expected {self.says} that holds it, such as FORUM_TOKEN, never the secret itself"


_NAME = OrNull(Variable(_VARIABLE, "the name, in capitals, of an environment variable"))


@dataclass(frozen=True)
class AccessRules(Rules):
    """What holds for one source or one host."""

    requests_per_second: Annotated[float | None, OrNull(Number(0.001, 1_000))] = None
    connections: Annotated[int | None, OrNull(Whole(1, 1_000))] = None
    bytes_per_second: Annotated[int | None, OrNull(Size())] = None
    authorization_from: Annotated[str | None, _NAME] = None
    user_from: Annotated[str | None, _NAME] = None
    password_from: Annotated[str | None, _NAME] = None

    def rules(self) -> Iterator[Problem]:
        if self.authorization_from and (self.user_from or self.password_from):
            yield "authorization_from", "stands beside user_from or password_from; one request has one of them"
        if self.password_from and not self.user_from:
            yield "password_from", "is without user_from; name the variable with the user, too"

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables with credentials; none where none are sent."""
        named = (self.authorization_from, self.user_from, self.password_from)
        return tuple(name for name in named if name)


@dataclass(frozen=True)
class FetchRules(Rules):
    """How this machine fetches, by source of the ledger and by host of a url."""

    sources: Annotated[Mapping[str, AccessRules], MapOf(name_of("source"), table(AccessRules))] = field(
        default_factory=dict
    )
    hosts: Annotated[
        Mapping[str, AccessRules], MapOf(Text(_HOST, "a host in small letters, without a port"), table(AccessRules))
    ] = field(default_factory=dict)


def problems(document: Any) -> list[Problem]:
    """Every setting that is wrong in a parsed document."""
    return first_problems(table(FetchRules), document)


def from_document(document: Any) -> FetchRules:
    """The rules of a parsed document that has no problems."""
    rules: FetchRules = table(FetchRules).build(document)
    return rules
