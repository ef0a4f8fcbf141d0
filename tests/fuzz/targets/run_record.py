"""Run records and bare loader states, however a trainer saved them, up to the order that they name."""

import json
from pathlib import Path

import numpy as np

from formats import run_record
from formats.order.saved_order import saved_order
from formats.order.state import state_dict
from formats.order.steps import Steps
from tests.formats.order.made_orders import worked_example

IS_JSON = True
ORDER, STEPS, SNAPSHOT = worked_example(), Steps(((0, 4), (10, 8)), 400), "sha256:" + "a" * 64


def seeds() -> list[bytes]:
    states = [state_dict(ORDER, STEPS, SNAPSHOT, step) for step in (0, 7, 30, 55)]
    first = run_record.begin(states[1], dp_world=2, before=run_record.begin(states[0], dp_world=4))
    return [*(json.dumps(state).encode() for state in states), run_record.to_bytes(first.at(states[2]))]


def run(data: bytes, folder: Path) -> None:
    (folder / "run.json").write_bytes(data)
    record = run_record.read(folder / "run.json")
    saved = saved_order(record.state, SNAPSHOT, ORDER.buckets)
    end = saved.order.available(min(saved.position, 1_000))
    assert [len(column) for column in saved.order.locate(np.arange(end))] == [end, end]
    assert run_record.from_json(json.loads(run_record.to_bytes(record))) == record
