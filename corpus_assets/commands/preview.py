"""`corpus preview SOURCE`: the first documents of a source, and what the rules would do with them."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus_assets.commands.fetch import valid_row
from corpus_assets.commands.words import counted
from corpus_assets.plans.extractors import page_extractor
from corpus_assets.plans.fetch_access import access_of
from corpus_assets.plans.for_people import num_bytes, shown
from corpus_assets.plans.pinned import Pair, Version, load_version
from corpus_assets.plans.preview import FirstDocuments, Previewed, dropped_by, first_documents, preview
from corpus_assets.plans.site_rules import read_entries
from corpus_assets.validation.ledger import check_row_for_version
from formats import ledger, ledger_urls
from formats.corpus_config import CorpusConfig, LicenseRules
from formats.errors import ConfigError
from formats.layout import Layout
from formats.ledger import LedgerFile, LedgerRow
from formats.naming import PairKey, VersionKey
from formats.reject_reasons import RejectReason
from resources.download.fetcher import Fetcher
from resources.download.progress import TerminalProgress
from resources.download.settings import FetchSettings
from resources.download.wanted import Wanted

_SHOWN_CHARS = 240
_MOST = 1_000_000
_NOT_LINES = frozenset({RejectReason.BROKEN_JSON, RejectReason.NOT_AN_OBJECT})
_DEFAULTS = VersionKey("default", "rules")
"""Stands for no version: every setting has its default."""


@dataclass(frozen=True)
class Files:
    """Where a source's files lie. With a fetcher, what is not here is downloaded, one file at a time, as it is read."""

    layout: Layout
    fetcher: Fetcher | None

    def path_of(self, file: LedgerFile) -> Path | None:
        local = ledger_urls.resolve_local(self.layout.ledger, file.url)
        if local is not None:
            if not local.is_file():
                raise ConfigError(f"{local}: is no file that is there; put it there or correct the ledger")
            return local
        cached = self.layout.cache / file.sha256
        if cached.is_file():
            return cached
        if self.fetcher is None:
            return None
        return self.fetcher.fetch_all([Wanted(file.url, file.sha256, file.num_bytes, None)])[0]


def add_parser(subparsers: Any) -> None:
    """Add `preview` to the command line."""
    parser = subparsers.add_parser("preview", help="the first documents of a source, and what the rules would drop")
    parser.set_defaults(run=run)
    parser.add_argument("source", metavar="SOURCE", help="a source of the ledger")
    parser.add_argument("--config", metavar="VERSION", help="take this version's rules; default: those of no version")
    parser.add_argument("-n", type=int, default=20, metavar="N", dest="count", help="documents (%(default)s)")
    parser.add_argument(
        "--fetch", action="store_true", help="download what is not here, a file at a time and verified, into the cache"
    )
    parser.add_argument("--json", action="store_true", help="print documents, signals, verdicts and rejects as JSON")


def run(args: argparse.Namespace) -> int:
    """0: the documents are shown. Raises ConfigError for a source whose row breaks a rule, and for one whose first file
    is not here.
    """
    if not 1 <= args.count <= _MOST:
        raise ConfigError(f"-n is {args.count}, expected 1 to {_MOST:,}")
    row = valid_row(args.layout.ledger, args.source)
    pair = _pair(args.layout, row, args.config)
    fetcher = None
    if args.fetch:
        access = access_of(args.layout, args.source)
        fetcher = Fetcher(args.layout.cache, FetchSettings(), TerminalProgress(sys.stderr), access=access)
    pages = page_extractor(pair.config.extract, args.layout.root)
    found = first_documents(row, Files(args.layout, fetcher).path_of, args.count, pages)
    if found.missing and not found.rows.num_rows:
        size = num_bytes(found.missing.num_bytes)
        raise ConfigError(
            f"source {args.source} is not here: {found.missing.url} ({size}) would be downloaded; add --fetch to do "
            f"that, or run `corpus fetch {args.source}` for all of its files"
        )
    sites = read_entries(args.layout, pair.version) if pair.config.sites.configured else None
    told = preview(pair, found.rows, sites)
    notes = list(_notes(found, pair, args.config))
    if args.json:
        print(json.dumps(_as_json(args, pair, told, found, notes), indent=2, ensure_ascii=False))
        return 0
    for one in told:
        _print(one)
    print(_summary(told, found))
    for note in notes:
        print(f"note: {note}")
    return 0


