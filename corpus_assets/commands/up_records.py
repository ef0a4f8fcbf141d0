"""The records in the lines that Dagster's processes print: who said it, how loud, and what belongs to it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_HEAD = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}) - (\S+) - ([A-Z]+) - (.*)")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
LOUD = frozenset({"WARNING", "ERROR", "CRITICAL"})


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
            yield now
            now = None
        if head:
            now = Record(head[1], head[2], head[3], head[4])
        elif now is not None:
            now.more.append(plain)
        elif plain.strip():
            now = Record("", "", "", plain)
    if now is not None:
        yield now
