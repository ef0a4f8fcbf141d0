"""The raw set of one ledger row: its verified files read, extracted and written; made once for every version that pins
the row. Streaming: some batches of records and one part are held.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.plans.extracted_records import extracted_records, parsing_guard
from corpus_assets.plans.extractors import RESILIPARSE, PageExtractor, page_extractor
from corpus_assets.plans.work import library_version
from corpus_assets.records import archives, documents, jsonl, parquet, warc
from corpus_assets.records.read import read_file
from corpus_assets.records.record import Limits, Record, Tally
from corpus_assets.stages import decode_charset
from corpus_assets.stages.extract_text import Extracted
from formats import durable, ledger_urls, raw_set
from formats.errors import ConfigError, CorruptDataError, NotMadeError
from formats.extraction_rules import ExtractorRules
from formats.layout import Layout
from formats.ledger import LedgerFile, LedgerRow
from formats.raw_set import RawSet
from formats.raw_set_writer import RawSetWriter
from formats.reject_reasons import RejectReason
from resources.download.wanted import Wanted

if TYPE_CHECKING:  # a raw set can be made without what opens connections
    from resources.download.fetcher import Fetcher

CODE_VERSION = "3"
Progress = Callable[[int, int, int], None]
"""Called with (files done, files in all, documents so far), after each file and every thousand records."""
LIMITS = Limits()
"""Part of the bytes, so a change comes with another CODE_VERSION."""
_REPORT_EVERY = 1_000
MAX_IDLE_REJECTS, MAX_REJECTS_A_DOCUMENT = 10_000_000, 100
"""One file may have so many rejects, and so many more for each of its documents: a hundred kilobytes of gzip can hold a
hundred million records that are none. It stops a build and changes no byte.
"""
_READERS = {
    "warc": (warc, ("fastwarc",)),
    "wet": (warc, ("fastwarc",)),
    "parquet": (parquet, ("pyarrow",)),
    "jsonl": (jsonl, ()),
    "html": (documents, ()),
    "text": (documents, ()),
    "markdown": (documents, ()),
}
"""Kind -> its reader's module, and the libraries that decide which records it finds."""
_DEFAULT_EXTRACTOR = ExtractorRules()
_DECODED, _EXTRACTED = ("text", "markdown", "html", "warc"), ("html", "warc")


def extractor_identity(row: LedgerRow, pages: PageExtractor = RESILIPARSE) -> dict[str, Any]:
    """Code versions, library versions and settings that can change a byte of the row's raw set; `pages` only where the
    row has any.
    """
    reader, libraries = _READERS[row.kind]
    code = {"raw_set": CODE_VERSION, "format": str(raw_set.VERSION), row.kind: reader.CODE_VERSION}
    names = {"zstandard", *libraries}
    if row.container:
        code["archives"] = archives.CODE_VERSION
    if row.kind in _DECODED:
        code["decode_charset"] = decode_charset.CODE_VERSION
        names.update(decode_charset.LIBRARIES)
    if row.kind in _EXTRACTED:
        code.update(pages.code)
        names.update(pages.libraries)
    identity = {"code": code, "libraries": {name: library_version(name) for name in sorted(names)}}
    if row.kind in _EXTRACTED and pages.settings:
        identity["settings"] = pages.settings
    return identity


def make_raw_set(
    layout: Layout,
    row: LedgerRow,
    paths: Sequence[Path],
    *,
    extract: ExtractorRules = _DEFAULT_EXTRACTOR,
    workers: int = 1,
    progress: Progress | None = None,
) -> RawSet:
    """The raw set of `row`, from its files in the order of `row.files`; the one that is there already where its
    identity is the same. `workers` is how many processes parse pages, beside this one. Raises CorruptDataError for a
    broken file, TransientError where parsing processes are killed again and again.
    """
    if len(paths) != len(row.files):
        raise ConfigError(f"source {row.source_id}: {len(paths)} paths for {len(row.files)} files of its ledger row")
    pages = page_extractor(extract, layout.root)
    extractor = extractor_identity(row, pages)
    with _locked(layout.raw_sets(row.source_id)) as folder:
        place = _place(folder, row, extractor)
        if place.exists():
            return raw_set.open_set(place)
        temporary = folder / f".{place.name}.tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            _write(temporary, row, paths, extractor, pages, workers, progress)
            temporary.rename(place)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        durable.fsync_folder(folder)
        return raw_set.open_set(place)


def fetch_raw_set(
    layout: Layout,
    row: LedgerRow,
    fetcher: "Fetcher",
    *,
    extract: ExtractorRules = _DEFAULT_EXTRACTOR,
    workers: int = 1,
    progress: Progress | None = None,
) -> RawSet:
    """The raw set of `row`, its files fetched and verified first where the set is not there yet."""
    if found := _existing(layout, row, extract):
        return found
    wanted = [
        Wanted(file.url, file.sha256, file.num_bytes, ledger_urls.resolve_local(layout.ledger, file.url))
        for file in row.files
    ]
    paths = fetcher.fetch_all(wanted)
    return make_raw_set(layout, row, paths, extract=extract, workers=workers, progress=progress)


