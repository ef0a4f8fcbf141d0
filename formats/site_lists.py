"""Site lists: domains and URL prefixes that a version leaves out, as block lists (text) and opt-outs (JSON lines).

Spec: site_lists.md. What a line's domain or URL means is said in `corpus_assets.stages.site_names`.
"""

import datetime
import fcntl
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from formats import durable
from formats.errors import ConfigError
from formats.json_fields import LINE, Text
from formats.json_tables import table
from formats.json_words import described
from formats.list_lines import MAX_LENGTH, Problems, lines_of, plain_lines


def _no_date(text: str) -> str | None:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return f"{described(text)} is no day of the calendar"
    return None


@dataclass(frozen=True)
class OptOut:
    """Who asked to be left out (a domain or a URL prefix), since when, and why or how it was asked."""

    what: Annotated[str, Text(r"[^\x00-\x20\x7f-\xa0\u2028\u2029]+", "a domain or URL", max_length=MAX_LENGTH)]
    since: Annotated[str, Text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date as 2026-11-30", _no_date)]
    why: Annotated[str, Text(LINE)]


@dataclass(frozen=True)
class ListedSite:
    """An entry of a list; `line` counts from 1. A block list says no more than what."""

    line: int
    what: str
    since: str | None = None
    why: str | None = None


def block_list(data: bytes, where: object) -> list[ListedSite]:
    """The entries of a block list. Raises ConfigError for what is no text."""
    return [ListedSite(number, text) for number, text in plain_lines(data, where)]


def opt_outs(data: bytes, where: object) -> list[ListedSite]:
    """The entries of an opt-out list. Raises ConfigError naming every line that is wrong."""
    problems = Problems(where)
    found = []
    for number, text in lines_of(data, problems):
        if not text:
            problems.add(number, "is blank, expected a JSON object; leave it out")
            continue
        try:
            value = json.loads(text, object_pairs_hook=_no_key_twice)
        except (ValueError, RecursionError) as error:
            problems.add(number, f"is no JSON ({str(error)[:100]})")
            continue
        wrong = [f"{field}: {what}" if field else what for field, what in table(OptOut).problems(value, "")]
        for one in wrong:
            problems.add(number, one)
        if not wrong:
            found.append(ListedSite(number, **value))
    problems.hold()
    return found


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands in it twice")
    return value


def check(entry: OptOut) -> None:
    """Raises ConfigError for an entry that no list may hold."""
    for field, wrong in table(OptOut).problems(table(OptOut).dump(entry), ""):
        raise ConfigError(f"opt-out {described(entry.what)}: {field}: {wrong}")


def append(path: Path, entries: Iterable[OptOut], begin: bytes = b"") -> int:
    """Add those whose `what` the opt-out list has not yet, whole or not at all; returns how many. A list that is not
    there is made, and begins with the lines of `begin`. A second writer waits. Raises ConfigError when an entry or the
    list is not right; then the file is as it was.
    """
    new = list(entries)
    for entry in new:
        check(entry)
    path = path.resolve()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # the folder, since a rename replaces the list's own inode
        is_new = not path.exists()
        before = begin if is_new else path.read_bytes()
        known = {entry.what for entry in opt_outs(before, path)}
        if before and not before.endswith(b"\n"):
            before += b"\n"
        missing = [entry for entry in new if entry.what not in known]
        if missing or (is_new and begin):
            lines = (json.dumps(table(OptOut).dump(entry), ensure_ascii=False) for entry in missing)
            durable.write_file(path, before + "".join(f"{line}\n" for line in lines).encode("utf-8"))
        return len(missing)
    finally:
        os.close(folder)
