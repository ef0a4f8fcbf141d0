"""What `corpus up` prints of what Dagster's processes print: a line a record, without the ticks in which nothing was
done and without the traces, which the pages of ticks and runs have.
"""

import json
import os
import re
import selectors
from collections.abc import Iterator
from typing import TextIO

from corpus_assets.commands import live_output
from corpus_assets.commands.up_records import LOUD, Record, records
from corpus_assets.commands.up_story import Story

_SECONDS_OF_A_RECORD = 0.3
"""A record of several lines is whole when the next begins, or when nothing came for so long."""
_TRACE = ("Stack Trace:", "Traceback (most recent", "The above exception")
_DONE = re.compile(r"Launching run for|Launched (?!0 )\d+ runs")
"""What the daemon says of something that it did; all else that it says as INFO is that it looked."""
_PAINT = {"WARNING": "\x1b[33m", "ERROR": "\x1b[1;31m", "CRITICAL": "\x1b[1;31m"}


def is_worth_a_line(record: Record) -> bool:
    """Whether somebody did something or something is wrong."""
    if record.level in LOUD or not record.level:
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
    """Print what comes through a pipe until it ends; all that Dagster says if `every`.

    A reader of `out` that goes away ends neither this nor Dagster: what reads the log of a service is restarted by
    itself, and runs of hours must not hang on it. Who wants `corpus up` ended tells it so, or closes its terminal.
    """
    colours = out.isatty() and not json_lines and "NO_COLOR" not in os.environ
    story = Story()
    for said in records(_lines(fd)):
        record = said if every else story.told(said)
        if record is not None and (every or is_worth_a_line(record)):
            text = as_json(record) if json_lines else as_text(record, every=every, colours=colours)
            live_output.say(text, out)


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
