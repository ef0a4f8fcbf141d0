"""What each field of a document written by people may hold: one description gives the check, the JSON Schema, the
built value and the canonical form.

Every problem is found, each with the path of its field. Objects are in json_tables.py.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from formats import canonical
from formats.json_words import described, did_you_mean, quote_hint

Problem = tuple[str, str]
"""(path of the field, what is wrong); the path of the whole object is ''."""

LINE = r"[^\x00-\x20\x7f-\xa0\u2028\u2029](?:[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\x00-\x20\x7f-\xa0\u2028\u2029])?"
"""One line of text: no control characters, no white space at either end."""
MAX_PROBLEMS = 100
"""So many problems of one document are named; a person mends these first."""
MAX_WHOLE = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly."""


class Kind:
    """What a field may hold. `build` and `canonical` are called only with a value that has no problems."""

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        raise NotImplementedError

    def build(self, value: Any) -> Any:
        """The Python value of a field of a document."""
        return value

    def dump(self, value: Any) -> Any:
        """The JSON value of what `build` gave."""
        return value

    def canonical(self, value: Any) -> Any:
        """The document's value in the one form that is hashed: nothing filled in, sets sorted."""
        return self.dump(self.build(value))

    def schema(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True)
class Flag(Kind):
    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, bool):
            yield path, f"expected true or false, found {described(value)}"

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number; `5e4` and `50000.0` are whole, `true` is not. `why` explains an unusual limit."""

    minimum: int = 0
    maximum: int = MAX_WHOLE
    why: str = ""

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole or not self.minimum <= value <= self.maximum:
            limits = f"from {self.minimum} to {self.maximum}" if self.maximum < MAX_WHOLE else f">= {self.minimum}"
            why = f" ({self.why})" if self.why else ""
            yield path, f"expected a whole number {limits}{why}, found {described(value)}"

    def build(self, value: Any) -> int:
        return int(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True)
class Number(Kind):
    """A finite number within limits."""

    minimum: float = 0
    maximum: float = 1

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        number = isinstance(value, int | float) and not isinstance(value, bool) and not _not_finite(value)
        if not number or not self.minimum <= value <= self.maximum:
            yield path, f"expected a number from {self.minimum:g} to {self.maximum:g}, found {described(value)}"

    def build(self, value: Any) -> float:
        return float(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True)
class Text(Kind):
    """Text that matches `pattern` as a whole. `check` says what else is wrong, or None."""

    pattern: str = LINE
    says: str = "one line of text"
    check: Callable[[str], str | None] | None = None
    max_length: int = 10_000

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, str):
            yield path, f"expected {self.says}, found {described(value)}{quote_hint(value)}"
        elif len(value) > self.max_length:
            yield path, f"expected at most {self.max_length} characters, found {len(value)}"
        elif any("\ud800" <= c <= "\udfff" for c in value):
            yield path, "has a lone surrogate, which is no character; write the character itself"
        elif not re.fullmatch(self.pattern, value, re.DOTALL):
            yield path, f"expected {self.says}, found {described(value)}"
        elif self.check and (wrong := self.check(value)):
            yield path, wrong

    def schema(self) -> dict[str, Any]:
        # `$` alone would let Python's matcher accept a trailing newline.
        return {"type": "string", "maxLength": self.max_length, "pattern": f"^(?:{self.pattern})$(?!\\n)"}


@dataclass(frozen=True)
class Choice(Kind):
    values: tuple[str, ...]

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, str) or value not in self.values:
            hint = quote_hint(value) or did_you_mean(value, self.values)
            yield path, f"expected one of {', '.join(self.values)}, found {described(value)}{hint}"

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.values)}


@dataclass(frozen=True)
class OrNull(Kind):
    kind: Kind

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if value is not None:
            yield from self.kind.problems(value, path)

    def build(self, value: Any) -> Any:
        return None if value is None else self.kind.build(value)

    def dump(self, value: Any) -> Any:
        return None if value is None else self.kind.dump(value)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "null"}, self.kind.schema()]}


@dataclass(frozen=True)
class Listing(Kind):
    """A list in its order: a tuple of different items."""

    item: Kind
    min_items: int = 0

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, list):
            yield path, f"expected a list, found {described(value)}"
            return
        if len(value) < self.min_items:
            yield path, f"expected at least {self.min_items} item, found none"
        clean = True
        for i, item in enumerate(value):
            for problem in self.item.problems(item, f"{path}[{i}]"):
                clean = False
                yield problem
        if clean:
            yield from self._repeated(value, path)

    def _repeated(self, value: list[Any], path: str) -> Iterator[Problem]:
        seen: dict[Any, int] = {}
        for i, item in enumerate(value):
            key = self._key(self.item.build(item))
            if key in seen:
                yield f"{path}[{i}]", f"{key} is in the list already, as item {seen[key]}; leave one out"
            seen.setdefault(key, i)

    def _key(self, built: Any) -> Any:
        return built

    def build(self, value: Any) -> tuple[Any, ...]:
        return tuple(self.item.build(item) for item in value)

    def dump(self, value: Any) -> list[Any]:
        return [self.item.dump(item) for item in value]

    def canonical(self, value: Any) -> list[Any]:
        return [self.item.canonical(item) for item in value]

    def schema(self) -> dict[str, Any]:
        schema = {"type": "array", "items": self.item.schema(), "uniqueItems": True}
        return {**schema, "minItems": self.min_items} if self.min_items else schema


@dataclass(frozen=True)
class SetOf(Listing):
    """A list whose order says nothing: a sorted tuple. Equal texts count once; objects are sorted and told apart by
    the attribute `key`.
    """

    key: str = ""

    def _repeated(self, value: list[Any], path: str) -> Iterator[Problem]:
        if self.key:
            yield from super()._repeated(value, path)

    def _key(self, built: Any) -> Any:
        return getattr(built, self.key) if self.key else built

    def build(self, value: Any) -> tuple[Any, ...]:
        built = super().build(value)
        return tuple(sorted(built if self.key else set(built), key=self._key))

    def canonical(self, value: Any) -> list[Any]:
        different = {canonical.to_bytes(item): item for item in super().canonical(value)}
        return [different[order] for order in sorted(different)]

    def schema(self) -> dict[str, Any]:
        schema = super().schema()
        del schema["uniqueItems"]
        return schema


def first_problems(kind: Kind, value: Any) -> list[Problem]:
    """The problems of a document, at most MAX_PROBLEMS and a last one that says that there are more. However long the
    document, no more are looked for.
    """
    found = list(itertools.islice(kind.problems(value, ""), MAX_PROBLEMS + 1))
    return [*found[:MAX_PROBLEMS], ("", "more is wrong; mend this first")] if len(found) > MAX_PROBLEMS else found


def _not_finite(value: int | float) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