def find_raw_set(layout: Layout, row: LedgerRow, extract: ExtractorRules = _DEFAULT_EXTRACTOR) -> RawSet:
    """The raw set of `row` under the version's extractor. Raises NotMadeError when it was not made yet,
    ConfigError where the extractor is not as the config says.
    """
    if found := _existing(layout, row, extract):
        return found
    raise NotMadeError(f"raw_fetch of source {row.source_id} is not materialized; materialize raw_fetch first")


def _existing(layout: Layout, row: LedgerRow, extract: ExtractorRules) -> RawSet | None:
    identity = extractor_identity(row, page_extractor(extract, layout.root))
    place = _place(layout.raw_sets(row.source_id), row, identity)
    return raw_set.open_set(place) if place.exists() else None


def _write(
    folder: Path,
    row: LedgerRow,
    paths: Sequence[Path],
    extractor: dict[str, Any],
    pages: PageExtractor,
    workers: int,
    progress: Progress | None,
) -> None:
    writer = RawSetWriter(folder, row.source_id, row.digest, extractor)
    retrieved = f"{row.retrieved}T00:00:00Z"
    records = documents = 0
    with parsing_guard(workers, pages.parser) as guard:
        for i, (path, file) in enumerate(zip(paths, row.files, strict=True)):
            tally, rejects_left = Tally(), MAX_IDLE_REJECTS
            found = read_file(path, file.url, row, LIMITS, tally)
            for record, extracted in extracted_records(found, guard, pages.prepare):
                reason = extracted.reason
                if reason is None and isinstance(record, Record):
                    reason = _add(writer, record, extracted, row, retrieved)
                if reason is None:
                    documents += 1
                    rejects_left += MAX_REJECTS_A_DOCUMENT
                else:
                    rejects_left -= 1
                    if rejects_left < 0:
                        raise _too_many_rejects(path, reason)
                    writer.add_reject(_without_surrogates(record.url), record.position, reason)
                records += 1
                if progress and records % _REPORT_EVERY == 0:
                    progress(i, len(paths), documents)
            _hold_unchanged(path, file)
            writer.end_file(file.url, file.sha256, file.num_bytes, tally.decompressed_bytes, tally.records)
            if progress:
                progress(i + 1, len(paths), documents)
    writer.finish()


def _too_many_rejects(path: Path, reason: str) -> CorruptDataError:
    expected = f"at most {MAX_IDLE_REJECTS}, and {MAX_REJECTS_A_DOCUMENT} for each document"
    todo = "look at kind, container and fields of the ledger row; if they are right, split the file"
    return CorruptDataError(path, "number of rejects", expected, f"more; the last one is {reason}", todo)


def _hold_unchanged(path: Path, file: LedgerFile) -> None:
    """Files are verified before the first record is read, and a crawl is read for hours. So each is hashed again when
    its records are used up: what was read is what was verified. Raises CorruptDataError.
    """
    if (found := durable.sha256_of(path)) != file.sha256:
        raise CorruptDataError(
            path, "sha256", file.sha256, found, "it changed while it was read: restore it and run again"
        )


def _add(
    writer: RawSetWriter, record: Record, extracted: Extracted, row: LedgerRow, retrieved: str
) -> RejectReason | None:
    """Write the record's document; the reason where there can be none."""
    try:
        writer.add_document(
            record.url, record.crawl_date or retrieved, row.license_spdx, extracted.text, extracted.judged
        )
    except UnicodeEncodeError:
        return RejectReason.LONE_SURROGATE
    return None


def _without_surrogates(url: str) -> str:
    return url.encode("utf-8", "backslashreplace").decode("utf-8")


def _place(folder: Path, row: LedgerRow, extractor: dict[str, Any]) -> Path:
    """`<yyyymmdd>`, or `<yyyymmdd>-<8 hex of the identity>` where another set of the day has that name."""
    identity = raw_set.identity_of(row.digest, extractor)
    first = folder / row.retrieved.replace("-", "")
    if not first.exists() or raw_set.open_set(first).identity == identity:
        return first
    other = folder / f"{first.name}-{identity[:8]}"
    if other.exists() and (found := raw_set.open_set(other).identity) != identity:
        raise CorruptDataError(
            other, "identity", identity, found, "move the folder away and materialize raw_fetch again"
        )
    return other


@contextmanager
def _locked(folder: Path) -> Iterator[Path]:
    """One maker a source at a time; a second one waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with durable.one_at_a_time(lock_of(folder)):
        yield folder


def lock_of(folder: Path) -> Path:
    """Held by who makes a raw set of the source whose raw sets lie in `folder`."""
    return folder / ".lock"
