"""What of a url's query is refused is masked, too: one list would not do, and two must not part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import secret_fields

WORDS = ("sas", "sig", "token", "iz", "author", "ize", "key", "api", "_", "-", "code", "x", "session", "jwt", "word")


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
def test_whatever_is_a_credential_is_masked(words):
    name = "".join(words)
    assert secret_fields.is_masked(name) or not secret_fields.is_credential(name)


@pytest.mark.parametrize("name", ["country_code", "session", "author", "keyword", "policy"])
def test_a_field_may_be_masked_and_yet_part_of_an_address(name):
    assert secret_fields.is_masked(name)
    assert not secret_fields.is_credential(name)


def test_a_storage_signature_is_masked_under_its_short_name():
    assert secret_fields.is_masked("sas")
