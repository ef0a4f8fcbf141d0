"""Audits of the stages of one source: no document is lost on the way, and the filters keep what they should."""

from collections import Counter

from corpus_assets.plans import raw_set as raw_sets
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.clusters import dedup_clusters, of_source
from corpus_assets.plans.funnel import verdict_counts
from corpus_assets.plans.keepers import shards_of
from corpus_assets.plans.language_counts import verdicts_by_language
from corpus_assets.plans.pinned import Build, Pair
from corpus_assets.plans.scrub import scrubbed_docs
from corpus_assets.plans.source_stages import documents, signals, verdicts
from formats.languages import UNDETERMINED
from formats.reasons import Reason

KEPT = Reason.KEPT.value
MIN_RETENTION = 0.1
MIN_LANGUAGE_DOCS, MIN_LANGUAGE_RETENTION = 100, 0.5
"""A language of so many documents of a source should keep at least half of the share that the source keeps."""


def documents_conserved(build: Build, pair: Pair) -> Finding:
    """As many documents in each stage of the source as in its raw set, and a verdict for each."""
    raw = raw_sets.find_raw_set(build.layout, pair.row, pair.config.extract).documents
    rows = {
        "documents": documents(build, pair).open().rows,
        "signals": signals(build, pair).open().rows,
    }
    counts = verdict_counts(verdicts(build, pair).open())
    rows["verdicts"] = sum(counts.values())
    passed = all(n == raw for n in rows.values())
    kept = counts[Reason.KEPT.value]
    words = f"{raw} raw documents, {rows['verdicts']} verdicts: {kept} kept + {rows['verdicts'] - kept} dropped"
    return Finding(passed, words, {"raw": raw, **rows, "kept": kept})


def retention(build: Build, pair: Pair) -> Finding:
    """The share of the source's documents that its filters keep."""
    counts = verdict_counts(verdicts(build, pair).open())
    total = sum(counts.values())
    kept = counts[Reason.KEPT.value]
    share = kept / total if total else 1.0
    most = max(((n, why) for why, n in counts.items() if why != Reason.KEPT), default=(0, "nothing"))
    words = f"{kept} of {total} documents kept ({share:.1%}); most go by {most[1]} ({most[0]})"
    return Finding(share >= MIN_RETENTION, words, {"kept_ratio": share, "kept": kept})


def retention_of_languages(build: Build, pair: Pair) -> Finding:
    """Of each language of a source, the share of documents that the filters keep, against that of the whole source."""
    by_language = verdicts_by_language(build, pair)
    whole = sum(by_language.values(), Counter[str]())
    share = whole[KEPT] / whole.total() if whole else 1.0
    by_language.pop(UNDETERMINED, None)  # what is too short to have a language goes for that
    large = {code: counts for code, counts in by_language.items() if counts.total() >= MIN_LANGUAGE_DOCS}
    kept = {code: counts[KEPT] / counts.total() for code, counts in sorted(large.items())}
    low = [code for code in kept if kept[code] < MIN_LANGUAGE_RETENTION * share]
    told = [f"{code} {kept[code]:.1%}, most go by {_most_lost(large[code])}" for code in low]
    words = f"{share:.1%} kept of all languages; " + ("; ".join(told) or "none keeps less than half of that")
    return Finding(not low, words, {"languages": len(large), "languages_low": len(low)})


def _most_lost(counts: Counter[str]) -> str:
    n, why = min((-n, why) for why, n in counts.items() if why != KEPT)
    return f"{why} ({-n})"


def survivors_conserved(build: Build, pairs: list[Pair], pair: Pair) -> Finding:
    """Documents that passed the filters = those dedup decided on; those it kept = scrubbed + contaminated."""
    passed_filters = verdict_counts(verdicts(build, pair).open())[Reason.KEPT.value]
    decided = verdict_counts(
        of_source(dedup_clusters(build, pairs).open(), shards_of(build, pairs)[pair.source_number])
    )
    scrubbed = verdict_counts(scrubbed_docs(build, pairs, pair).open())
    entered, kept = sum(decided.values()), decided[Reason.KEPT.value]
    out = sum(scrubbed.values())
    words = f"{passed_filters} passed the filters, {entered} entered dedup, {kept} stayed, {out} came out of scrubbing"
    figures = {"passed_filters": passed_filters, "kept_by_dedup": kept, "scrubbed": out}
    return Finding(passed_filters == entered and kept == out, words, figures)
