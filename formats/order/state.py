"""What a checkpoint holds so that training goes on exactly: the same on every rank, whatever their number.

Spec: order.md, section 8. Only what has begun is in it, so the future may be changed, and the past may not.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from formats.errors import OrderError
from formats.json_words import shown_key
from formats.order import rules
from formats.order.order import Order
from formats.order.permutation import VERSION
from formats.order.steps import Steps

FORMAT = "loader-order"
WITNESSES = 64


def witness(order: Order, position: int) -> str:
    """A digest of the 64 rows served last: two programs that disagree about the order disagree here.

    A last batch that the order's end cut short is witnessed up to that end.
    """
    position = order.available(position)
    bucket, row = order.locate(np.arange(max(0, position - WITNESSES), position))
    return hashlib.sha256(np.stack([bucket, row], axis=1).astype("<i8").tobytes()).hexdigest()[:16]


def state_dict(order: Order, steps: Steps, snapshot_id: str, step: int) -> dict[str, Any]:
    """The state before `step` is served, as JSON values. Raises OrderError for a step that the order does not have,
    and for one that no reader would take.
    """
    position = steps.bounds(step)[0]
    if step > 0:
        start, stop = steps.bounds(step - 1)
        if order.available(stop) <= start:
            raise OrderError(f"step is {step}, and nothing was served at the one before: the order is over; mend it")
    state = {
        "format": FORMAT,
        "version": VERSION,
        "snapshot_id": snapshot_id,
        "seed": order.seed,
        "chunk": order.chunk,
        "mixtures": [m.as_json() for m in order.mixtures if m.position < max(position, 1)],
        "batches": [list(entry) for entry in steps.begun(step)],
        "step": step,
        "position": position,
        "witness": witness(order, position),
    }
    for field, wrong in rules.state_problems(state):
        raise OrderError(f"loader state: {field}: {wrong}; mend the request")
    return state


def load_state_dict(state: Any, order: Order, steps: Steps, snapshot_id: str) -> int:
    """The step to serve next. Raises OrderError for what is no state, or not one of this order's past.

    The state is made again from the run's own snapshot, seed, mixtures and schedule, and compared field by field.
    """
    step = state.get("step") if isinstance(state, Mapping) else None
    if not isinstance(step, int) or isinstance(step, bool):
        found = "missing" if state is None else _shown(state, 100)
        raise OrderError(f"loader state is {found}, expected a mapping with a whole step; restore the checkpoint's own")
    expected = state_dict(order, steps, snapshot_id, step)
    for name, value in expected.items():
        found = state.get(name)
        if type(found) is not type(value) or found != value:
            raise OrderError(
                f"loader state: {name} is {_shown(found)}, expected {_shown(value)}; "
                "restore it with the snapshot, seed, mixtures and batches it was saved under"
            )
    if foreign := sorted(shown_key(name) for name in state if name not in expected):
        raise OrderError(f"loader state: {', '.join(foreign):.200} does not belong there; restore the checkpoint's own")
    return step


def _shown(value: Any, size: int = 200) -> str:
    """A value in a message, whatever a foreign state holds."""
    try:
        return f"{value!r:.{size}}"
    except (RecursionError, ValueError):  # nested too deeply; a number of thousands of digits
        return f"a {type(value).__name__} that cannot be shown"
