"""The order that a saved state describes, for who has the state and no run to hold it to: replay and trace.

Spec: order.md, section State. Nothing of the state is believed: the order is made of it, and the state made again of
the order must be the same, witness included.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formats.errors import OrderError
from formats.json_words import described
from formats.order import rules
from formats.order.mixture import Mixture
from formats.order.order import Bucket, Order
from formats.order.state import load_state_dict
from formats.order.steps import Steps

_TODO = "restore the checkpoint's own"


@dataclass(frozen=True)
class SavedOrder:
    """`step` and `position` are the first behind the state: what lies there is what comes if nothing is changed."""

    order: Order
    steps: Steps
    step: int
    position: int

    def is_past(self, step: int) -> bool:
        return step < self.step


def snapshot_of(state: Any) -> str:
    """The snapshot that a state names. Raises OrderError for what is no state."""
    found = state.get("snapshot_id") if isinstance(state, Mapping) else None
    if not isinstance(found, str):
        is_missing = isinstance(state, Mapping) and "snapshot_id" not in state
        what = "missing" if is_missing else described(state if found is None else found)
        raise OrderError(f"loader state: snapshot_id is {what}, expected the id of a snapshot; {_TODO}")
    return found


def saved_order(state: Any, snapshot_id: str, buckets: Sequence[Bucket]) -> SavedOrder:
    """The order of a state over the buckets of its snapshot. Raises OrderError that names the first field which is
    none, or which is not that of this snapshot.
    """
    if (named := snapshot_of(state)) != snapshot_id:
        raise OrderError(f"loader state: snapshot_id is {described(named)}, expected {snapshot_id}; {_TODO}")
    for field, wrong in rules.state_problems(state):
        raise OrderError(f"loader state: {field}: {wrong}; {_TODO}")
    mixtures = [Mixture(**rules.MIXTURE.build(mixture)) for mixture in state["mixtures"]]
    order = Order(buckets, state["seed"], mixtures, chunk=state["chunk"])
    steps = Steps(tuple((first, size) for first, size in state["batches"]))
    step, position = state["step"], state["position"]
    if step and steps.bounds(step - 1)[0] < position < steps.bounds(step)[0]:  # the end of the run cut its last batch
        steps = Steps(steps.batches, position)
    load_state_dict(state, order, steps, snapshot_id)
    return SavedOrder(order, steps, step, position)
