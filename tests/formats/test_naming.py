"""Names and keys: every key has exactly one reading, and no name can leave its folder."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.errors import ConfigError
from formats.naming import MAX_LENGTH, RESERVED, PairKey, VersionKey, check_name

names = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True).filter(lambda name: name not in RESERVED)


@given(names, names, names)
def test_a_key_is_read_as_it_was_made(source, dataset, version):
    key = PairKey(source, VersionKey(dataset, version))
    assert PairKey.parse(str(key)) == key
    assert VersionKey.parse(str(key.version)) == key.version


@given(st.text(max_size=12) | names)
def test_a_name_is_accepted_exactly_when_it_is_one(text):
    if re.fullmatch("[a-z0-9][a-z0-9_-]*", text) and text.isascii():
        assert check_name("version", text) == text
    else:
        with pytest.raises(ConfigError, match="not a name"):
            check_name("version", text)


NO_NAMES = ["", "-a", "_a", "a.b", "a b", "a/b", "..", "a,b", "a|b", "a@b", "a:b", "A", "ü", "a\n", "a\0", "٣", "ａ"]


@pytest.mark.parametrize("name", [*NO_NAMES, "a" * (MAX_LENGTH + 1), None, 7])
def test_bad_name_is_refused(name):
    for kind in ("source", "dataset", "version"):
        with pytest.raises(ConfigError, match=f"{kind} .*is not a name"):
            check_name(kind, name)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_reserved_words_name_no_folder_beside_those_of_the_program(name):
    for kind in ("source", "dataset"):
        with pytest.raises(ConfigError, match="reserved"):
            check_name(kind, name)
    assert check_name("version", name) == name


@pytest.mark.parametrize("key", ["", "starter", ".v1", "starter.", "a.b.c", "web@starter.v1", "raw.v1", "Starter.v1"])
def test_bad_version_key_is_refused(key):
    with pytest.raises(ConfigError):
        VersionKey.parse(key)


@pytest.mark.parametrize("key", ["", "web", "starter.v1", "web@starter", "@starter.v1", "web@", "a@b@c.d", "cache@a.b"])
def test_bad_pair_key_is_refused(key):
    with pytest.raises(ConfigError):
        PairKey.parse(key)


def test_keys_sort_by_source_then_version():
    keys = [PairKey.parse(key) for key in ("web@b.v1", "books@b.v2", "web@a.v9", "books@b.v1")]
    assert [str(key) for key in sorted(keys)] == ["books@b.v1", "books@b.v2", "web@a.v9", "web@b.v1"]
