"""Checkpoint states: any chain of resumes serves what an uninterrupted run serves; foreign states are refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.errors import OrderError
from formats.order.mixture import Mixture
from formats.order.order import Order
from formats.order.state import load_state_dict, state_dict
from formats.order.steps import Steps
from tests.formats.order.made_orders import WORLDS, huge, orders, worked_example

SNAPSHOT = "sha256:ab12"
runs = st.lists(st.tuples(st.integers(1, 6), st.sampled_from(WORLDS), st.integers(1, 33)), min_size=2, max_size=6)


@settings(max_examples=25)
@given(orders(capped=False), runs)
def test_any_chain_of_resumes_serves_the_same(order, runs):
    """Each run is a new process with its own number of ranks and global batch, and saves after every step."""
    batches, served, saved, step = (), [], None, 0
    for num_steps, world, size in runs:
        batches = (*batches, (step, size))
        steps = Steps(batches)
        again = Order(order.buckets, order.seed, order.mixtures, chunk=order.chunk)
        if saved is not None:
            assert load_state_dict(json.loads(saved), again, steps, SNAPSHOT) == step
        for _ in range(num_steps):
            shares = [steps.of_rank(step, rank, world, uneven=True) for rank in range(world)]
            batch = np.empty(sum(map(len, shares)), np.int64)
            for rank, share in enumerate(shares):
                batch[rank::world] = share
            served += zip(*(column.tolist() for column in again.locate(batch)), strict=True)
            step += 1
            saved = json.dumps(state_dict(again, steps, SNAPSHOT, step))
    whole = order.locate(np.arange(len(served)))
    assert served == list(zip(*(column.tolist() for column in whole), strict=True))


def test_a_state_is_small_and_each_of_its_fields_is_held():
    order, steps = huge(), Steps(((0, 1024), (9, 896)))
    state = state_dict(order, steps, SNAPSHOT, 70)
    assert len(json.dumps(state)) < 2048
    assert state["position"] == 9 * 1024 + 61 * 896
    assert load_state_dict(state, order, steps, SNAPSHOT) == 70
    for name in state:
        without = {key: value for key, value in state.items() if key != name}
        for bad in ({**state, name: "other"}, {**state, name: None}, without):
            with pytest.raises(OrderError, match=name):
                load_state_dict(bad, order, steps, SNAPSHOT)


@pytest.mark.parametrize("bad", [None, {}, [], "state", {"step": -1}, {"step": 2.5}, {"step": True}, {"step": 2**70}])
def test_what_is_no_state_is_refused(bad):
    with pytest.raises(OrderError):
        load_state_dict(bad, worked_example(), Steps(((0, 4),)), SNAPSHOT)


@pytest.mark.parametrize(("field", "run"), [
    ("snapshot_id", lambda order, steps: (order, steps, "sha256:other")),
    ("seed", lambda order, steps: (Order(order.buckets, 8, order.mixtures, chunk=8), steps, SNAPSHOT)),
    ("chunk", lambda order, steps: (Order(order.buckets, 7, order.mixtures, chunk=16), steps, SNAPSHOT)),
    ("batches", lambda order, _: (order, Steps(((0, 4), (251, 6))), SNAPSHOT)),
    ("mixtures", lambda order, steps: (Order(order.buckets, 7, order.mixtures[:1], chunk=8), steps, SNAPSHOT)),
    ("witness", lambda order, steps: (Order([*order.buckets[:1], type(order.buckets[1])("web", (3502,))], 7,
                                            order.mixtures, chunk=8), steps, SNAPSHOT)),
])  # fmt: skip
def test_another_run_is_named_by_the_field_that_differs(field, run):
    order, steps = worked_example(), Steps(((0, 4), (250, 6)))
    state = state_dict(order, steps, SNAPSHOT, 260)
    with pytest.raises(OrderError, match=f"loader state: {field} is"):
        load_state_dict(state, *run(order, steps))


def test_the_future_may_be_changed_and_the_past_may_not():
    order, steps = huge(), Steps(((0, 1024),))
    state = state_dict(order, steps, SNAPSHOT, 100)
    later = [*order.mixtures, Mixture(100 * 1024, {"bucket-00": 1}, 896)]
    earlier = [*order.mixtures, Mixture(99 * 1024, {"bucket-00": 1}, 896)]
    assert load_state_dict(state, Order(order.buckets, 11, later), Steps(((0, 1024), (100, 896))), SNAPSHOT) == 100
    with pytest.raises(OrderError, match="mixtures"):
        load_state_dict(state, Order(order.buckets, 11, earlier), steps, SNAPSHOT)


def test_the_state_of_the_worked_example_is_the_one_of_the_page():
    state = state_dict(worked_example(), Steps(((0, 4), (250, 6))), SNAPSHOT, 260)
    assert (state["position"], state["witness"]) == (1060, "6414111e239fb710")


def test_a_state_is_saved_up_to_the_last_position_that_a_reader_takes():
    order, steps = worked_example(), Steps(((0, 1),))
    assert state_dict(order, steps, "sha256:ab12", 2**53 - 1)["position"] == 2**53 - 1
    with pytest.raises(OrderError, match="step: expected a whole number"):
        state_dict(order, steps, "sha256:ab12", 2**53)


def test_a_state_of_numbers_of_numpy_is_that_of_the_same_numbers():
    buckets, of_numpy = worked_example().buckets, Mixture(np.int64(0), {"web": np.float64(0.5), "books": np.int8(1)})
    order = Order(buckets, np.uint64(7), [of_numpy], chunk=np.int64(8))
    twin = Order(buckets, 7, [Mixture(0, {"web": 0.5, "books": 1})], chunk=8)
    state = state_dict(order, Steps(((0, np.int64(4)),)), "sha256:ab12", 5)
    assert json.dumps(state) == json.dumps(state_dict(twin, Steps(((0, 4),)), "sha256:ab12", 5))