def _pair(layout: Layout, row: LedgerRow, config: str | None) -> Pair:
    if config is None:
        rules = CorpusConfig(_DEFAULTS.dataset, _DEFAULTS.version, (row.source_id,), LicenseRules((row.license_spdx,)))
        version = Version(_DEFAULTS, rules)
    else:
        version = load_version(layout, VersionKey.parse(config))
    return Pair(PairKey(row.source_id, version.key), version, row)


def _notes(found: FirstDocuments, pair: Pair, config: str | None) -> Sequence[str]:
    notes = ["near duplicates, duplicates of other sources and eval sets are not looked for; bytes are not verified"]
    if config and (refused := check_row_for_version(ledger.to_json(pair.row), pair.config)):
        notes += [f"{config} would refuse the source: {wrong}" for wrong in refused]
    if pair.config.model_filters:
        notes.append(f"the models of {config} are not asked ({', '.join(pair.config.model_filters)})")
    if pair.config.words.lists:
        notes.append(f"the word lists of {config} are not counted")
    if pair.config.is_sample:
        notes.append(f"the sample of {config} is not drawn: these are the first documents of all")
    if found.missing:
        notes.append(f"the next file is not here: {found.missing.url}; --fetch downloads it")
    if not found.rows.num_rows and {reason for _, _, reason in found.rejects} & _NOT_LINES:
        notes.append(
            "no line is a JSON object: a JSON array (`jq -c '.[]' FILE > FILE.jsonl` makes lines of it) and lines that "
            "end with CR alone (tr '\\r' '\\n') are no JSON lines"
        )
    if found.gave_up:
        notes.append("too few records become documents; the reasons are those above")
    return notes


def _as_json(
    args: argparse.Namespace, pair: Pair, told: Sequence[Previewed], found: FirstDocuments, notes: Sequence[str]
) -> dict[str, Any]:
    return {
        "source": args.source,
        "config": args.config,
        "profile": pair.row.profile,
        "documents": [
            {
                "id": one.id,
                "url": one.url,
                "crawl_date": one.crawl_date,
                "beginning": one.text[:_SHOWN_CHARS],
                "lang": one.lang,
                "lang_score": one.lang_score,
                "signals": one.signals,
                "verdict": one.verdict,
                "why": one.why,
                "failed": list(one.failed),
                "pii": one.pii,
            }
            for one in told
        ],
        "dropped": dict(sorted(dropped_by(told).items())),
        "rejects": [{"url": url, "position": at, "reason": reason} for url, at, reason in found.rejects],
        "notes": list(notes),
    }


def _print(one: Previewed) -> None:
    verdict = "kept" if one.is_kept else f"dropped: {one.verdict}"
    score = "" if one.lang_score is None else f" {one.lang_score / 1000:.2f}"
    sizes = f"{one.signals['n_chars']:,} characters, {counted(one.signals['n_words'], 'word')}"
    print(f"{one.id}  {verdict}  [{one.lang}{score}; {sizes}]  {shown(one.url)}")
    beginning = " ".join(one.text[: 2 * _SHOWN_CHARS].split())
    print(f"    {shown(beginning[:_SHOWN_CHARS])}{'…' if len(one.text) > _SHOWN_CHARS else ''}")
    words = [failed["words"] for failed in one.failed]
    for line in dict.fromkeys([one.why, *words] if one.why else words):
        print(f"    - {line}")
    if pii := ", ".join(f"{number} {kind}" for kind, number in one.pii.items() if number):
        print(f"    - personal data that would be replaced: {pii}")


def _summary(told: Sequence[Previewed], found: FirstDocuments) -> str:
    dropped = dropped_by(told)
    parts = [counted(len(told), "document"), f"{dropped.total():,} would be dropped{_listed(dropped)}"]
    rejects = Counter(reason for _, _, reason in found.rejects)
    if rejects:
        parts.append(f"{counted(rejects.total(), 'record')} cannot become documents{_listed(rejects)}")
    return "; ".join(parts)


def _listed(counts: Counter[str]) -> str:
    words = ", ".join(f"{reason} {number:,}" for reason, number in sorted(counts.items()))
    return f" ({words})" if words else ""
