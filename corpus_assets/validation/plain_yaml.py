"""YAML's plain core, read safely, with the line of every setting.

Mappings, lists, texts, numbers, true/false, null: nothing else. `no`, `on`, 2024-01-01 and 12:30 are texts. Anchors,
aliases, tags, repeated keys, several documents, deep nesting and large files are refused before any object is built.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from formats.errors import ConfigError
from formats.json_fields import Problem
from formats.json_words import shown_key

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 20
MAX_KEY = 200
"""Characters of a setting's name; the longest of ours has some thirty."""
_MAX_PATHS = 64 * MAX_BYTES
"""Characters of all paths together: one is kept for every value, and short values below long names make many."""
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: value for value in (True, False) for word in (str(value), str(value).lower(), str(value).upper())
}
# Anchored, since the library matches them at the beginning of a text only.
_WHOLE = re.compile(r"[-+]?[0-9][0-9_]{0,30}$(?!\n)")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$(?!\n)")


@dataclass(frozen=True)
class Document:
    """A YAML document as JSON values; `lines` maps a setting's path (`dedup.near.drop`, `sources[0]`) to its line."""

    value: Any
    lines: dict[str, int] = field(default_factory=dict)

    def line_of(self, path: str) -> int:
        """The line of a setting, or of the nearest one around it that is there."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path, 1)

    def in_words(self, file: Path, problems: Iterable[Problem]) -> str:
        """A line a problem, by the lines of the file: path, line, setting and what is wrong."""
        found = sorted((self.line_of(setting), setting, wrong) for setting, wrong in problems)
        return "\n".join(f"{file}: line {line}: {f'{of}: ' if of else ''}{wrong}" for line, of, wrong in found)


def read(path: Path) -> Document:
    """The document in the file. Raises ConfigError that says path and line."""
    return parse(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """The bytes of the file. Raises ConfigError where it cannot be read, or is too large for a config."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ConfigError(f"{path}: {size} bytes, expected at most {MAX_BYTES}; a config holds rules, not data")
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); make it readable") from None


def parse(data: bytes, path: Path) -> Document:
    """The document in what was read of the file. Raises ConfigError that says path and line."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 at byte {error.start}; save it as UTF-8") from None
    lines = _Lines()
    loader: Any = yaml.SafeLoader("")
    try:
        loader = yaml.SafeLoader(text)
        value = _document(_plain_events(loader), lines)
    except _Refused as error:
        raise ConfigError(f"{path}: line {error.line}: {error}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f"line {mark.line + 1}: " if mark else ""
        raise ConfigError(f"{path}: {at}is not YAML: {error.problem or error.context}; mend it there") from None
    except (ValueError, OverflowError):  # the library's own, of an escape such as "\\UFFFFFFFF"
        raise ConfigError(f"{path}: line {loader.line + 1}: names a character that there is not; mend it") from None
    except yaml.YAMLError as error:  # characters that YAML does not allow
        raise ConfigError(f"{path}: is not YAML: {str(error).splitlines()[0]}; mend it") from None
    return Document(value, dict(lines))


class _Writer(yaml.SafeDumper):
    """Quotes also the texts that only `read` takes for numbers, such as 1e3 and 09."""


for _pattern in (_WHOLE, _NUMBER):
    _Writer.add_implicit_resolver("tag:yaml.org,2002:float", _pattern, list("-+.0123456789"))


def write(value: Any) -> str:
    """YAML text of a JSON value, keys in their order, which `read` gives back."""
    return yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=True)


class _Lines(dict[str, int]):
    """Lines by path, within bounded memory."""

    room = _MAX_PATHS

    def note(self, path: str, event: Any) -> None:
        self.room -= len(path)
        if self.room < 0:
            raise _Refused(event, "too many values below too long names; a config holds rules, not data")
        self.setdefault(path, _line(event))


class _Refused(Exception):
    def __init__(self, event: Any, message: str) -> None:
        super().__init__(message)
        self.line = _line(event)


def _line(event: Any) -> int:
    return event.start_mark.line + 1


def _plain_events(loader: Any) -> Iterator[Any]:
    depth = documents = 0
    while loader.check_event():
        event = loader.get_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _Refused(event, "anchors (&) and aliases (*) are not allowed; write the value out")
        if tag := getattr(event, "tag", None):
            raise _Refused(event, f"the tag {shown_key(tag)} is not allowed; write a plain value")
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if documents > 1:
            raise _Refused(event, "a second document begins; a config is one document")
        if depth > MAX_DEPTH:
            raise _Refused(event, f"nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            yield event


def _document(events: Iterator[Any], lines: _Lines) -> Any:
    first = next(events, None)
    value = None if first is None else _value(first, events, "", lines)
    for _ in events:  # the rest holds no value, but what must be refused
        pass
    return value


def _value(event: Any, events: Iterator[Any], path: str, lines: _Lines) -> Any:
    lines.note(path, event)
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(item := next(events), yaml.CollectionEndEvent):
            items.append(_value(item, events, f"{path}[{len(items)}]", lines))
        return items
    found: dict[str, Any] = {}
    while not isinstance(key := next(events), yaml.CollectionEndEvent):
        if not isinstance(key, yaml.ScalarEvent):
            raise _Refused(key, "a key must be a word")
        if len(key.value) > MAX_KEY:
            raise _Refused(key, f"a key of {len(key.value)} characters, expected at most {MAX_KEY}")
        if key.value in found:
            raise _Refused(key, f"{shown_key(key.value)} is there twice; leave one out")
        inner = f"{path}.{key.value}" if path else key.value
        lines.note(inner, key)
        found[key.value] = _value(next(events), events, inner, lines)
    return found


def _scalar(event: Any) -> Any:
    text = event.value
    if not event.implicit[0]:  # quoted, or a block of text
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text.replace("_", ""))
    return float(text) if _NUMBER.fullmatch(text) else text
