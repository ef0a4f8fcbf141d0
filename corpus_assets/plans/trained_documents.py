"""The documents of a snapshot that repeat a benchmark: where their tokens lie, and at which steps a run got them.

A step is told for each row that holds some of the document, not only for the rows that hold what is repeated: which
tokens these are, the texts alone could say.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.token_trace_back import HeldPiece, Serving, SnapshotHolding, Wanted, trace_back
from formats.layout import Layout
from formats.run_record import RunRecord
from formats.snapshot.manifest import Snapshot


@dataclass(frozen=True)
class ServedDocument:
    """`servings` are those of its rows up to the saved state, by position; None where they were not looked up."""

    id: str
    pieces: tuple[HeldPiece, ...]
    servings: tuple[Serving, ...] | None


@dataclass(frozen=True)
class TrainedDocuments:
    """`num_documents` repeat an item; those whose pieces are listed are in `listed`."""

    num_documents: int
    listed: tuple[ServedDocument, ...]
    notes: tuple[str, ...]


def trained_documents(
    layout: Layout, snapshot: Snapshot, ids: pa.ChunkedArray, record: RunRecord | None
) -> TrainedDocuments:
    """Of the documents with these ids. Raises OrderError for a record of another snapshot."""
    names = pc.unique(ids)
    wanted = Wanted("documents that repeat the benchmark", lambda held: pc.is_in(held, names.cast(held.type)))
    told = trace_back(layout, wanted, [snapshot.snapshot_id], record)
    holding = told.snapshots[0] if told.snapshots else SnapshotHolding(snapshot.snapshot_id, "")
    pieces: dict[str, list[HeldPiece]] = {}
    for piece in holding.listed:
        pieces.setdefault(piece.id, []).append(piece)
    notes = list(told.notes)
    if more := len(names) - len(pieces):
        notes.append(f"where the tokens of {more:,} more documents lie is not listed")
    if more := holding.pieces - len(holding.listed):
        notes.append(f"{more:,} more pieces of documents are not listed, nor are their steps")
    served = {(row.shard, row.row): row.servings for row in holding.served or ()}
    listed = tuple(
        ServedDocument(name, tuple(mine), _servings(mine, served, record.split) if record else None)
        for name, mine in sorted(pieces.items())
    )
    return TrainedDocuments(len(names), listed, tuple(notes))


def _servings(
    pieces: list[HeldPiece], served: dict[tuple[str, int], tuple[Serving, ...]], split: str
) -> tuple[Serving, ...] | None:
    """None where not every row of the split was looked up; another split is never served."""
    mine = [piece for piece in pieces if piece.shard.startswith(f"{split}/")]
    rows = {(piece.shard, row) for piece in mine for row in range(piece.first_row, piece.last_row + 1)}
    if not rows <= served.keys():
        return None
    found = {one for row in rows for one in served[row]}
    return tuple(sorted(found, key=lambda one: one.position))
