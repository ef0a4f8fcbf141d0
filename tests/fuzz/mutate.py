"""Seeded mutations of inputs: bytes, pieces, numbers, words of the format, and values of JSON."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

_NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1]
_TEXTS = [b"0", b"-1", b"99999999999999999999", b"1e999", b"\x00", b"\r\n", b"\n", b"\xff\xfe", b"\xed\xa0\x80", b"../"]
_DEEP, _DEPTHS = "\x00deep", (30, 900, 3_000)
MAX_BYTES = 1 << 16


def mutated(rng: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes], *, is_json: bool) -> bytes:
    """The input with some changes; `others` are inputs to take pieces from."""
    if is_json and rng.random() < 0.7:
        data = _json_lines(rng, data)
        if rng.random() < 0.8:
            return data
    for _ in range(min(8, 1 + int(rng.expovariate(0.8)))):
        change = rng.choice(_CHANGES)
        data = change(rng, data, others, words)
    return data[:MAX_BYTES]


Change = Callable[[Random, bytes, Sequence[bytes], Sequence[bytes]], bytes]


def _span(rng: Random, data: bytes) -> tuple[int, int]:
    begin = rng.randint(0, len(data))
    return begin, min(len(data), begin + int(rng.expovariate(1 / 24)))


def _flip(rng: Random, data: bytes, *_: object) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _replace(rng: Random, data: bytes, *_: object) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.randbytes(rng.randint(1, 4)) + data[at + rng.randint(0, 4) :]


def _cut(rng: Random, data: bytes, *_: object) -> bytes:
    return data[: rng.randint(0, len(data))]


def _remove(rng: Random, data: bytes, *_: object) -> bytes:
    begin, end = _span(rng, data)
    return data[:begin] + data[end:]


def _repeat(rng: Random, data: bytes, *_: object) -> bytes:
    begin, end = _span(rng, data)
    return data[:end] + data[begin:end] * rng.choice([1, 1, 2, 200]) + data[end:]


def _number(rng: Random, data: bytes, *_: object) -> bytes:
    at, width = rng.randint(0, len(data)), rng.choice([1, 2, 4, 8])
    number = (rng.choice(_NUMBERS) + rng.randint(-1, 1)) % (1 << 8 * width)
    return data[:at] + number.to_bytes(width, rng.choice(["little", "big"])) + data[at + width :]


def _digits(rng: Random, data: bytes, *_: object) -> bytes:
    """Another number in the place of one written in digits."""
    places = [i for i in range(len(data)) if data[i : i + 1].isdigit()]
    if not places:
        return data
    begin = end = rng.choice(places)
    while data[end : end + 1].isdigit():
        end += 1
    return data[:begin] + rng.choice([b"0", b"1", b"-1", b"4294967296", b"1" * 30, b""]) + data[end:]


def _word(rng: Random, data: bytes, _: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    begin, end = _span(rng, data)
    return data[:begin] + rng.choice([*words, *_TEXTS]) + data[rng.choice([begin, end]) :]


def _piece(rng: Random, data: bytes, others: Sequence[bytes], _: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    begin, end = sorted((rng.randint(0, len(other)), rng.randint(0, len(other))))
    at = rng.randint(0, len(data))
    return data[:at] + other[begin:end] + data[at:]


_CHANGES: list[Change] = [_flip, _flip, _replace, _cut, _remove, _repeat, _number, _number, _digits, _word, _piece]


def _json_lines(rng: Random, data: bytes) -> bytes:
    """One JSON value of the input, the whole or a line's, with something else in one of its places."""
    lines = data.split(b"\n")
    pieces = [(0, len(lines))] + [(i, i + 1) for i in range(len(lines))]
    begin, end = pieces[0] if rng.random() < 0.5 else rng.choice(pieces)
    try:
        value = json.loads(b"\n".join(lines[begin:end]))
    except (ValueError, RecursionError):
        return data
    depth = rng.choice(_DEPTHS)
    text = json.dumps(_changed(rng, value)).replace(json.dumps(_DEEP), "[" * depth + "]" * depth)
    return b"\n".join([*lines[:begin], text.encode(), *lines[end:]])


_ODD_NUMBERS = [True, -1, 0, 1, 2**31, 2**53, 2**63, 2**64, 10**400, 0.5, 1e308, float("inf"), float("nan")]
_ODD = [
    *_ODD_NUMBERS,
    None,
    "",
    "a",
    "0",
    "\ud800",
    "\x00",
    "../..",
    "x" * 5_000,
    [],
    {},
    [[]],
    [None],
    {"": None},
    _DEEP,
]
"""What may stand where something else is expected; _DEEP becomes a deep list."""


def _changed(rng: Random, value: Any) -> Any:
    """The value with a change somewhere in it, seldom at its top."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(list(value))
        if (way := rng.random()) < 0.1:
            return {name: item for name, item in value.items() if name != key}
        if way < 0.2:
            return {**value, rng.choice(["", "a", "\ud800", key + "x", "x" * 3_000]): rng.choice(_ODD)}
        return {**value, key: _changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        if (way := rng.random()) < 0.1:
            return value[:at] + value[at + 1 :]
        if way < 0.2:
            return value[: at + 1] + value[at:]
        return [*value[:at], _changed(rng, value[at]), *value[at + 1 :]]
    return rng.choice(_ODD)
