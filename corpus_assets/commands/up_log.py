"""What `corpus up` prints of what Dagster's processes print: a line a record, without the ticks in which nothing was
done and without the traces, which the pages of ticks and runs have.
"""

import json
import os
import re
import selectors
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TextIO

_SECONDS_OF_A_RECORD = 0.3
"""A record of several lines is whole when the next begins, or when nothing came for so long."""
_HEAD = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}) - (\S+) - ([A-Z]+) - (.*)")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_TRACE = ("Stack Trace:", "Traceback (most recent", "The above exception")
_LOUD = frozenset({"WARNING", "ERROR", "CRITICAL"})
_DONE = re.compile(r"Launching run for|Launched (?!0 )\d+ runs")
"""What the daemon says of something that it did; all else that it says as INFO is that it looked."""
_UNDELIVERED = re.compile(r"Error: ((?:CORPUS_(?:WEBHOOK|SLACK_WEBHOOK|SMTP|MAIL)\w*)\b.*)")
_PAINT = {"WARNING": "\x1b[33m", "ERROR": "\x1b[1;31m", "CRITICAL": "\x1b[1;31m"}


@dataclass
class Record:
    """One record: who said it, how loud, the words of its head, and what follows below it."""

    time: str
    logger: str
    level: str
    message: str
    more: list[str] = field(default_factory=list)


def records(lines: Iterable[str | None]) -> Iterator[Record]:
    """The records in lines; None stands for a pause, after which no line belongs to what came before it."""
    now: Record | None = None
    for line in lines:
        plain = _COLOURS.sub("", line or "")
        head = _HEAD.fullmatch(plain)
        if now is not None and (line is None or head):
            yield _told(now)
            now = None
        if head:
            now = Record(head[1], head[2], head[3], head[4])
        elif now is not None:
            now.more.append(plain)
        elif plain.strip():
            now = Record("", "", "", plain)
    if now is not None:
        yield _told(now)


def _told(record: Record) -> Record:
    """An alert that was not delivered is said in one loud line, whichever of Dagster's words it is wrapped in."""
    for line in (record.message, *record.more):
        if record.level in _LOUD and (found := _UNDELIVERED.search(line)):
            return Record(record.time, "alerts", "ERROR", f"ALERTS ARE NOT DELIVERED: {found[1]}; they wait")
    return record


def is_worth_a_line(record: Record) -> bool:
    """Whether somebody did something or something is wrong."""
    if record.level in _LOUD or not record.level:
        return True
    return not (record.logger.startswith("dagster.daemon") and not _DONE.search(record.message)) and (
        "asset records" not in record.message
    )


def as_text(record: Record, *, every: bool, colours: bool) -> str:
    """The record for people; `every` has its traces, too."""
    head = " ".join(word for word in (record.time, record.level, record.logger) if word)
    if colours and record.level in _PAINT:
        head = f"{_PAINT[record.level]}{head}\x1b[0m"
    more = record.more if every else [line for line in record.more if _says_something(line)]
    return "\n".join([f"{head}: {record.message}" if head else record.message, *(f"    {line}" for line in more)])


def as_json(record: Record) -> str:
    """The record for machines, on one line, with all that belongs to it."""
    text = "\n".join([record.message, *record.more]).rstrip()
    return json.dumps(
        {"time": record.time, "level": record.level or "INFO", "logger": record.logger or "stderr", "message": text},
        ensure_ascii=False,
    )


def pump(fd: int, out: TextIO, *, every: bool, json_lines: bool) -> None:
    """Print what comes through a pipe until it ends."""
    colours = out.isatty() and not json_lines and "NO_COLOR" not in os.environ
    for record in records(_lines(fd)):
        if every or is_worth_a_line(record):
            text = as_json(record) if json_lines else as_text(record, every=every, colours=colours)
            print(text, file=out, flush=True)


def _lines(fd: int) -> Iterator[str | None]:
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while True:
            if not selector.select(_SECONDS_OF_A_RECORD):
                yield None
                selector.select()
            if not (data := os.read(fd, 65_536)):
                break
            *whole, rest = (rest + data).split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in whole)
    if rest:
        yield rest.decode("utf-8", "replace")


def _says_something(line: str) -> bool:
    """Neither an indented line of a trace, nor one of the words around it."""
    return bool(line.strip()) and not line.startswith((" ", *_TRACE))
