"""The order: every row once an epoch through any change, computed at any position, and back."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.errors import OrderError
from formats.order.leg import FOREVER
from formats.order.mixture import BLOCK, Mixture
from formats.order.order import Bucket, Order
from formats.order.state import witness
from tests.formats.order.made_orders import LAST_CHANGE, WEIGHTS, huge, orders, worked_example


def served(order):
    """(bucket, row) at every position."""
    return list(zip(*(column.tolist() for column in order.locate(np.arange(order.end))), strict=True))


@settings(max_examples=150)
@given(orders())
def test_every_row_is_served_once_a_bucket_epoch(order):
    if order.end <= LAST_CHANGE:  # every bucket of an early mixture was used up
        return
    caps = order.mixtures[0].max_epochs
    rows = {(b, row): caps[name] for b, name in enumerate(order.names) for row in range(order.rows[b])}
    assert Counter(served(order)) == rows
    (bucket, row), (_, streamed) = order.locate(np.arange(order.end)), order.streams(np.arange(order.end))
    for b, n in enumerate(order.rows):
        for epoch in range(caps[order.names[b]]):
            assert sorted(row[(bucket == b) & (streamed // n == epoch)].tolist()) == list(range(n))


@settings(max_examples=100)
@given(orders())
def test_the_closed_form_is_a_walk_over_lists_of_unread_rows(order):
    end = order.end
    bucket, streamed = order.streams(np.arange(end))
    assert list(zip(bucket.tolist(), streamed.tolist(), strict=True)) == list(walk(order, end))


def walk(order, end):
    """Each round every lane takes the next `run` unread rows of its bucket; what a leg leaves unread goes back."""
    caps = order.mixtures[0].max_epochs
    unread = [list(range(int(n) * caps[name])) for n, name in zip(order.rows, order.names, strict=True)]
    for leg in order.legs:
        left = leg.length
        for rounds in range(leg.length // (leg.run * leg.lanes) + 1):
            place = leg._place(np.full(leg.lanes, rounds), np.arange(leg.lanes))
            lanes = [None] * leg.lanes
            for lane in np.argsort(place).tolist():
                b = int(leg.table.bucket[(rounds * leg.lanes + int(place[lane])) % BLOCK])
                lanes[lane] = (b, unread[b][: leg.run])
                unread[b] = unread[b][leg.run :]
            for _, (b, rows) in itertools.islice(itertools.product(range(leg.run), lanes), left):
                yield b, rows.pop(0)
                left -= 1
            for b, rows in lanes:
                unread[b] = sorted(unread[b] + rows)
    assert end <= LAST_CHANGE or not any(unread)


@settings(max_examples=60)
@given(orders(), st.data())
def test_the_way_back_finds_every_position_that_served_a_row(order, data):
    bucket, row = order.locate(np.arange(order.end))
    at = data.draw(st.integers(0, order.end - 1))
    until = data.draw(st.integers(0, order.end))
    same = np.flatnonzero((bucket == bucket[at]) & (row == row[at]))
    assert order.find(order.names[bucket[at]], int(row[at]), until) == same[same < until].tolist()


@settings(max_examples=60)
@given(orders(), st.integers(1, 90), st.sampled_from(WEIGHTS), st.integers(1, 9))
def test_a_change_declared_later_leaves_the_past_alone(order, position, weights, lanes):
    caps = order.mixtures[0].max_epochs
    past = [mixture for mixture in order.mixtures if mixture.position < position]
    changed = Order(order.buckets, order.seed, [*past, Mixture(position, weights, lanes, 4, caps)], chunk=order.chunk)
    assert served(order)[:position] == served(changed)[:position]
    assert max(Counter(served(changed)).values()) <= max(caps.values())


@settings(max_examples=60)
@given(orders(capped=False), st.lists(st.integers(0, 10**12), max_size=30))
def test_positions_in_any_order_give_what_each_gives_alone(order, positions):
    alone = [tuple(int(column[0]) for column in order.locate([position])) for position in positions]
    assert list(zip(*(column.tolist() for column in order.locate(positions)), strict=True)) == alone


@settings(max_examples=60)
@given(orders(), st.integers(1, 9), st.integers(0, 60))
def test_what_is_asked_once_for_a_stretch_is_what_each_position_gives(order, every, start):
    """Ranks ask for every W-th position; stretches end with epochs, carry, chunks and shards."""
    positions = np.arange(min(start, order.end), order.end, every)
    bucket, streamed = order.streams(positions)
    row = np.concatenate([order._streams.rows_at(*one)[0] for one in pairs(bucket, streamed)] or [bucket])
    assert [column.tolist() for column in order.locate(positions)] == [bucket.tolist(), row.tolist()]
    alone = [tuple(int(column[0]) for column in order.shards([position])) for position in positions.tolist()]
    assert list(zip(*(column.tolist() for column in order.shards(positions)), strict=True)) == alone


def pairs(*columns):
    return zip(*(np.split(column, len(column)) for column in columns), strict=True) if len(columns[0]) else ()


@pytest.mark.parametrize("run", [64, 192, 16, 96])
def test_stretches_are_shared_in_epochs_of_whole_and_of_cut_chunks(run):
    """Rows of many epochs of buckets that are no multiple of the chunk: whole stretches are many, cut ones some."""
    buckets = [Bucket("a", (500, 0, 777, 900)), Bucket("b", (1000,))]
    order = Order(buckets, 5, [Mixture(0, {"a": 2, "b": 1}, 7, run), Mixture(4001, {"a": 1, "b": 1}, 5, run)], chunk=64)
    positions = np.arange(12_000)
    alone = np.random.default_rng(3).permutation(np.concatenate([positions, positions + 10**9]))
    for ask in (order.locate, order.shards):
        number, row = ask(positions)
        apart, apart_row = (np.concatenate(part) for part in zip(*(ask([p]) for p in alone[:500]), strict=True))
        near = alone[:500] < 12_000
        assert (number[alone[:500][near]] == apart[near]).all()
        assert (row[alone[:500][near]] == apart_row[near]).all()


@settings(max_examples=40)
@given(orders())
def test_a_row_of_a_bucket_is_a_row_of_a_shard(order):
    positions = np.arange(order.end)
    shard, row = order.shards(positions)
    sizes = [rows for bucket in order.buckets for rows in bucket.shard_rows]
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    bucket, row_of_bucket = order.locate(positions)
    bucket_firsts = np.concatenate([[0], np.cumsum(order.rows)])
    assert (firsts[shard] + row == bucket_firsts[bucket] + row_of_bucket).all()
    assert (row < np.array(sizes)[shard]).all()


def test_stop_ends_with_the_last_row_of_the_first_bucket_used_up():
    buckets = [Bucket("a", (1000,)), Bucket("b", (90, 7))]
    order = Order(buckets, 1, [Mixture(0, {"a": 1, "b": 1}, 8, 16, {"b": "3/2"}, "stop")], chunk=16)
    rows = served(order)
    of_b = Counter(row for b, row in rows if b == 1)
    assert of_b.total() == 145
    assert abs(len(rows) - 2 * 145) <= 1
    assert set(of_b.values()) == {1, 2}


def test_a_bucket_of_one_row_is_repeated_for_ever():
    order = Order([Bucket("a", (1,)), Bucket("b", (5,))], 1, [Mixture(0, {"a": 1, "b": 9}, 4)])
    bucket, row = order.locate(np.arange(10**12, 10**12 + 50_000))
    assert order.end == FOREVER
    assert 0 < (bucket == 0).sum() < 10_000
    assert not row[bucket == 0].any()


def test_far_positions_are_served_and_found():
    order = huge(max_epochs={"bucket-23": 2, "bucket-00": 1})
    positions = np.random.default_rng(1).integers(0, 4 * 10**9, 300)
    bucket, row = order.locate(positions)
    assert (row < order.rows[bucket]).all()
    for position, b, r in zip(positions[:20].tolist(), bucket.tolist(), row.tolist(), strict=False):
        assert position in order.find(order.names[b], r, 4 * 10**9)


def test_the_worked_example_is_as_the_page_tells_it():
    """Remade only with a new version: saved checkpoints stand on it."""
    order = worked_example()
    shard, row = order.shards([0, 1, 2, 3, 4, 1000, 1001, 10**6])
    expected = [(1, 19), (2, 739), (2, 1952), (3, 168), (1, 20), (1, 229), (0, 634), (2, 1660)]
    assert list(zip(shard.tolist(), row.tolist(), strict=True)) == expected
    assert witness(order, 123_456) == "da14bca2bacb4569"
    assert order.legs[0].table.units.tolist() == [16384, 49152]
    assert [order.names[b] for b in order.legs[0].table.bucket[:4]] == ["web", "web", "books", "web"]
    supply = order.legs[0].close(1001)
    assert supply.fresh.tolist() == [251, 762]
    assert [stretches.tolist() for stretches in supply.carry] == [[], [[746, 752], [754, 760]]]
    assert order.find("books", 634, 10_000) == [1001, 3926, 4993, 6907, 9214]


def test_ranks_do_not_meet_on_a_shard():
    shard, _ = huge().shards(np.arange(1024))
    assert np.bincount(shard).max() <= 6  # as thrown at random on 10,000 shards


@pytest.mark.parametrize("request_", [[-1], [30], [0, 29, 10**9]])
def test_positions_that_do_not_exist_are_refused(request_):
    order = Order([Bucket("a", (10,))], 1, [Mixture(0, {"a": 1}, 2, 2, {"a": 3})])
    with pytest.raises(OrderError, match="0 to 29"):
        order.locate(request_)


@pytest.mark.parametrize(("name", "row"), [("z", 0), ("a", 10), ("a", -1)])
def test_rows_that_do_not_exist_are_not_looked_for(name, row):
    order = Order([Bucket("a", (10,))], 1, [Mixture(0, {"a": 1})])
    with pytest.raises(OrderError, match="no such row"):
        order.find(name, row, 100)
