"""Global batches and ranks' shares: the batch does not depend on the number of ranks."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.errors import OrderError
from formats.order.steps import Steps
from tests.formats.order.made_orders import WORLDS, huge


@given(st.sampled_from(WORLDS), st.integers(1, 4096), st.integers(0, 10**9))
def test_ranks_share_a_batch_without_gap_or_overlap(world, size, step):
    steps = Steps(((0, size),))
    shares = [steps.of_rank(step, rank, world, uneven=True) for rank in range(world)]
    assert sorted(np.concatenate(shares).tolist()) == list(range(step * size, (step + 1) * size))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_shares_of_different_sizes_are_refused_unless_asked_for():
    with pytest.raises(OrderError, match="multiple of 896"):
        Steps(((0, 1024),)).of_rank(0, 0, 896)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9)), min_size=1, max_size=5), st.integers(0, 300))
def test_batches_follow_each_other_through_every_change_of_size(changes, num_steps):
    first, batches = 0, []
    for length, size in changes:
        batches.append((first, size))
        first += length
    steps = Steps(tuple(batches))
    stop = 0
    for step in range(num_steps):
        start, after = steps.bounds(step)
        assert start == stop
        assert after - start == [size for first, size in batches if first <= step][-1]
        assert steps.step_at(start) == steps.step_at(after - 1) == step
        stop = after


def test_training_stops_at_the_sequence_asked_for():
    steps = Steps(((0, 1000), (5, 300)), end=5_450)
    assert [steps.bounds(t) for t in (0, 4, 5, 6, 7)] == [
        (0, 1000), (4000, 5000), (5000, 5300), (5300, 5450), (5450, 5450),
    ]  # fmt: skip


@pytest.mark.parametrize("batches", [(), ((1, 4),), ((0, 0),), ((0, 4), (0, 5)), ((0, 4), (3, 4), (2, 4))])
def test_a_schedule_that_is_none_is_refused(batches):
    with pytest.raises(OrderError):
        Steps(batches)


@pytest.mark.parametrize(
    ("batches", "says"),
    [
        (
            ((0, (1 << 24) + 1),),
            r"batches\[0\]: expected the first step and a global batch of 1 to 16777216, found 0, 16777217",
        ),
        (((0, 8), (1 << 62, 4)), r"batches\[1\]"),
        (((0, 8.0),), "global batch is 8.0, expected a whole number"),
        (((0, True),), "global batch is true"),
        (((0, "8"),), "global batch is '8'"),
        (((0.0, 8),), "first step is 0.0"),
    ],
)
def test_a_schedule_that_a_state_cannot_hold_is_refused_by_name(batches, says):
    with pytest.raises(OrderError, match=says):
        Steps(batches)


@pytest.mark.parametrize("end", [-1, 5.0, "5", None, True])
def test_an_end_that_is_none_is_refused(end):
    with pytest.raises(OrderError, match="end is"):
        Steps(((0, 8),), end)


def test_numbers_of_numpy_make_the_schedule_of_the_same_numbers():
    steps = Steps(((np.int64(0), np.int32(8)), (np.uint16(5), np.int64(4))), np.int64(50))
    assert steps == Steps(((0, 8), (5, 4)), 50)
    assert [type(n) for entry in steps.batches for n in entry] == [int] * 4
    assert type(steps.end) is int


@pytest.mark.parametrize(("step", "rank", "world"), [(-1, 0, 1), (0, 1, 1), (0, -1, 2), (0, 0, 0)])
def test_a_share_that_is_none_is_refused(step, rank, world):
    with pytest.raises(OrderError):
        Steps(((0, 8),)).of_rank(step, rank, world)


def test_a_rank_stays_on_its_lanes_and_reads_runs():
    order, steps = huge(), Steps(((0, 2048),))
    for world in (8, 256, 1024):
        mine = np.concatenate([steps.of_rank(step, 5, world) for step in range(512)])
        assert set((mine % 1024 % world).tolist()) == {5}
        shard, row = order.shards(mine)
        by_lane = np.lexsort((mine, mine % 1024))
        jumps = (np.diff(shard[by_lane]) != 0) | (np.diff(row[by_lane]) != 1)
        assert jumps.sum() <= 2.05 * 2 * (1024 // world)  # two rounds a lane; a chunk crosses a shard now and then


def test_threads_compute_what_one_computes():
    order, steps = huge(), Steps(((0, 1024),))
    shares = [steps.of_rank(step, 3, 7, uneven=True) for step in range(40)]
    with ThreadPoolExecutor(5) as pool:
        many = list(pool.map(huge().locate, shares))
    for (bucket, row), share in zip(many, shares, strict=True):
        alone = order.locate(share)
        assert (bucket == alone[0]).all()
        assert (row == alone[1]).all()
