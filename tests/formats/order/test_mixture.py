"""Mixtures: exact shares at every prefix, none starved."""

import heapq
import json
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.errors import OrderError
from formats.order.mixture import BLOCK, Mixture, mixture_table, units_of
from formats.order.order import Bucket, Order
from tests.formats.order.made_orders import LAST_CHANGE, huge, orders


@settings(max_examples=15)
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40), st.integers(0, 3))
def test_every_prefix_is_within_one_draw_of_what_is_due(weights, num_zeros):
    units = units_of([Fraction(weight) for weight in weights + [0] * num_zeros])
    table = mixture_table(units)
    assert sum(units) == BLOCK
    assert min(units[: len(weights)]) >= 1
    assert not any(units[len(weights) :])
    draws = np.arange(1, BLOCK + 1)
    for b in range(len(weights)):
        ahead = np.cumsum(table.bucket == b) * BLOCK - draws * units[b]
        assert np.abs(ahead).max() < BLOCK
        assert ahead[-1] == 0
        assert table.nth[table.slots[b]].tolist() == list(range(units[b]))


@settings(max_examples=8)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=40).filter(any))
def test_the_table_is_the_one_that_a_walk_over_open_draws_makes(weights):
    units = units_of([Fraction(weight) for weight in weights])
    assert mixture_table(units).bucket.tolist() == walk_over_open_draws(units)


