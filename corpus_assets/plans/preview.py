"""The first documents of a source as a build would see them: extracted, measured, judged, with personal data counted.
Reads no further than it has to, and writes nothing.

Duplicates are looked for among the documents read alone; decontamination, models and word lists are not asked.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.exact_text import EMPTY_DIGEST
from corpus_assets.plans.extracted_records import extracted_records, parsing_guard
from corpus_assets.plans.extractors import RESILIPARSE, PageExtractor
from corpus_assets.plans.pinned import Pair
from corpus_assets.plans.raw_set import LIMITS
from corpus_assets.plans.reason_words import NO_RULE, failed_rules
from corpus_assets.plans.source_stages import filter_settings, measure_settings
from corpus_assets.plans.tracing_sites import ListedSite
from corpus_assets.records.read import read_file
from corpus_assets.records.record import Record, Reject, Tally
from corpus_assets.stages.match_sites import SiteIndex
from corpus_assets.stages.measure_documents import measure_documents
from corpus_assets.stages.normalize_documents import normalize_documents
from corpus_assets.stages.scrub_pii import scrub
from corpus_assets.stages.site_verdicts import filter_sites_first
from formats import userinfo
from formats.ledger import LedgerFile, LedgerRow
from formats.reasons import Reason
from formats.stage_tables import COUNTED_SIGNALS, PII_KINDS, RAW, SITE_ENTRIES, SITE_MATCHES
from resources.guarded.guard import Guard

RECORDS_A_DOCUMENT = 50
"""Of a file whose records become no documents, so many are read for each document asked for, and no more."""
_LEAST_RECORDS = 1_000

PathOf = Callable[[LedgerFile], Path | None]
"""Where a file of the ledger row lies; None where it is not here."""


Records = Generator[Record | Reject, None, None]


@dataclass(frozen=True)
class FirstDocuments:
    """RAW rows, the rejects among them as (url, position, reason), and why reading ended: all read, enough, or which
    file is not here.
    """

    rows: pa.RecordBatch
    rejects: tuple[tuple[str, int, str], ...]
    missing: LedgerFile | None = None
    gave_up: bool = False


@dataclass(frozen=True)
class Previewed:
    """One document: its text, and what a build would do with it. `failed` are the rules in words."""

    id: str
    url: str
    crawl_date: str
    text: str
    lang: str
    lang_score: int | None
    signals: dict[str, int]
    verdict: str
    why: str
    failed: tuple[dict[str, str], ...]
    pii: dict[str, int]

    @property
    def is_kept(self) -> bool:
        return self.verdict == Reason.KEPT.value


@dataclass
class _Read:
    documents: list[tuple[str, str, str]] = field(default_factory=list)
    rejects: list[tuple[str, int, str]] = field(default_factory=list)

    @property
    def records(self) -> int:
        return len(self.documents) + len(self.rejects)


def first_documents(row: LedgerRow, path_of: PathOf, count: int, pages: PageExtractor = RESILIPARSE) -> FirstDocuments:
    """Up to `count` documents from the beginning of the source. Raises CorruptDataError for a file that is broken as
    far as it is read; whether its bytes are those of the ledger, it does not say.
    """
    read, missing = _Read(), None
    most = max(_LEAST_RECORDS, RECORDS_A_DOCUMENT * count)
    with parsing_guard(1, pages.parser) as guard:
        for file in row.files:
            if len(read.documents) >= count or read.records >= most:
                break
            if (path := path_of(file)) is None:
                missing = file
                break
            records = cast(Records, read_file(path, file.url, row, LIMITS, Tally()))
            try:
                _read_some(records, row, guard, pages, read, count, most)
            finally:
                records.close()  # and with it the file
    columns = list(zip(*read.documents, strict=True)) or [(), (), ()]
    number = len(read.documents)
    rows = {
        "raw_line": pa.array(range(number), pa.int64()),
        "url": pa.array(columns[0], pa.large_string()),
        "fetched_at": pa.array(columns[1], pa.large_string()),
        "license_spdx": pa.array([row.license_spdx] * number, pa.large_string()),
        "text": pa.array(columns[2], pa.large_string()),
    }
    batch = pa.RecordBatch.from_arrays([rows[name] for name in RAW.names], schema=RAW)
    return FirstDocuments(batch, tuple(read.rejects), missing, number < count and read.records >= most)


def _read_some(
    records: Iterator[Record | Reject],
    row: LedgerRow,
    guard: Guard,
    pages: PageExtractor,
    read: _Read,
    count: int,
    most: int,
) -> None:
    """Records until there are `count` documents: never more at once than are still wanted, since each is extracted."""
    while (wanted := min(count - len(read.documents), most - read.records)) > 0:
        some = list(islice(records, wanted))
        if not some:
            return
        for record, extracted in extracted_records(some, guard, pages.prepare):
            url = userinfo.without(record.url)  # as the raw set has it
            reason = extracted.reason or _not_unicode(extracted.text)
            if reason is None and isinstance(record, Record):
                date = record.crawl_date or f"{row.retrieved}T00:00:00Z"
                read.documents.append((url, date, extracted.text))
            else:
                read.rejects.append((url, record.position, str(reason)))


def _not_unicode(text: str) -> str | None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "lone_surrogate"
    return None


def preview(pair: Pair, raw: pa.RecordBatch, sites: pa.Table | None = None) -> list[Previewed]:
    """What the version's rules would do with RAW rows from the beginning of the pair's source. sites: SITE_ENTRIES of
    its lists.
    """
    rules = filter_settings(pair)
    documents = normalize_documents(raw, source_id=pair.row.source_id, raw_part=0, first_k=0)
    signals = measure_documents(documents, **measure_settings(pair.config))
    listed = _listed(documents, SITE_ENTRIES.empty_table() if sites is None else sites)
    matches = pa.Table.from_pylist([row for row, _ in listed.values()], SITE_MATCHES)
    verdicts = filter_sites_first(signals, _duplicates(signals, listed), matches, **rules)
    pii = pair.config.pii
    code = pair.row.profile == "code"
    _, counts = scrub(documents["text"], ips=pii.ips, phone_regions=pii.phone_regions, code=code)
    by_kind = {kind: values.to_pylist() for kind, values in counts.items()}
    told = []
    rows = zip(documents.to_pylist(), signals.to_pylist(), verdicts.to_pylist(), strict=True)
    for i, (document, measured, judged) in enumerate(rows):
        failed = failed_rules(measured | judged, rules)
        told.append(
            Previewed(
                f"{pair.row.source_id}:{document['k']}",
                document["url"],
                document["crawl_date"],
                document["text"],
                measured["lang"],
                measured["lang_score"],
                {name: measured[name] for name in ("n_chars", "n_words", *COUNTED_SIGNALS)},
                judged["verdict"],
                _why(judged, [one.words for one in failed], pair.row.source_id, listed),
                tuple({"reason": one.reason, "filter": one.filter, "words": one.words} for one in failed),
                {kind: by_kind[kind][i] for kind in PII_KINDS},
            )
        )
    return told


Listed = dict[int, tuple[dict[str, Any], ListedSite]]
"""Of documents that lie at a listed site, by their k: the row of SITE_MATCHES, and the line of the list."""


def _listed(documents: pa.RecordBatch, sites: pa.Table) -> Listed:
    found: Listed = {}
    entries = SiteIndex(sites).first_entries(documents.column("url"))
    for row in np.flatnonzero(entries >= 0):
        entry, k = int(entries[row]), documents.column("k")[int(row)].as_py()
        told = sites.slice(entry, 1).to_pylist()[0]
        line = ListedSite(**{name: told[name] for name in ("list", "line", "what", "since", "why")})
        found[k] = ({"k": k, "reason": told["reason"], "entry": entry}, line)
    return found


def _why(judged: dict[str, Any], failed: Sequence[str], source: str, listed: Listed) -> str:
    if judged["k"] in listed:
        return f"{NO_RULE[judged['verdict']]}: {listed[judged['k']][1].words}"
    if judged["keeper_k"] is not None:
        return f"{NO_RULE[Reason.EXACT_DUPLICATE.value]}, {source}:{judged['keeper_k']}"
    return failed[0] if failed else ""


def _duplicates(signals: pa.RecordBatch, listed: Listed) -> pa.Table:
    """(k, keeper_k) of documents whose text another one of these has, too; the lowest (crawl_date, k) stays. What lies
    at a listed site is no document that could.
    """
    rows = signals.select(["exact_digest", "crawl_date", "k"]).to_pylist()
    keepers: dict[bytes, int] = {}
    found = []
    for row in sorted(rows, key=lambda row: (row["crawl_date"], row["k"])):
        if row["exact_digest"] == EMPTY_DIGEST or row["k"] in listed:
            continue
        keeper = keepers.setdefault(row["exact_digest"], row["k"])
        if keeper != row["k"]:
            found.append((row["k"], keeper))
    found.sort()
    columns = [pa.array([pair[i] for pair in found], pa.int64()) for i in (0, 1)]
    return pa.table(columns, names=["k", "keeper_k"])


def dropped_by(told: Sequence[Previewed]) -> Counter[str]:
    """reason -> documents that would be dropped for it."""
    return Counter(one.verdict for one in told if not one.is_kept)
