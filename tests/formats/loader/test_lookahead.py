"""Shards are asked for before their use, and not by all ranks at the end of a run."""

from itertools import chain, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.loader.lookahead import Lookahead
from formats.loader.share import Share
from formats.order.leg import FOREVER
from formats.order.mixture import Mixture
from formats.order.order import Bucket, Order
from formats.order.steps import Steps
from tests.formats.order.made_orders import huge


class Asked:
    """Notes what is asked for, and in which turn."""

    def __init__(self, num_shards=10**4):
        self.num_shards, self.turns = num_shards, [[]]

    def ask(self, numbers):
        self.turns[-1] += numbers

    @property
    def all(self):
        return {number for turn in self.turns for number in turn}


def walk(share, block_sizes, lead, first=0, every=1):
    """(what was asked for before each block, the blocks' sequences) in the order in which blocks are read."""
    asked, step = Asked(), first
    lookahead = Lookahead(share, asked, first, every, lead)
    for size in block_sizes:
        steps = range(step, step + every * size, every)
        located = lookahead.take(steps)
        lookahead.reach(steps.stop)
        yield asked, located
        asked.turns.append([])
        step = steps.stop


@settings(max_examples=12)
@given(
    st.integers(1, 20), st.integers(0, 300), st.integers(1, 3), st.lists(st.integers(1, 5), min_size=1, max_size=9),
    st.integers(0, 3),
)  # fmt: skip
def test_what_is_taken_is_what_the_order_says(lead, first, every, block_sizes, rank):
    order, steps = huge(lanes=8, run=8), Steps(((0, 8),))
    share = Share(order, steps, rank, 4, False)
    for _, located in walk(share, block_sizes, lead, first, every):
        positions = np.concatenate([steps.of_rank(step, rank, 4) for step in located.steps])
        shard, row = order.shards(positions)
        assert located.positions.tolist() == positions.tolist()
        assert (located.shard.tolist(), located.row.tolist()) == (shard.tolist(), row.tolist())
        assert located.ends.tolist() == list(range(2, 2 * len(located.steps) + 1, 2))


@settings(max_examples=12)
@given(st.integers(1, 20), st.integers(0, 100), st.lists(st.integers(1, 5), min_size=20, max_size=40))
def test_every_shard_is_asked_for_at_least_the_lead_before_its_use(lead, first, block_sizes):
    share = Share(huge(lanes=8, run=8), Steps(((0, 8),)), 1, 2, False)
    asked_before = {}
    for asked, located in walk(share, block_sizes, lead, first):
        for number in asked.all:
            asked_before.setdefault(number, located.steps.start)
        for step in located.steps:
            for number in share.order.shards(share.positions(range(step, step + 1))[0])[0].tolist():
                assert asked_before[number] <= max(first, step - lead + len(located.steps))


def test_ranks_do_not_ask_for_all_their_shards_at_the_end_of_a_run():
    """All lanes of all ranks change runs at the same step; what they begin to open at one step is a small part."""
    run, lead, world = 64, 32, 8
    shares = [Share(huge(lanes=32, run=run), Steps(((0, 32),)), rank, world, False) for rank in range(world)]
    begun = np.zeros(6 * run, int)
    for share in shares:
        *_, (asked, _) = walk(share, [1] * (6 * run), lead)
        begun += [len(turn) for turn in asked.turns[: 6 * run]]
    later = begun[run:]  # at the start all are needed at once
    assert later.sum() > 60  # that many runs lie in a shard of their own
    assert later.max() < 32 / 3


def test_a_shard_in_use_is_not_asked_for_again():
    order = Order([Bucket("a", (10**6,))], 1, [Mixture(0, {"a": 1}, 4, 16)])
    *_, (asked, _) = walk(Share(order, Steps(((0, 4),)), 0, 1, False), [3] * 50, 8)
    assert sum(map(len, asked.turns)) == 1


def test_shares_of_several_steps_are_those_of_each_up_to_an_end_within_a_batch():
    order = Order([Bucket("a", (53,))], 1, [Mixture(0, {"a": 1}, 4, 4, {"a": 1})])
    for end in (FOREVER, 41):
        steps = Steps(((0, 6), (4, 9)), end)
        for rank, (first, last) in ((r, pair) for r in range(3) for pair in pairwise([0, 1, 4, 5, 7])):
            share = Share(order, steps, rank, 3, True)
            positions, ends = share.positions(range(first, last))
            parts = [share.positions(range(step, step + 1))[0].tolist() for step in range(first, last)]
            assert positions.tolist() == list(chain.from_iterable(parts))
            assert ends.tolist() == np.cumsum([len(part) for part in parts]).tolist()
            assert all(position < min(end, 53) for position in positions.tolist())
