"""What `corpus trace` found, in lines for people."""

from collections.abc import Iterable, Iterator

from corpus_assets.plans.for_people import plural
from corpus_assets.plans.traced import FetchedFile, LedgerSource, Trace, TracedDocument, TracedReject
from corpus_assets.plans.tracing_back import Holdings
from formats.reasons import Reason

EXCERPT_CHARS = 200
Line = tuple[str, str]


def plain(text: str) -> str:
    """Text from outside for a terminal: control characters as escapes, so that none of them acts."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def lines(named: Iterable[Line]) -> Iterator[str]:
    """Indented, the names in one column."""
    for name, words in named:
        yield f"  {name:11} {plain(words)}".rstrip()


def trace_words(result: Trace, whole_text: bool) -> Iterator[str]:
    for document in result.documents:
        fate = "kept" if document.verdict == Reason.KEPT else f"dropped: {document.verdict}"
        yield f"{document.version}  {document.id}  {fate}"
        yield from lines(document_lines(document, whole_text))
    for reject in result.rejects:
        yield f"{reject.version}  a record of {reject.source_id}  rejected: {reject.reason}"
        yield from lines(_reject(reject))
    if result.more:
        yield f"and {result.more:,} more documents; name a version with --version, or count them with --prefix"
    yield from _ending(result, result.target)


def _ending(result: Trace | Holdings, asked: str) -> Iterator[str]:
    yield from (f"note: {note}" for note in result.notes)
    if not result.found:
        yield f"{plain(asked)}: not found; searched:"
        yield from (f"  {searched}" for searched in result.searched)


def document_lines(document: TracedDocument, whole_text: bool) -> Iterator[Line]:
    yield "url", document.url
    if document.verdict != Reason.KEPT:
        yield "reason", document.reason
    if document.filters_passed:
        yield "passed", ", ".join(document.filters_passed)
    for rule in document.rules_failed:
        if rule.reason != document.verdict:
            yield "fails too", f"{rule.reason}: {rule.words}"
    yield from (("word list", one.words) for one in document.listed_words)
    score = "" if document.lang_score is None else f" ({document.lang_score})"
    yield "document", f"doc_id {document.doc_id}, {document.n_chars:,} characters, {document.n_words:,} words"
    yield "language", f"{document.lang}{score}"
    if mixed := document.mixed:
        yield "", mixed.words
    if row := document.published:
        yield "shard", f"{row.shard} row {row.row:,} (row {row.row_of_version:,} of the version), split {row.split}"
        yield "", f"licence {row.license_spdx}, sha256 of the text {row.sha256}"
        yield "", f"sha256 of the shard {row.shard_sha256}"
    if keeper := document.keeper:
        jaccard = "equal text" if keeper.jaccard is None else f"Jaccard {keeper.jaccard}"
        lies = f"{keeper.shard} (row {keeper.row_of_version:,} of the version)" if keeper.shard else keeper.verdict
        yield "keeper", f"{keeper.id}, {jaccard}, {lies}"
        yield "", keeper.url
    if cluster := document.cluster:
        distance = f"weakest link {round(1 - cluster.largest_distance, 6)}"
        yield "cluster", f"of {cluster.root}: {cluster.size:,} documents, {cluster.keepers:,} kept, {distance}"
    if met := document.contamination:
        yield "eval item", f"{met.eval_set}:{met.eval_item}, characters {met.span_start:,} to {met.span_end:,}"
        if met.text is not None:
            yield "", f"“{_excerpt(met.text)}”"
    if near := document.near_item:
        yield "near item", near.words
    if document.pii and any(document.pii.values()):
        yield "PII", ", ".join(f"{kind} {n:,}" for kind, n in document.pii.items() if n)
    if raw := document.raw:
        yield "raw line", f"{raw.part} line {raw.line:,} (from 0), crawled {raw.fetched_at}"
        yield "raw text", raw.text if whole_text else _excerpt(raw.text)
    if extraction := document.extraction:
        yield "extracted", extraction.words
    yield from _origin(document.file, document.ledger)


def _reject(reject: TracedReject) -> Iterator[Line]:
    yield "url", reject.url
    yield "reason", f"{reject.reason.replace('_', ' ')}, at position {reject.position:,} of its file"
    yield "listed in", reject.rejects_file
    yield from _origin(reject.file, reject.ledger)


def _origin(file: FetchedFile | None, row: LedgerSource) -> Iterator[Line]:
    if file:
        yield "file", f"{file.url} ({file.num_bytes:,} bytes)"
        yield "", f"sha256 {file.sha256}"
    yield "ledger row", f"{row.source_id}: {row.license_spdx}; retrieved {row.retrieved}; digest {row.digest}"
    yield "evidence", row.license_evidence
    yield "attribution", row.attribution


def _excerpt(text: str) -> str:
    """The beginning, on one line."""
    cut = " ".join(text[:EXCERPT_CHARS].split())
    return f"{cut} …" if len(text) > EXCERPT_CHARS else cut


def holdings_words(result: Holdings) -> Iterator[str]:
    for holding in result.versions:
        yield f"{holding.version}  {plural(holding.documents, 'document')}, {holding.kept:,} kept"
        for shard in holding.shards:
            yield f"  {shard.shard}  {plural(shard.rows, 'row')} of {shard.source_id} ({shard.license_spdx})"
        for reason, n in holding.dropped.items():
            yield f"  dropped: {n:,} {reason}"
        for source, reasons in holding.rejects.items():
            yield from (f"  rejected: {plural(n, 'record')} of {source}, {reason}" for reason, n in reasons.items())
    yield from _ending(result, result.asked)
