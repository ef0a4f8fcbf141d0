"""Every record of a file with its text, in the order of the file; pages are parsed in processes of their own, some at a
time, so that one which takes the parser down costs itself alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from corpus_assets.plans.extractors import Prepare
from corpus_assets.records.record import Record, Reject
from corpus_assets.stages import extract_text
from corpus_assets.stages.block_text import Unsure
from corpus_assets.stages.extract_text import Extracted, Page
from formats.judged_pages import RESILIPARSE, Judgement
from formats.reject_reasons import RejectReason
from resources.guarded.guard import Failure, Guard
from resources.guarded.process import Limits

PARSER_LIMITS = Limits()
"""Part of the bytes, so a change comes with another CODE_VERSION of the raw set. `ExtractRules` count what is known to
take the parser long, so that these meet only what nobody knows yet: a page takes seconds at most on any machine of
today, and its memory does not depend on the machine.
"""
_BATCH_BYTES = 4 * 1024 * 1024
_BATCH_RECORDS = 1_000
_REASONS = {Failure.CRASHED: RejectReason.PARSER_CRASHED, Failure.TIMED_OUT: RejectReason.PARSER_TIMEOUT}

Pair = tuple[Record | Reject, Extracted]
_Prepared = tuple[Record | Reject, Extracted | Page | Unsure]


def parsing_guard(workers: int, parser: str | None = None) -> Guard:
    """Up to so many processes that parse pages, by Resiliparse where no `parser` is named; they start with the first
    page.
    """
    return Guard(parser or extract_text.PARSER, workers=workers, limits=PARSER_LIMITS)


def extracted_records(
    records: Iterable[Record | Reject], guard: Guard, prepare: Prepare = extract_text.prepare
) -> Iterator[Pair]:
    """Each record or reject with its text or the reason why there is none. Reads some batches of 4 MiB ahead. `prepare`
    says of a page what its text is, or gives what is left to the guarded parser.
    """
    for batch, results in guard.in_order((batch, _pages(batch)) for batch in _batches(records, prepare)):
        texts = iter(results)
        for record, prepared in batch:
            yield record, prepared if isinstance(prepared, Extracted) else _finish(next(texts), prepared)


def _batches(records: Iterable[Record | Reject], prepare: Prepare) -> Iterator[list[_Prepared]]:
    batch: list[_Prepared] = []
    num_bytes = 0
    for record in records:
        prepared = _prepare(record, prepare)
        num_bytes += len(prepared.text if isinstance(prepared, Extracted) else _page(prepared).utf8)
        # The page has its content by now; what waits need not be held twice.
        batch.append((record._replace(content=b"") if isinstance(record, Record) else record, prepared))
        if num_bytes >= _BATCH_BYTES or len(batch) >= _BATCH_RECORDS:
            yield batch
            batch, num_bytes = [], 0
    if batch:
        yield batch


def _pages(batch: list[_Prepared]) -> list[Page]:
    return [_page(prepared) for _, prepared in batch if not isinstance(prepared, Extracted)]


def _page(prepared: Page | Unsure) -> Page:
    return prepared.page if isinstance(prepared, Unsure) else prepared


def _prepare(record: Record | Reject, prepare: Prepare) -> Extracted | Page | Unsure:
    """The one place where a record meets its extractor."""
    if isinstance(record, Reject):
        return Extracted("", RejectReason(record.reason))
    if isinstance(record.content, str):
        return Extracted(record.content)
    if record.is_html:
        return prepare(record.content, record.content_type)
    return extract_text.extract_plain(record.content, record.content_type)


def _finish(result: str | list[str] | Failure | None, prepared: Page | Unsure) -> Extracted:
    """What a parser gave: a text or none, or a list of that and of whose it is."""
    if isinstance(result, Failure):
        return Extracted("", _REASONS[result])
    text, by = result if isinstance(result, list) else (result, RESILIPARSE)
    made = extract_text.finish(text)
    return replace(made, judged=Judgement(prepared.error, by)) if isinstance(prepared, Unsure) else made
