"""What each field of a document written by people may hold: one description gives the check, the JSON Schema, the
built value and the canonical form.

A frozen dataclass describes an object: `source_rank: Annotated[int, Whole(0)] = 100`. A field without a default is
required; a field without a kind is not part of the document. Every problem is found, each with the path of its field.
"""

import dataclasses
import difflib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from formats import canonical, userinfo

Problem = tuple[str, str]
"""(path of the field, what is wrong); the path of the whole object is ''."""

LINE = r"[^\x00-\x20\x7f-\xa0\u2028\u2029](?:[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\x00-\x20\x7f-\xa0\u2028\u2029])?"
"""One line of text: no control characters, no white space at either end."""
MAX_PROBLEMS = 100
"""So many problems of one document are named; a person mends these first."""
MAX_WHOLE = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly."""


@dataclass(frozen=True)
class Key:
    """The name of a field in the document where it differs from the attribute's."""

    name: str


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
            yield path, f"expected {self.says}, found {described(value)}{_quote_hint(value)}"
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
            hint = _quote_hint(value) or did_you_mean(value, self.values)
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


class Keyed(Kind):
    """An object of known keys, some of them required."""

    word = "setting"

    def __init__(self, kinds: Mapping[str, Kind], required: tuple[str, ...] = ()) -> None:
        self.kinds, self.required = kinds, required

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield path, f"expected an object of {', '.join(self.kinds)}, found {described(value)}"
            return
        for key in value:
            if key not in self.kinds:
                yield _join(path, shown_key(key)), f"unknown {self.word}{did_you_mean(key, self.kinds)}"
        for key, kind in self.kinds.items():
            if key in value:
                yield from kind.problems(value[key], _join(path, key))
            elif key in self.required:
                yield _join(path, key), "missing"

    def build(self, value: Any) -> Any:
        return {key: kind.build(value[key]) for key, kind in self.kinds.items() if key in value}

    def dump(self, value: Any) -> Any:
        return {key: self.kinds[key].dump(item) for key, item in value.items()}

    def canonical(self, value: Any) -> dict[str, Any]:
        return {key: self.kinds[key].canonical(item) for key, item in value.items()}

    def schema(self) -> dict[str, Any]:
        properties = {key: kind.schema() for key, kind in self.kinds.items()}
        schema = {"type": "object", "additionalProperties": False, "properties": properties}
        return {**schema, "required": list(self.required)} if self.required else schema


@dataclass(frozen=True)
class MapOf(Kind):
    """An object whose keys are texts of one kind, all with a value of one kind."""

    key: Text
    item: Kind

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield path, f"expected an object of {self.key.says}, found {described(value)}"
            return
        for key, item in value.items():
            inner = _join(path, shown_key(key))
            yield from self.key.problems(key, inner)
            yield from self.item.problems(item, inner)

    def build(self, value: Any) -> Any:
        return {key: self.item.build(item) for key, item in value.items()}

    def dump(self, value: Any) -> Any:
        return {key: self.item.dump(item) for key, item in value.items()}

    def canonical(self, value: Any) -> dict[str, Any]:
        return {key: self.item.canonical(item) for key, item in value.items()}

    def schema(self) -> dict[str, Any]:
        pattern = f"^(?:{self.key.pattern})$(?!\\n)"
        return {"type": "object", "additionalProperties": False, "patternProperties": {pattern: self.item.schema()}}


