"""split_of_digests: the contract's split, a column at a time."""

import hashlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.stages.split_documents import split_of_digests
from formats.corpus_shard import split_of
from formats.errors import ConfigError

WORKED = {"Mia naps.": 248, "Tom has a red ball!": 826, "Tom has a red ball.": 697}


@pytest.mark.parametrize(("text", "permille"), WORKED.items())
def test_a_worked_number_is_val_only_above_itself(text, permille):
    digest = pa.array([hashlib.sha256(text.encode()).digest()], pa.binary(32))
    assert split_of_digests(digest, permille).to_pylist() == ["train"]
    assert split_of_digests(digest, permille + 1).to_pylist() == ["val"]


@given(st.lists(st.none() | st.binary(min_size=32, max_size=32)), st.integers(0, 1000), st.integers(0, 3))
def test_a_column_is_split_as_the_contract_splits_a_digest(digests, val_permille, skip):
    column = pa.array([bytes(32)] * skip + digests, pa.binary(32)).slice(skip)
    expected = [None if digest is None else split_of(digest, val_permille) for digest in digests]
    split = split_of_digests(column, val_permille)
    assert split.type == pa.large_string()
    assert split.to_pylist() == expected


@pytest.mark.parametrize("val_permille", [-1, 1001])
def test_a_share_outside_zero_to_a_thousand_is_refused(val_permille):
    with pytest.raises(ConfigError, match="val_permille"):
        split_of_digests(pa.array([], pa.binary(32)), val_permille)


def test_digests_of_another_type_are_refused():
    with pytest.raises(TypeError, match="binary"):
        split_of_digests(pa.array([b"short"], pa.binary()), 5)