def walk_over_open_draws(units):
    """Slot after slot the open draw of the least deadline, then of the lower bucket."""
    opening = [[] for _ in range(BLOCK + 1)]
    for b, u in enumerate(units):
        for i in range(u):
            opening[i * BLOCK // u].append((-(-(i + 1) * BLOCK // u), b))
    is_open, order = [], []
    for draws in opening[:BLOCK]:
        for draw in draws:
            heapq.heappush(is_open, draw)
        order.append(heapq.heappop(is_open)[1])
    return order


@settings(max_examples=15)
@given(orders(capped=False))
def test_a_bucket_is_within_one_draw_of_its_due_at_every_prefix_of_every_leg(order):
    """Of the units of the leg, whatever legs were before."""
    order.locate([LAST_CHANGE + 10**6])
    for leg in order.legs:
        draws = np.arange(min(2 * BLOCK, -(-leg.length // leg.run)))
        bucket, before = leg._draws(draws)
        for b, units in enumerate(leg.table.units.tolist()):
            had = np.concatenate([[0], np.cumsum(bucket == b)])
            assert np.abs(had[:-1] * BLOCK - draws * units).max() < BLOCK
            assert (before[bucket == b] == had[:-1][bucket == b]).all()


def test_a_small_weight_is_never_starved():
    units = units_of([Fraction("1e-9"), Fraction(1, 1000), Fraction("0.998999999")])
    assert units[0] == 1
    assert units[1] in (65, 66)
    for b in (0, 1):
        slots = mixture_table(units).slots[b]
        assert np.diff([*slots, slots[0] + BLOCK]).max() < 2 * BLOCK / units[b]


def test_rounding_is_by_largest_remainder_and_ties_go_to_the_first():
    assert units_of([Fraction(1)] * 3) == (21846, 21845, 21845)
    assert units_of([Fraction(0), Fraction(5)]) == (0, BLOCK)
    assert sum(units_of([Fraction(1, 10**12)] * 100 + [Fraction(1)])) == BLOCK


def test_the_mixture_of_a_batch_and_of_a_whole_training_is_the_one_asked_for():
    order = huge()
    weights = np.arange(1, 25) / 300
    for start in (0, 10**9):
        bucket, _ = order.streams(np.arange(start, start + 1024))
        assert np.abs(np.bincount(bucket, minlength=24) - 1024 * weights).max() < 2 + 1024 * 24 / BLOCK
    sequences = 512 * 1024 * 7000
    fresh = order.legs[0].close(sequences).fresh
    assert np.abs(fresh - sequences * order.legs[0].table.units / BLOCK).max() < 512


@pytest.mark.parametrize(("mixtures", "says"), [
    ([], "positions|begin"),
    ([Mixture(5, {"a": 1})], "the first 0"),
    ([Mixture(0, {"a": 1}), Mixture(0, {"b": 1})], "different positions"),
    ([Mixture(0, {"z": 1})], "bucket is z"),
    ([Mixture(0, {"a": 1}, max_epochs={"z": 1})], "bucket is z"),
    ([Mixture(0, {})], "one above 0"),
    ([Mixture(0, {"a": 0})], "one above 0"),
    ([Mixture(0, {"a": -1, "b": 2})], "none below 0"),
    ([Mixture(0, {"a": float("nan")})], "finite"),
    ([Mixture(0, {"a": "1/0"})], "fraction"),
    ([Mixture(0, {"a": "1e999999999"})], "at most 20 digits"),
    ([Mixture(0, {"a": 1 << 62})], r"weights\.a: expected a finite number"),
    ([Mixture(0, {"a": True})], "found true"),
    ([Mixture(0, {"a": Fraction(1, 3**60)})], "at most 20 digits"),
    ([Mixture(0, {"a": 1, 2: 1})], "names of buckets, found 2"),
    ([Mixture(0, ["a"])], "weights: expected an object of numbers by bucket, found a list"),
    ([Mixture(0, {"a": 1}, max_epochs=2)], "max_epochs: expected an object of numbers by bucket, found 2"),
    ([Mixture(0, {"a": 1}, lanes=(1 << 24) + 1)], "lanes: expected a whole number from 1 to 16777216"),
    ([Mixture(0, {"a": 1}), Mixture(1 << 60, {"a": 1})], "position: expected a whole number"),
    ([Mixture(0, {"a": 1}, lanes=0)], "lanes"),
    ([Mixture(0, {"a": 1}, run=0)], "run"),
    ([Mixture(0, {"a": 1}, max_epochs={"a": -1})], "max_epochs"),
    ([Mixture(0, {"a": 1}, when_used_up="guess")], "expected one of renormalize, stop"),
    ([Mixture(0, {"a": 1}, 1, max_epochs={"a": 2}), Mixture(15, {"a": 1}, 1, max_epochs={"a": 1})], "has served"),
])  # fmt: skip
def test_a_bad_mixture_is_refused(mixtures, says):
    with pytest.raises(OrderError, match=says):
        _ = Order([Bucket("a", (10,)), Bucket("b", (10,))], 1, mixtures).end


@pytest.mark.parametrize("wrong", [{"lanes": 4.0}, {"run": "8"}, {"position": True}, {"lanes": None}])
def test_a_number_of_a_mixture_that_is_not_whole_is_refused_by_name(wrong):
    with pytest.raises(OrderError, match=f"{next(iter(wrong))} of a mixture is .*, expected a whole number"):
        Mixture(**{"position": 0, "weights": {"a": 1}, **wrong})


@pytest.mark.parametrize(("given", "saved"), [
    (Fraction(1, 3), "1/3"), (Fraction(4, 2), "2"), (Decimal("0.1"), "0.1"), (np.float32(0.1), 0.10000000149011612),
    (np.float16(0.5), 0.5), (np.float64(0.1), 0.1), (np.longdouble(0.5), 0.5), (np.int64(3), 3),
    (np.str_("2/7"), "2/7"),
])  # fmt: skip
def test_a_weight_is_saved_exactly_in_a_type_of_json(given, saved):
    mixture = Mixture(np.int64(0), MappingProxyType({"a": given, "b": 1}), np.int32(4), np.uint8(2), {"a": given})
    found = mixture.as_json()
    assert found == {"position": 0, "weights": {"a": saved, "b": 1}, "lanes": 4, "run": 2, "max_epochs": {"a": saved},
                     "when_used_up": "renormalize"}  # fmt: skip
    assert json.loads(json.dumps(found)) == found
    assert type(found["weights"]["a"]) is type(saved)
    assert [type(found[name]) for name in ("position", "lanes", "run")] == [int] * 3
    exactly = Fraction(float(given)) if isinstance(given, np.floating) else Fraction(given)
    assert Fraction(found["weights"]["a"]) == exactly
    Order([Bucket("a", (10,)), Bucket("b", (10,))], 1, [mixture])


def test_a_weight_that_no_float_holds_is_refused():
    third = np.longdouble(1) / 3
    if float(third) == third:
        pytest.skip("longdouble is a double here")
    with pytest.raises(OrderError, match=r"weights\.a: expected a finite number"):
        Order([Bucket("a", (10,))], 1, [Mixture(0, {"a": third})])


@pytest.mark.parametrize("change", [{"seed": "x"}, {"seed": 7.5}, {"seed": True}, {"seed": None}, {"seed": 1 << 128},
                                    {"chunk": "8"}, {"chunk": 0}, {"chunk": 8.0}, {"chunk": 1 << 53}])  # fmt: skip
def test_a_seed_or_chunk_that_a_state_cannot_hold_is_refused_by_name(change):
    with pytest.raises(OrderError, match=f"{next(iter(change))}.*expected a whole number"):
        Order([Bucket("a", (10,))], **{"seed": 1, "mixtures": [Mixture(0, {"a": 1})], **change})


@pytest.mark.parametrize("buckets", [[], [Bucket("a", ())], [Bucket("a", (0,))], [Bucket("a", (1,)), Bucket("a", (2,))],
                                     [Bucket("a", (3, -1))]])  # fmt: skip
def test_bad_buckets_are_refused(buckets):
    with pytest.raises(OrderError):
        Order(buckets, 1, [Mixture(0, {"a": 1})])
