"""A saved state says which order it is of; whatever is wrong with it is named and nothing is computed from it."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.errors import OrderError
from formats.order.saved_order import saved_order, snapshot_of
from formats.order.state import state_dict
from formats.order.steps import Steps
from tests.formats.order.made_orders import orders, worked_example

SNAPSHOT = "sha256:ab12"
STEPS = Steps(((0, 4), (250, 6)))


def worked_state():
    return json.loads(json.dumps(state_dict(worked_example(), STEPS, SNAPSHOT, 260)))


@settings(max_examples=25)
@given(orders(), st.integers(1, 9), st.integers(0, 40))
def test_the_order_of_a_state_is_the_one_that_it_was_saved_under(order, size, step):
    steps = Steps(((0, size),), order.available(3_000))
    step = min(step, -(-steps.end // size))  # none is served behind the end
    state = json.loads(json.dumps(state_dict(order, steps, SNAPSHOT, step)))
    saved = saved_order(state, SNAPSHOT, order.buckets)
    past = np.arange(steps.bounds(step)[0])
    assert (saved.step, saved.position) == (step, len(past))
    assert [column.tolist() for column in saved.order.locate(past)] == [c.tolist() for c in order.locate(past)]
    assert all(saved.steps.bounds(t) == steps.bounds(t) for t in range(step))
    assert [saved.is_past(t) for t in (step - 1, step)] == [True, False]


def test_a_last_batch_that_the_end_cut_is_cut_again():
    steps = Steps(((0, 4),), 10)
    state = state_dict(worked_example(), steps, SNAPSHOT, 3)
    assert state["position"] == 10
    assert saved_order(state, SNAPSHOT, worked_example().buckets).steps.bounds(2) == (8, 10)


@pytest.mark.parametrize("state", [None, [], "state", 3, {}, {"snapshot_id": 3}])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(OrderError, match="snapshot_id"):
        snapshot_of(state)


def changed(path, value):
    state = worked_state()
    *most, last = path
    inner = state
    for key in most:
        inner = inner[key]
    inner[last] = value
    return state


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (["snapshot_id"], "sha256:other", "snapshot_id"),
        (["seed"], 8, "witness"),
        (["seed"], 7.0, "seed: expected a whole number"),
        (["seed"], True, "seed: expected a whole number"),
        (["chunk"], 16, "witness"),
        (["chunk"], 0, "chunk"),
        (["step"], -1, "step"),
        (["step"], 261, "position"),
        (["position"], 1061, "position"),
        (["position"], None, "position: expected a whole number, found nothing"),
        (["witness"], "0" * 16, "witness"),
        (["version"], 2, "version"),
        (["format"], "other", "format"),
        (["batches"], [], "batches: expected a list"),
        (["batches", 0], [0], r"batches\[0\]"),
        (["batches", 0], [0, 0], r"batches\[0\]"),
        (["batches", 0], [0, 1 << 60], r"batches\[0\]"),
        (["batches", 0], [1, 4], "batches begin at steps"),
        (["mixtures"], {}, "mixtures: expected a list"),
        (["mixtures", 0], 3, r"mixtures\[0\]: expected an object"),
        (["mixtures", 0, "lanes"], 1 << 60, r"mixtures\[0\].lanes"),
        (["mixtures", 0, "lanes"], 5, "witness"),
        (["mixtures", 0, "weights", "web"], 0.5, "witness"),
        (["mixtures", 0, "weights", "web"], "1e999999999", r"mixtures\[0\].weights.web"),
        (["mixtures", 0, "weights", "web"], float("inf"), r"mixtures\[0\].weights.web"),
        (["mixtures", 0, "weights", "web"], "1/0", "mixture at 0"),
        (["mixtures", 0, "weights", "code"], 1, "bucket is code, expected one of books, web"),
        (["mixtures", 0, "max_epochs"], {"web": -1}, r"mixtures\[0\].max_epochs.web"),
        (["mixtures", 0, "when_used_up"], "wait", r"mixtures\[0\].when_used_up"),
        (["mixtures", 0, "more"], 1, r"mixtures\[0\].more: unknown"),
        (["more"], 1, "more does not belong there"),
    ],
)
def test_the_field_that_is_wrong_is_named(path, value, says):
    with pytest.raises(OrderError, match=says):
        saved_order(changed(path, value), SNAPSHOT, worked_example().buckets)


@pytest.mark.parametrize("field", sorted(worked_state()))
def test_a_field_that_is_missing_is_named(field):
    state = copy.deepcopy(worked_state())
    del state[field]
    with pytest.raises(OrderError, match=field):
        saved_order(state, SNAPSHOT, worked_example().buckets)


def test_a_cap_that_no_position_reaches_is_none():
    state = changed(["mixtures", 0, "max_epochs"], {"web": "1e60"})
    state["mixtures"][1]["max_epochs"] = {"web": 1 << 61}
    assert saved_order(state, SNAPSHOT, worked_example().buckets).position == 1060