class Table(Keyed):
    """The object that a dataclass describes. The class may add `rules(values) -> Iterator[Problem]`, for what one
    field says about another (called when each field alone is right), and `SCHEMA_RULES`, the same in JSON Schema.
    """

    def __init__(self, cls: type) -> None:
        self.cls, self.word = cls, "setting" if issubclass(cls, Rules) else "field"
        fields = {field.name: field for field in dataclasses.fields(cls)}
        hints = get_type_hints(cls, include_extras=True)
        self.attributes: dict[str, str] = {}
        kinds: dict[str, Kind] = {}
        for name in fields:
            if kind := _kind_of(hints[name]):
                key = next((m.name for m in getattr(hints[name], "__metadata__", ()) if isinstance(m, Key)), name)
                self.attributes[key], kinds[key] = name, kind
        required = tuple(key for key, name in self.attributes.items() if not _has_default(fields[name]))
        super().__init__(kinds, required)

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        clean = True
        for problem in super().problems(value, path):
            clean = False
            yield problem
        rules = getattr(self.cls, "rules", None)
        if clean and rules:
            for field, wrong in rules(self.build(value)):
                yield _join(path, field), wrong

    def build(self, value: Any) -> Any:
        return self.cls(**{self.attributes[key]: item for key, item in super().build(value).items()})

    def dump(self, value: Any) -> dict[str, Any]:
        return {key: kind.dump(getattr(value, self.attributes[key])) for key, kind in self.kinds.items()}

    def dump_short(self, value: Any) -> dict[str, Any]:
        """Without the fields that hold their default: a later field with a default does not change this form."""
        defaults = {field.name: field.default for field in dataclasses.fields(self.cls)}
        return {
            key: kind.dump_short(held) if isinstance(kind, Table) else kind.dump(held)
            for key, kind in self.kinds.items()
            if (held := getattr(value, name := self.attributes[key])) != defaults[name]
        }

    def schema(self) -> dict[str, Any]:
        schema = super().schema()
        fields = {field.name: field for field in dataclasses.fields(self.cls)}
        for key, kind in self.kinds.items():
            default = fields[self.attributes[key]].default
            if default is not dataclasses.MISSING and not isinstance(kind, Table):
                schema["properties"][key]["default"] = None if default is None else kind.dump(default)
        return {"description": _first_sentence(self.cls), **schema, **getattr(self.cls, "SCHEMA_RULES", {})}


@cache
def table(cls: type) -> Table:
    """The description of a dataclass, made once."""
    return Table(cls)


class Rules:
    """A dataclass of settings that can say itself as JSON, every effective value in it: what stage identities hold."""

    def as_json(self) -> dict[str, Any]:
        cls: type = type(self)
        return table(cls).dump(self)


def first_problems(kind: Kind, value: Any) -> list[Problem]:
    """The problems of a document, at most MAX_PROBLEMS and a last one that says that there are more. However long the
    document, no more are looked for.
    """
    found = list(itertools.islice(kind.problems(value, ""), MAX_PROBLEMS + 1))
    return [*found[:MAX_PROBLEMS], ("", "more is wrong; mend this first")] if len(found) > MAX_PROBLEMS else found


def shown_key(key: object) -> str:
    """A key as it is named in messages: letter for letter where it can be printed and is no longer than a name."""
    text = str(key)
    return text if text.isprintable() and len(text) <= 100 else described(text)


def described(value: Any) -> str:
    """A value in a message: what it is, and its text cut to a readable length."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and abs(value) > 10**40:
        return "a number of more than 40 digits"
    text = ascii(_without_secrets(value[:1_000])[:101]) if isinstance(value, str) else repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _without_secrets(text: str) -> str:
    """Without user, password and query of a URL that is in it: messages go to logs."""
    return re.sub(r"(://[^?\s]*\?)\S*", r"\1…", userinfo.mask_url(text))


def did_you_mean(word: object, words: Mapping[str, Any] | tuple[str, ...]) -> str:
    close = difflib.get_close_matches(str(word)[:100], list(words), n=1)
    return f"; did you mean {close[0]}?" if close else f" (there are: {', '.join(words)})"


def _quote_hint(value: Any) -> str:
    return "; put it in quotes" if isinstance(value, int | float) else ""


def _not_finite(value: int | float) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path and key else path or key


def _first_sentence(cls: type) -> str:
    return " ".join((cls.__doc__ or "").split()).partition(". ")[0].rstrip(".") + "."


def _has_default(field: "dataclasses.Field[Any]") -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _kind_of(hint: Any) -> Kind | None:
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, Kind):
            return extra
    if hint is bool:
        return Flag()
    return table(hint) if dataclasses.is_dataclass(hint) and isinstance(hint, type) else None
