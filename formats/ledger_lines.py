"""Lines of a ledger: one JSON object each, its keys there once. Spec: ledger.md."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def by_source(data: bytes) -> dict[str, tuple[bytes, ...]]:
    """Source -> the lines that hold an object of it. A version asks for each of its sources: the same file is read
    through once.
    """
    found: dict[str, tuple[bytes, ...]] = {}
    for _, line in numbered(data):
        with suppress(BadLineError):
            value, _ = parse(line)
            source = value.get("source_id") if isinstance(value, dict) else None
            if isinstance(source, str):
                found[source] = (*found.get(source, ()), line)
    return found


def numbered(data: bytes) -> Iterator[tuple[int, bytes]]:
    lines = data.split(b"\n")
    return enumerate(lines[:-1] if lines[-1] == b"" else lines, start=1)


class BadLineError(Exception):
    """A line that holds no JSON value at all."""


def parse(line: bytes) -> tuple[Any, list[str]]:
    """The JSON value of a line, and the keys that an object in it has twice."""
    if line.startswith(b"\xef\xbb\xbf"):
        raise BadLineError("begins with a byte order mark; save the file as UTF-8 without BOM")
    if not line.strip():
        raise BadLineError("is empty; expected one JSON object a line")
    repeated: list[str] = []

    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            repeated.extend(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        return value

    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=to_object, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise BadLineError(f"is not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise BadLineError(f"is not JSON at column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise BadLineError("is nested too deeply; expected one JSON object as ledger.md says") from None
    except ValueError:
        raise BadLineError("holds a number of thousands of digits, which cannot be read") from None
    return value, repeated


def _no_constant(name: str) -> None:
    raise BadLineError(f"holds {name}, which JSON does not know")
