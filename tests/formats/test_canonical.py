"""Canonical JSON: one byte form of a value."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import canonical

scalars = st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text("abé\U0001f600", max_size=3), v)
)


@given(values)
def test_a_value_comes_back_and_has_one_form(value):
    data = canonical.to_bytes(value)
    assert json.loads(data) == value
    assert canonical.to_bytes(json.loads(data)) == data


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), st.integers(), max_size=6),
    st.randoms(),
)
def test_the_order_of_keys_never_shows(value, order):
    items = list(value.items())
    order.shuffle(items)
    assert canonical.digest(dict(items)) == canonical.digest(value)


def test_bytes_and_digest_are_fixed():
    value = {"é": [1, True, None, "\u2028"], "b": {"z": "\n", "a": 0.8}, "\U0001f600": "", "\uffff": 2}
    data = '{"b":{"a":0.8,"z":"\\n"},"é":[1,true,null,"\u2028"],"\uffff":2,"\U0001f600":""}'.encode()
    assert canonical.to_bytes(value) == data
    assert canonical.digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [-float("inf")], "\ud800", {"\udfff": 1}])
def test_what_json_cannot_hold_is_a_value_error(value):
    with pytest.raises(ValueError):
        canonical.to_bytes(value)


@pytest.mark.parametrize("value", [b"x", {1, 2}, object()])
def test_what_is_no_json_is_a_type_error(value):
    with pytest.raises(TypeError):
        canonical.to_bytes(value)
