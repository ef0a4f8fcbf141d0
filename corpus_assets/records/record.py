"""What a reader gives for each record of a fetched file: a Record to make text of, or a Reject with its reason."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from formats.compressed import Budget
from formats.reject_reasons import RejectReason

__all__ = ["Limits", "Record", "Reject", "RejectReason", "Tally", "whole_number"]

_WHOLE_NUMBER = re.compile("[0-9]{1,18}")


class Record(NamedTuple):
    """One record that may become a document. `position` is its place in the file: line, row, member, or byte (WARC).

    `content` is text, or bytes still to be decoded: a page where `is_html`, else plain text. `crawl_date` is RFC 3339
    in UTC and seconds; None where the record has none.
    """

    url: str
    position: int
    content: str | bytes
    is_html: bool = False
    content_type: str | None = None
    crawl_date: str | None = None


def whole_number(said: str) -> int | None:
    """The bytes that a header tells of; None for anything but 1 to 18 digits. Python refuses to read some thousand."""
    return int(said) if _WHOLE_NUMBER.fullmatch(said) else None


class Reject(NamedTuple):
    url: str
    position: int
    reason: str


@dataclass(frozen=True)
class Limits:
    """Longest record that is held in memory, how many members an archive may have, and what one file may grow to."""

    max_record_bytes: int = 128 * 1024 * 1024
    max_members: int = 1_000_000
    file_budget: Budget = field(default_factory=Budget)


@dataclass
class Tally:
    """What a reader counts on the way; complete when its records are used up."""

    records: int = 0
    decompressed_bytes: int = 0
