"""The way back: from a document, URL, domain or source to every row of every snapshot that holds some of it, and with a
run record to the steps that served those rows.

A document and a source are found by the snapshots' own indexes; URLs only where the corpus can be asked. Memory: the
ids that are looked for, and one index at a time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans import tracing_back
from corpus_assets.plans.evidence_lookup import DocumentRows, Mask, MayHold, equal_to
from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.snapshot_corpus import corpus_of
from corpus_assets.plans.tracing import Target
from formats.errors import ConfigError
from formats.layout import Layout
from formats.reasons import Reason
from formats.run_record import RunRecord
from formats.snapshot import manifest
from formats.snapshot.manifest import SPLITS, Snapshot, TokenShard
from formats.snapshot.pieces import Pieces

MAX_PIECES = 1_000
"""Pieces of a snapshot that are listed; all are counted."""
MAX_ROWS = 1_000
"""Rows whose steps are looked up; a row takes some milliseconds."""

IdMask = Callable[[pa.Array], pa.Array]
"""Document ids -> true where the document is looked for."""


@dataclass(frozen=True)
class Wanted:
    """What is looked for, in words; by document ids where these say it alone, else by URL."""

    words: str
    ids: IdMask | None = None
    urls: tuple[Mask, MayHold] | None = None

    @classmethod
    def document(cls, words: str) -> "Wanted":
        """An id `<source>:<k>`, or a URL."""
        if Target.parse(words).source is None:
            return cls(words, urls=equal_to(words))
        return cls(words, lambda ids: pc.equal(ids, words))

    @classmethod
    def source(cls, name: str) -> "Wanted":
        return cls(f"source {name}", lambda ids: pc.starts_with(ids, f"{name}:"))

    @classmethod
    def domain(cls, host: str) -> "Wanted":
        """URLs of this host or one below it. Raises ConfigError for no host."""
        return cls(f"domain {host}", urls=tracing_back.urls_of_domain(host))

    @classmethod
    def prefix(cls, url: str) -> "Wanted":
        """URLs that begin so. Raises ConfigError for an empty one."""
        return cls(f"URLs that begin with {url}", urls=tracing_back.urls_of_prefix(url))


@dataclass(frozen=True)
class HeldPiece:
    """Tokens [first, end) of a document, in the rows first_row to last_row of a shard (from 0, both included)."""

    shard: str
    id: str
    first: int
    end: int
    first_row: int
    last_row: int


@dataclass(frozen=True)
class Serving:
    """When a row was served: `rank` is None where the record does not say how many ranks there were."""

    position: int
    step: int
    rank: int | None
    dp_world: int | None


@dataclass(frozen=True)
class ServedRow:
    shard: str
    row: int
    servings: tuple[Serving, ...]


@dataclass
class SnapshotHolding:
    """What one snapshot holds: every piece is counted in `documents`, `pieces` and `tokens`, and by shard in `shards`
    (tokens); the first MAX_PIECES are listed. `served` is there where a run record was given.
    """

    snapshot_id: str
    version: str
    documents: int = 0
    pieces: int = 0
    tokens: int = 0
    shards: dict[str, int] = field(default_factory=dict)
    listed: list[HeldPiece] = field(default_factory=list)
    served: list[ServedRow] | None = None


@dataclass
class SnapshotHoldings:
    """Per snapshot that holds some; and what was looked through, or could not be."""

    asked: str
    snapshots: list[SnapshotHolding] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def found(self) -> bool:
        return bool(self.snapshots)


def trace_back(
    layout: Layout, wanted: Wanted, snapshot_ids: Iterable[str], record: RunRecord | None = None
) -> SnapshotHoldings:
    """What each of the snapshots holds; with `record`, when its rows were served up to the saved state.

    Raises OrderError for a record that is not of the one snapshot it names, CorruptDataError for damaged files.
    """
    result = SnapshotHoldings(wanted.words)
    for snapshot_id in snapshot_ids:
        snapshot = manifest.read(layout.root, snapshot_id)
        mask = wanted.ids or _ids_of_urls(layout, snapshot, wanted, result)
        if mask is None:
            continue
        holding, rows = _holding(snapshot, mask)
        num_shards = sum(len(snapshot.shards(split)) for split in SPLITS)
        result.searched.append(f"{snapshot_id}: the indexes of {num_shards:,} shards")
        if holding.pieces:
            result.snapshots.append(holding)
        if record is not None:
            holding.served = list(_served(snapshot, record, rows, result))
    return result


def _ids_of_urls(layout: Layout, snapshot: Snapshot, wanted: Wanted, result: SnapshotHoldings) -> IdMask | None:
    """The ids of the published documents whose URL is looked for; None where nobody can say."""
    corpus = corpus_of(layout, snapshot)
    if corpus.version is None:
        result.notes.append(f"{snapshot.snapshot_id} could not be searched by URL: {corpus.why_not}")
        return None
    ids = pa.concat_arrays([pa.array([], pa.large_string()), *_published(corpus.version, wanted)])
    return lambda names: pc.is_in(names, ids.cast(names.type))


def _published(version: PublishedVersion, wanted: Wanted) -> Iterator[pa.Array]:
    if wanted.urls is None:
        raise ConfigError(f"{wanted.words}: neither ids nor URLs; ask for a document, source, domain or prefix")
    for batch in DocumentRows(version).where(*wanted.urls, ("id", "url", "verdict")):
        yield batch.filter(pc.equal(batch.column("verdict"), Reason.KEPT.value)).column("id")


def _holding(snapshot: Snapshot, mask: IdMask) -> tuple[SnapshotHolding, list[tuple[TokenShard, np.ndarray]]]:
    """What a snapshot holds, and the rows of each of its shards that do."""
    document = snapshot.document
    holding = SnapshotHolding(snapshot.snapshot_id, f"{document['dataset']}.{document['corpus_version']}")
    held, seen = [], pa.array([], pa.string())
    for split in SPLITS:
        for shard in snapshot.shards(split):
            pieces = Pieces(snapshot, shard)
            at = np.flatnonzero(mask(pieces.ids.combine_chunks()).to_numpy(zero_copy_only=False))
            if not at.size:
                continue
            first_row, last_row = pieces.start[at] // snapshot.seq_len, (pieces.end[at] - 1) // snapshot.seq_len
            ids = pieces.ids.take(pa.array(at))
            seen = pc.unique(pa.chunked_array([seen, *ids.chunks]))
            holding.pieces += at.size
            holding.shards[shard.name] = int(pieces.length[at].sum())
            room = MAX_PIECES - len(holding.listed)
            columns = (pieces.first[at], pieces.first[at] + pieces.length[at], first_row, last_row)
            few = zip(ids[:room].to_pylist(), *(column[:room].tolist() for column in columns), strict=True)
            holding.listed += [HeldPiece(shard.name, *piece) for piece in few]
            held.append((shard, _every_row(first_row, last_row)))
    holding.documents, holding.tokens = len(seen), sum(holding.shards.values())
    return holding, held


def _every_row(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The rows of all stretches [first, last], each once, rising."""
    lengths = last - first + 1
    begins = np.repeat(first - np.cumsum(lengths) + lengths, lengths)
    return np.unique(begins + np.arange(lengths.sum()))


def _served(
    snapshot: Snapshot, record: RunRecord, rows: list[tuple[TokenShard, np.ndarray]], result: SnapshotHoldings
) -> Iterator[ServedRow]:
    saved = record.order(snapshot)
    until = saved.order.available(saved.position)
    starts: dict[str, int] = {}
    for shard in snapshot.shards(record.split):
        starts[shard.name] = starts.get(shard.bucket, 0)
        starts[shard.bucket] = starts[shard.name] + shard.sequences
    mine = [(shard, row) for shard, held in rows if shard.split == record.split for row in held.tolist()]
    for shard, row in mine[:MAX_ROWS]:
        servings = []
        for position in saved.order.find(shard.bucket, starts[shard.name] + row, until):
            step = saved.steps.step_at(position)
            ranks = record.ranks_at(step)
            rank = None if ranks is None else (position - saved.steps.bounds(step)[0]) % ranks.dp_world
            servings.append(Serving(position, step, rank, ranks.dp_world if ranks else None))
        yield ServedRow(shard.name, row, tuple(servings))
    if len(mine) > MAX_ROWS:
        more = len(mine) - MAX_ROWS
        result.notes.append(f"the steps of {more:,} more rows were not looked up; ask for less at a time")
