"""A training that was stopped twice and went on with other numbers of ranks, and what its loaders served."""

import json
from dataclasses import dataclass, field

import numpy as np

from formats import run_record
from formats.run_record import RunRecord
from tests.formats.loader.made_training import loader

HISTORY = ((9, 3), (8, 7), (6, 2))
"""(steps, ranks) of each process, one after the other; the second serves two steps more that it does not save."""
UNSAVED = 2


@dataclass
class Run:
    """`served`: (step, rank) -> (positions, tokens) of every step that was saved."""

    record: RunRecord | None = None
    served: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


def train(root, snapshot, history=HISTORY, unsaved=UNSAVED) -> Run:
    """Every process loads the record that the one before wrote, as a trainer would."""
    run = Run()
    for number, (num_steps, world) in enumerate(history):
        ranks = [loader(root, snapshot, rank, world, uneven=True) for rank in range(world)]
        if run.record is not None:
            for one in ranks:
                one.load_state_dict(run.record.state)
        record = run_record.begin(ranks[0].state_dict(), dp_world=world, uneven=True, before=run.record)
        for step in range(num_steps):
            for rank, one in enumerate(ranks):
                batch = next(one)
                run.served[batch.step, rank] = (batch.positions, batch.tokens)
            record = record.at(ranks[0].state_dict())
            assert record.state["step"] == sum(n for n, _ in history[:number]) + step + 1
        run.record = run_record.from_json(json.loads(run_record.to_bytes(record)))
        for _ in range(unsaved if number == 1 else 0):
            for one in ranks:
                next(one)
        for one in ranks:
            one.close()
    return run
