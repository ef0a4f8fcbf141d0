"""Objects of a document: with the fields of a dataclass, with given keys, or with any keys of one form.

A frozen dataclass describes an object: `source_rank: Annotated[int, Whole(0)] = 100`. A field without a default is
required; a field without a kind is not part of the document.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from formats.json_fields import Flag, Kind, Problem, Text
from formats.json_words import described, did_you_mean, shown_key

LATER = "later"
"""Marks a field (`Annotated[…, LATER]`) that documents had not at first: at its default it is left out, so that the
digests of those that were written before stay.
"""


@dataclass(frozen=True)
class Key:
    """The name of a field in the document where it differs from the attribute's."""

    name: str


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
        extras = {key: getattr(hints[name], "__metadata__", ()) for key, name in self.attributes.items()}
        self.later = {key: fields[self.attributes[key]].default for key, of in extras.items() if LATER in of}
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
        """Every field, but for those that came later and hold their default."""
        held = {key: getattr(value, name) for key, name in self.attributes.items()}
        told = (key for key in self.kinds if key not in self.later or held[key] != self.later[key])
        return {key: self.kinds[key].dump(held[key]) for key in told}

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
    """A dataclass of settings that can say itself as JSON, every effective value in it (but for `LATER` ones at their
    default): what stage identities hold.
    """

    def as_json(self) -> dict[str, Any]:
        cls: type = type(self)
        return table(cls).dump(self)


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
