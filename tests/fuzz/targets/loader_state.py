"""The loader's state in a model checkpoint, as JSON."""

import json
from pathlib import Path

from formats.order.state import load_state_dict, state_dict
from formats.order.steps import Steps
from tests.formats.order.made_orders import worked_example

IS_JSON = True
ORDER, STEPS, SNAPSHOT = worked_example(), Steps(((0, 4), (10, 8)), 400), "sha256:" + "a" * 64


def seeds() -> list[bytes]:
    return [json.dumps(state_dict(ORDER, STEPS, SNAPSHOT, step)).encode() for step in (0, 7, 30)]


def run(data: bytes, folder: Path) -> None:
    del folder
    try:
        state = json.loads(data)
    except (ValueError, RecursionError):
        return
    step = load_state_dict(state, ORDER, STEPS, SNAPSHOT)
    assert state == state_dict(ORDER, STEPS, SNAPSHOT, step)
