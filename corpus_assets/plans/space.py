"""How much disk a build may take, from the ledger's bytes and stated factors, held against what is free.

An estimate from above for common text, made before anything is read: how far a source compresses nobody knows yet.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.plans.for_people import num_bytes
from corpus_assets.plans.pinned import Build, Version
from corpus_assets.plans.standing import State, at_first
from formats import ledger, ledger_urls
from formats.errors import ConfigError
from formats.layout import Layout
from formats.ledger import LedgerRow

PAGES, PACKED, PLAIN = 2.0, 8.0, 3.0
"""Bytes that a build leaves and spills for each byte of the ledger: of web pages, most of which is markup; of text that
is compressed (or Parquet); of text that is not. Raw set, documents, signals, signatures, scrubbed texts and shards are
some 2.5 times the plain text together, and sorts spill less than that.
"""
HALF_DONE = 0.5
"""Of a source whose own stages are all there: scrubbed texts, shards and sorts are still to come."""
_PAGES = ("warc", "html")
_PACKED_SUFFIXES = (".gz", ".zst", ".bz2", ".lz4", ".zip", ".parquet", ".pq")


@dataclass(frozen=True)
class Expected:
    """Bytes that a build may add below `folder`, and what is free there."""

    folder: Path
    num_bytes: int
    free: int

    @property
    def fits(self) -> bool:
        return self.num_bytes <= self.free

    def __str__(self) -> str:
        return f"{self.folder}: the build may take {num_bytes(self.num_bytes)}, {num_bytes(self.free)} are free"


def expected(build: Build, version: Version) -> list[Expected]:
    """One for the corpus, and one for the cache where that is another file system; none of a published version."""
    layout = build.layout
    if layout.lock(version.key).exists():
        return []
    rows = {row.source_id: row for _, row in ledger.scan(layout.ledger)[0]}
    stands = at_first(build, version)
    made, fetched = 0.0, 0
    for source in version.config.sources:
        if source in rows:  # else the build says what is wrong with the row
            steps = stands.sources[source][:-1]
            share = HALF_DONE if all(one.state is State.DONE for one in steps) else 1.0
            made += share * factor(rows[source]) * sum(file.num_bytes for file in rows[source].files)
            fetched += 0 if share == HALF_DONE else sum(_to_fetch(layout, rows[source]))
    return _by_file_system(layout.corpus, round(made), layout.cache, fetched)


def factor(row: LedgerRow) -> float:
    """Bytes made of each byte of a row's files."""
    if row.kind in _PAGES:
        return PAGES
    packed = row.kind == "parquet" or row.container == "zip"
    return PACKED if packed or any(file.url.endswith(_PACKED_SUFFIXES) for file in row.files) else PLAIN


def hold(found: list[Expected]) -> None:
    """Raises ConfigError, with the numbers, where it does not fit."""
    if short := [str(one) for one in found if not one.fits]:
        raise ConfigError(
            f"{'; '.join(short)}. Make room (`corpus gc`), name another --root or --cache, or build all the same with "
            "`corpus build VERSION --ignore-space`: the figure is an estimate from the ledger's bytes"
        )


def _to_fetch(layout: Layout, row: LedgerRow) -> Iterator[int]:
    for file in row.files:
        if ledger_urls.resolve_local(layout.ledger, file.url) is None and not (layout.cache / file.sha256).exists():
            yield file.num_bytes


def _by_file_system(corpus: Path, made: int, cache: Path, fetched: int) -> list[Expected]:
    corpus_at, cache_at = _there(corpus), _there(cache)
    if corpus_at.stat().st_dev == cache_at.stat().st_dev:
        return [Expected(corpus, made + fetched, shutil.disk_usage(corpus_at).free)]
    found = [(corpus, made, corpus_at), (cache, fetched, cache_at)]
    return [Expected(folder, size, shutil.disk_usage(at).free) for folder, size, at in found]


def _there(folder: Path) -> Path:
    """The nearest folder at or above that exists."""
    return next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
