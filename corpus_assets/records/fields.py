"""Records with named fields (JSON objects, Parquet rows) to Records, by the field mapping of the ledger row."""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from corpus_assets.records.record import Record, Reject, RejectReason
from formats.ledger import LedgerRow

_MISSING = object()
_UTC_SECOND = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}Z")


class FieldReader:
    """Applies the mapping of one ledger row. A record's licence only gates: it has to name the row's own licence."""

    def __init__(self, row: LedgerRow) -> None:
        self._fields = row.fields
        self._licenses = _accepted_licenses(row.license_spdx)
        self._paths = [path for path in vars(row.fields).values() if path is not None]

    def repeats(self, value: Mapping[str, Any]) -> bool:
        """Whether a mapped field, or one that leads to it, is given more than once at its level."""
        return any(_is_repeated(value, path) for path in self._paths)

    def url(self, value: Mapping[str, Any]) -> str | None:
        """The url that the record's own field holds; None where no field is mapped or it holds none."""
        found = field(value, self._fields.url) if self._fields.url is not None else None
        return found if isinstance(found, str) and found else None

    def read(self, value: Mapping[str, Any], place: str, position: int) -> Record | Reject:
        """`place` is the url of the record, or of its reject, where no field holds one."""
        own_url, crawl_date = self.url(value), None
        place = own_url or place
        text = field(value, self._fields.text)
        if text is _MISSING or text is None:
            return Reject(place, position, RejectReason.NO_TEXT_FIELD)
        if isinstance(text, list) and all(isinstance(paragraph, str) for paragraph in text):
            text = "\n".join(text)  # as the blocks of a page
        if not isinstance(text, str):
            return Reject(place, position, RejectReason.TEXT_NOT_A_STRING)
        if self._fields.url is not None and own_url is None:
            return Reject(place, position, RejectReason.NO_URL_FIELD)
        if self._fields.date is not None:
            found = field(value, self._fields.date)
            crawl_date = utc_second(found)
            if crawl_date is None and found is not _MISSING and found is not None:
                return Reject(place, position, RejectReason.BAD_DATE)
        if self._fields.license is not None:
            found = field(value, self._fields.license)
            if not isinstance(found, str) or not found.strip():
                return Reject(place, position, RejectReason.LICENSE_MISSING)
            if _plain(found) not in self._licenses:
                return Reject(place, position, RejectReason.LICENSE_MISMATCH)
        return Record(place, position, text, crawl_date=crawl_date)


def field(value: Any, path: str) -> Any:
    """The field of exactly that name, else `a.b` is field b of the object in field a; a value that is no field at all
    where it is missing.
    """
    while isinstance(value, Mapping):
        if path in value:
            return value[path]
        name, dot, path = path.partition(".")
        if not dot or name not in value:
            return _MISSING
        value = value[name]
    return _MISSING


class Repeats(dict[str, Any]):
    """A JSON object of which some names were given more than once: those are `names`."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.names = frozenset(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)


def _is_repeated(value: Any, path: str) -> bool:
    """Follows the path as `field` does."""
    while isinstance(value, Mapping):
        name, dot, rest = (path, "", "") if path in value else path.partition(".")
        if isinstance(value, Repeats) and name in value.names:
            return True
        if not dot:
            return False
        value, path = value.get(name), rest
    return False


def utc_second(value: Any) -> str | None:
    """An ISO 8601 date or time as RFC 3339 in UTC, cut to seconds; None where it is none. Without a zone it is UTC."""
    try:
        if isinstance(value, str):
            date_time = datetime.fromisoformat(value.strip())
            if _UTC_SECOND.fullmatch(value):  # as web archives write it
                return value
            value = date_time
        elif isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if not isinstance(value, datetime):
            return None
        if value.tzinfo is not None:
            value = value.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return value.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def _accepted_licenses(expression: str) -> frozenset[str]:
    """The expression itself and, where it is a plain choice (`MIT OR Apache-2.0`), each of its licences."""
    whole = _plain(expression)
    choice = not any(word in whole for word in (" and ", " with ", "("))
    return frozenset([whole, *(whole.split(" or ") if choice else ())])


def _plain(expression: str) -> str:
    return " ".join(expression.casefold().split())
