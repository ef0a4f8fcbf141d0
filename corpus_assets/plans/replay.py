"""A rank's share of a step with the names of its documents: the order's arithmetic, the snapshot's indexes, and the
corpus, where it is still there.
"""

from dataclasses import asdict, dataclass
from typing import Any

from corpus_assets.plans.snapshot_corpus import DocumentName, corpus_of, names_of
from formats import replay as replaying
from formats import yank
from formats.layout import Layout
from formats.replay import ReplayedStep
from formats.run_record import RunRecord
from formats.snapshot import manifest


@dataclass(frozen=True)
class NamedStep:
    """`names` holds every document of `served`, by id; `notes` say what is yanked, and what could not be told
    and why.
    """

    served: ReplayedStep
    names: dict[str, DocumentName]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        step = self.served
        head = {"snapshot_id": step.snapshot.snapshot_id, "step": step.step, "rank": step.rank}
        ranks = {"dp_world": step.ranks.dp_world, "uneven": step.ranks.uneven, "is_past": step.is_past}
        return {**head, **ranks, "sequences": [self._sequence(one) for one in step.sequences], "notes": [*self.notes]}

    def _sequence(self, one: replaying.ServedSequence) -> dict[str, Any]:
        place = {name: getattr(one, name) for name in ("position", "bucket", "row", "shard", "shard_row")}
        documents = [{**asdict(self.names[piece.id]), **asdict(piece)} for piece in one.documents]
        tokens = {} if one.tokens is None else {"tokens": one.tokens.tolist()}
        return {**place, "documents": documents, **tokens}


def replay(
    layout: Layout,
    record: RunRecord,
    step: int,
    rank: int,
    *,
    dp_world: int | None = None,
    uneven: bool = False,
    tokens: bool = False,
) -> NamedStep:
    """What `formats.replay.replay` gives, of the snapshot below the root that the record names; and who its documents
    are. Raises OrderError, CorruptDataError.
    """
    snapshot = manifest.read(layout.root, record.snapshot_id)
    served = replaying.replay(snapshot, record, step, rank, dp_world=dp_world, uneven=uneven, tokens=tokens)
    corpus = corpus_of(layout, snapshot)
    names = names_of(corpus, (piece.id for one in served.sequences for piece in one.documents))
    notes = [str(mark)] if (mark := yank.of_snapshot(layout.root, snapshot)) else []
    if corpus.version is None:
        notes.append(f"doc_id and url cannot be told: {corpus.why_not}")
    if not served.is_past:
        notes.append(f"step {step} is not behind the saved state: so it comes if mixtures and batches stay as they are")
    return NamedStep(served, names, tuple(notes))
