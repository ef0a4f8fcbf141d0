"""From a token's place in a snapshot to its document, and from there to its raw line, URL and ledger row.

The snapshot's own index says which document; the published version says the rest, where it is still there.
"""

from dataclasses import dataclass
from typing import Any

from corpus_assets.plans import tracing
from corpus_assets.plans.snapshot_corpus import corpus_of, source_of, version_of
from corpus_assets.plans.traced import TracedDocument
from formats.errors import ConfigError, CorruptDataError
from formats.json_words import described
from formats.layout import Layout
from formats.snapshot import manifest
from formats.snapshot.manifest import SPLITS, Snapshot, TokenShard
from formats.snapshot.pieces import Pieces


@dataclass(frozen=True)
class TokenPlace:
    """`offset` counts tokens of the shard, `row` its sequences, `bucket_row` those of the bucket; all from 0."""

    snapshot_id: str
    shard: str
    split: str
    bucket: str
    offset: int
    row: int
    token_of_row: int
    bucket_row: int


@dataclass(frozen=True)
class TokenSpan:
    """The token is `token` of document `id`. The piece of it that lies here: tokens [first, end) of the document."""

    id: str
    source_id: str
    token: int
    first: int
    end: int


@dataclass(frozen=True)
class TokenTrace:
    """`span` is None for padding. `document` is None for padding, and where the corpus cannot be asked: `notes` say
    what cannot be told, and why. `ledger_row_digest` is told by the snapshot itself.
    """

    place: TokenPlace
    version: str
    span: TokenSpan | None
    document: TracedDocument | None
    ledger_row_digest: str | None
    notes: tuple[str, ...]

    @property
    def crawl_date(self) -> str | None:
        return self.document.raw.fetched_at if self.document and self.document.raw else None


def trace_token(layout: Layout, snapshot_id: str, shard_name: str, offset: int) -> TokenTrace:
    """The document of token `offset` of a shard, and its chain.

    Raises ConfigError for a shard or offset that the snapshot does not have, CorruptDataError for files that are not
    what they were.
    """
    snapshot = manifest.read(layout.root, snapshot_id)
    shard = shard_named(snapshot, shard_name)
    tokens = shard.sequences * snapshot.seq_len
    if not 0 <= offset < tokens:
        raise ConfigError(f"offset is {described(offset)}, expected 0 to {tokens - 1}: the tokens of {shard.name}")
    row, token_of_row = divmod(offset, snapshot.seq_len)
    before = sum(
        one.sequences
        for one in snapshot.shards(shard.split)
        if one.bucket == shard.bucket and one.number < shard.number
    )
    names = (snapshot.snapshot_id, shard.name, shard.split, shard.bucket)
    place = TokenPlace(*names, offset, row, token_of_row, before + row)
    version = str(version_of(snapshot))
    piece = Pieces(snapshot, shard).at(offset)
    if piece is None:
        return TokenTrace(place, version, None, None, None, ("this token is padding: it is of no document",))
    last = piece.first + piece.end - piece.begin
    span = TokenSpan(piece.id, source_of(piece.id), piece.first + offset - piece.begin, piece.first, last)
    document, notes = _document(layout, snapshot, span.id)
    return TokenTrace(place, version, span, document, _ledger_row_digest(snapshot, span.source_id), tuple(notes))


def shard_named(snapshot: Snapshot, name: str) -> TokenShard:
    """The shard of that name. Raises ConfigError for a name that the manifest does not list: it is never a path."""
    shards = {shard.name: shard for split in SPLITS for shard in snapshot.shards(split)}
    if name not in shards:
        like = next(iter(shards), "none at all")
        raise ConfigError(f"shard {described(name)} is none of the snapshot's {len(shards)}; they are named as {like}")
    return shards[name]


def _document(layout: Layout, snapshot: Snapshot, name: str) -> tuple[TracedDocument | None, list[str]]:
    corpus = corpus_of(layout, snapshot)
    if corpus.version is None:
        what = "doc_id, url, crawl date, verdicts, cluster, licence and the ledger row's words cannot be told"
        return None, [f"{what}: {corpus.why_not}"]
    trace = tracing.trace(layout, name, [corpus.version.key])
    if [one.id for one in trace.documents] != [name] or trace.documents[0].published is None:
        todo = "restore snapshot and evidence from copies, or build the snapshot again"
        raise CorruptDataError(corpus.version.evidence, "documents", f"{name}, published", "no such row", todo)
    notes = list(trace.notes)
    if trace.documents[0].raw is None:
        notes.append("the crawl date cannot be told: it stands in the raw set")
    return trace.documents[0], notes


def _ledger_row_digest(snapshot: Snapshot, source: str) -> str | None:
    """Of the ledger row under which a source came in, as the snapshot's stage versions name it."""
    value: Any = snapshot.document["stage_versions"]
    for key in ("corpus", "ledger_rows", source):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
