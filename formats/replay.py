"""What one rank served at one step, computed again from a run record and the snapshot alone.

Needs numpy and pyarrow. Cost: the order at that step, and the indexes (with `tokens` the shards) that the rank read.
"""

from dataclasses import dataclass

import numpy as np

from formats.errors import OrderError
from formats.run_record import Ranks, RunRecord
from formats.snapshot.manifest import Snapshot
from formats.snapshot.pieces import Piece, Pieces
from formats.snapshot.token_shard import open_sequences


@dataclass(frozen=True)
class ServedSequence:
    """One sequence: its position in the order, the row of its bucket, where that lies, and its documents; what lies in
    none of them is padding. `tokens` (seq_len) is there where it was asked for.
    """

    position: int
    bucket: str
    row: int
    shard: str
    shard_row: int
    documents: tuple[Piece, ...]
    tokens: np.ndarray | None = None


@dataclass(frozen=True)
class ReplayedStep:
    """A rank's share of a step, in the order served. `is_past`: the run's state says that the step was trained on; else
    this is what comes if mixtures and batches stay as they are.
    """

    snapshot: Snapshot
    step: int
    rank: int
    ranks: Ranks
    is_past: bool
    sequences: tuple[ServedSequence, ...]


def replay(
    snapshot: Snapshot,
    record: RunRecord,
    step: int,
    rank: int,
    *,
    dp_world: int | None = None,
    uneven: bool = False,
    tokens: bool = False,
) -> ReplayedStep:
    """The sequences of a step and rank. `dp_world` and `uneven` are for steps of which the record does not say how many
    ranks there were.

    Raises OrderError for a record that is not of this snapshot, or a step or rank that the run does not have;
    CorruptDataError for a file that is not what the snapshot says.
    """
    saved = record.order(snapshot)
    ranks = _ranks(record, step, dp_world, uneven)
    positions = saved.steps.of_rank(step, rank, ranks.dp_world, uneven=ranks.uneven)
    start, stop = saved.steps.bounds(step)
    end = saved.order.available(stop)
    if end <= start:
        raise OrderError(f"step {step} is behind the end of the order, at position {end}; ask for an earlier one")
    positions = positions[positions < end]
    bucket, row = saved.order.locate(positions)
    number, shard_row = saved.order.shards(positions)
    shards = snapshot.shards(record.split)
    pieces = {n: Pieces(snapshot, shards[n]) for n in np.unique(number).tolist()}
    rows = {n: open_sequences(snapshot, shards[n], verify=True) for n in pieces} if tokens else {}
    columns = (positions.tolist(), bucket.tolist(), row.tolist(), number.tolist(), shard_row.tolist())
    sequences = tuple(
        ServedSequence(
            position,
            saved.order.names[b],
            r,
            shards[n].name,
            at,
            tuple(pieces[n].between(at * snapshot.seq_len, (at + 1) * snapshot.seq_len)),
            np.array(rows[n][at]) if tokens else None,
        )
        for position, b, r, n, at in zip(*columns, strict=True)
    )
    return ReplayedStep(snapshot, step, rank, ranks, saved.is_past(step), sequences)


def _ranks(record: RunRecord, step: int, dp_world: int | None, uneven: bool) -> Ranks:
    known = record.ranks_at(step)
    if known is None:
        if dp_world is None:
            raise OrderError(f"the record does not say how many ranks served step {step}; say it (--world)")
        if dp_world < 1:
            raise OrderError(f"the number of ranks is {dp_world}, expected at least 1; mend the request")
        return Ranks(step, dp_world, uneven)
    if dp_world not in (None, known.dp_world):
        raise OrderError(f"ranks are {dp_world}, expected {known.dp_world}: so many served step {step} by the record")
    return known
