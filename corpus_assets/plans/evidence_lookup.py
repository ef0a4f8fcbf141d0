"""Single rows of the evidence's documents table, found by position or by URL without reading the rest.

A row lies at the place its k gives it (parts and rows of a source are in the order of k), so an id costs footers and
one row group. For a URL the row groups' least and greatest URL rule most of them out. A file is hashed before one of
its rows is read; before anything is called missing, the files that their footers ruled out are hashed, too.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.plans.published_version import PublishedVersion, verified
from formats import evidence, evidence_schemas, parquet_file
from formats.errors import CorruptDataError

_TODO = "restore the evidence folder from a copy, or delete it and build the version again"
MayHold = Callable[[str, str], bool]
"""Whether a row group whose URLs lie between the two (inclusive) may hold what is looked for."""
Mask = Callable[[pa.Array], pa.Array]
"""URLs -> true where the row is looked for."""


@dataclass(frozen=True)
class _Part:
    """What the footer of one part says: its source, and per row group the rows and the least and greatest URL."""

    name: str
    source: str | None
    rows: tuple[int, ...]
    urls: tuple[tuple[str, str] | None, ...]


class DocumentRows:
    """The documents table of one version."""

    def __init__(self, version: PublishedVersion) -> None:
        """Reads the footers of all parts. Raises CorruptDataError for one that cannot be read."""
        self._version = version
        self._verified: set[str] = set()
        names = evidence_schemas.table_names("documents", version.sealed)
        self._parts = [self._footer(name) for name in names]

    @property
    def rows(self) -> int:
        return sum(sum(part.rows) for part in self._parts)

    def of(self, source: str) -> int:
        """How many documents a source has."""
        return sum(sum(part.rows) for part in self._parts if part.source == source)

    def at(self, source: str, k: int) -> dict[str, Any] | None:
        """The row of document k of a source; None where the source has fewer documents."""
        before = 0  # rows of the source in the parts passed over
        for part in self._parts:
            if part.source != source:
                continue
            if (within := k - before) < sum(part.rows):
                group = next(i for i, end in enumerate(accumulate(part.rows)) if within < end)
                row = self._row(part, group, within - sum(part.rows[:group]))
                if row["id"] != f"{source}:{k}":
                    raise CorruptDataError(self._version.evidence / part.name, "id", f"{source}:{k}", row["id"], _TODO)
                return row
            before += sum(part.rows)
        self._verify_all(source)
        return None

    def of_ids(self, ids: Iterable[str], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows of these ids, `<source>:<k>` each, a row group read once; `columns` must hold id. Raises
        CorruptDataError for an id that has no row.
        """
        wanted: dict[tuple[int, int], list[str]] = {}
        for name in dict.fromkeys(ids):
            wanted.setdefault(self._place_of(name), []).append(name)
        for (part, group), names in sorted(wanted.items()):
            missing = set(names)
            for batch in self._read(self._parts[part], [group], columns):
                rows = batch.filter(pc.is_in(batch.column("id"), pa.array(names, batch.column("id").type)))
                found = rows.to_pylist()
                missing.difference_update(row["id"] for row in found)
                yield from found
            if missing:
                path = self._version.evidence / self._parts[part].name
                raise CorruptDataError(path, "id", min(missing), "no such row", _TODO)

    def _place_of(self, name: str) -> tuple[int, int]:
        """(part, row group) in which a document lies."""
        source, _, number = name.rpartition(":")
        k = int(number) if re.fullmatch(r"[0-9]{1,18}", number) else -1
        for i, part in enumerate(self._parts):
            if part.source == source and 0 <= k < sum(part.rows):
                return i, next(group for group, end in enumerate(accumulate(part.rows)) if k < end)
            k -= sum(part.rows) if part.source == source else 0
        raise CorruptDataError(self._version.evidence, "documents", name, "no such id", _TODO)

    def where(self, mask: Mask, may_hold: MayHold, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows whose URL the mask picks, batch by batch; `columns` must hold url."""
        found = 0
        for part in self._parts:
            groups = [i for i, span in enumerate(part.urls) if span is None or may_hold(*span)]
            if not groups:
                continue
            for batch in self._read(part, groups, columns):
                rows = batch.filter(mask(batch.column("url")))
                if rows.num_rows:
                    found += rows.num_rows
                    yield rows
        if not found:
            self._verify_all()

    def of_source(self, source: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of one source; parts of others are not read."""
        for part in self._parts:
            if part.source == source:
                yield from self._read(part, range(len(part.rows)), columns)
        self._verify_all(source)

    def _footer(self, name: str) -> _Part:
        path, entry = self._version.evidence / name, self._version.sealed[name]
        if not path.is_file() or path.stat().st_size != entry["bytes"]:
            verified(self._version.evidence, self._version.sealed, name)  # says what is wrong
        try:
            footer = pq.read_metadata(path)
            source, url = (evidence_schemas.DOCUMENTS.get_field_index(column) for column in ("source_id", "url"))
            groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
            first = groups[0].column(source).statistics if groups else None
            spans = [_span(group.column(url).statistics) for group in groups]
            return _Part(name, first.min if first else None, tuple(g.num_rows for g in groups), tuple(spans))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise CorruptDataError(path, "footer", "that of a Parquet file", repr(error)[:300], _TODO) from None

    def _row(self, part: _Part, group: int, at: int) -> dict[str, Any]:
        for batch in self._read(part, [group], None):
            if at < batch.num_rows:
                row: dict[str, Any] = batch.slice(at, 1).to_pylist()[0]
                return row
            at -= batch.num_rows
        raise CorruptDataError(self._version.evidence / part.name, "rows", sum(part.rows), "fewer", _TODO)

    def _read(self, part: _Part, groups: Sequence[int], columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        path = self._verify(part)
        yield from parquet_file.read_groups(
            path, schema=evidence_schemas.schema_of("documents", path), groups=groups, columns=columns, todo=_TODO
        )

    def _verify(self, part: _Part) -> Path:
        if part.name not in self._verified:
            verified(self._version.evidence, self._version.sealed, part.name)
            self._verified.add(part.name)
        return self._version.evidence / part.name

    def _verify_all(self, source: str | None = None) -> None:
        """A footer that lies must not hide a row."""
        for part in self._parts:
            if source is None or part.source in (source, None):
                self._verify(part)


def _span(statistics: Any) -> tuple[str, str] | None:
    return (statistics.min, statistics.max) if statistics is not None and statistics.has_min_max else None


def rows_about(version: PublishedVersion, table: str, document: str) -> Iterator[dict[str, Any]]:
    """What a table of the evidence beside the documents' own says of the document with this id."""
    for batch in evidence.read(version.evidence, table):
        yield from batch.filter(pc.equal(batch.column("id"), document)).to_pylist()


def equal_to(url: str) -> tuple[Mask, MayHold]:
    """Rows of exactly this URL."""
    return lambda urls: pc.equal(urls, pa.scalar(url, urls.type)), lambda least, most: least <= url <= most


def beginning_with(prefix: str) -> tuple[Mask, MayHold]:
    """Rows whose URL begins so."""
    return (
        lambda urls: pc.starts_with(urls, prefix),
        lambda least, most: least[: len(prefix)] <= prefix <= most[: len(prefix)],
    )


HOST = r"^(?i:https?)://(?:[^/?#@]*@)?(?P<host>\[[^\]/?#]*\]|[^/?#:]+)"
"""The host of a web address, without user and port."""


def hosts(urls: pa.Array) -> pa.Array:
    """The host of each URL in lower case, its last dot left out; null for what is no web address."""
    found = pc.struct_field(pc.extract_regex(urls, HOST), "host")
    return pc.utf8_rtrim(pc.utf8_lower(found), ".")


def of_domain(domain: str) -> tuple[Mask, MayHold]:
    """Rows whose URL has this host or one below it."""
    wanted = domain.lower().strip(".")

    def mask(urls: pa.Array) -> pa.Array:
        host = hosts(urls)
        return pc.fill_null(pc.or_(pc.equal(host, wanted), pc.ends_with(host, f".{wanted}")), False)

    return mask, anywhere


def anywhere(_least: str, _most: str) -> bool:
    """MayHold of what the order of the URLs says nothing about."""
    return True
