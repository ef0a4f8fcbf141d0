"""A snapshot is named by id, folder or token set; what is none of these, or not here, is told with what is here."""

import pytest

from corpus_assets.plans.named_snapshot import id_in_record, id_of, is_meant
from formats import durable
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.naming import TokensKey
from formats.run_record import RunRecord
from formats.snapshot import manifest

KEY = TokensKey.parse("tiny.v1.t16")
HERE, GONE = "a" * 64, "b" * 64


@pytest.fixture
def layout(tmp_path):
    layout = Layout(tmp_path)
    manifest.folder_of(layout.root, manifest.ID_PREFIX + HERE).mkdir(parents=True)
    layout.snapshot_lock(KEY).parent.mkdir(parents=True, exist_ok=True)
    durable.write_digest(layout.snapshot_lock(KEY), HERE)
    return layout


@pytest.mark.parametrize("name", [HERE, manifest.ID_PREFIX + HERE, str(KEY)])
def test_a_snapshot_has_three_names(layout, name):
    assert is_meant(name)
    assert id_of(layout, name) == manifest.ID_PREFIX + HERE


@pytest.mark.parametrize("name", ["tiny.v1", "tiny", "a" * 63, "A" * 64, ""])
def test_other_names_are_not_those_of_snapshots(layout, name):
    assert not is_meant(name)
    with pytest.raises(ConfigError, match=rf"expected sha256: and 64 hex digits, .*; here are sha256:{HERE}"):
        id_of(layout, name)


@pytest.mark.parametrize("name", [GONE, manifest.ID_PREFIX + GONE])
def test_one_that_is_not_here_is_told_with_those_that_are(layout, name):
    with pytest.raises(
        ConfigError, match=rf"^there is no snapshot sha256:{GONE} below .*; here are sha256:{HERE}; copy"
    ):
        id_of(layout, name)
    with pytest.raises(ConfigError, match="no snapshot is here"):
        id_of(Layout(layout.root / "other"), name)


def test_many_that_are_here_are_cut(layout):
    for digit in "cdef01":
        manifest.folder_of(layout.root, manifest.ID_PREFIX + digit * 64).mkdir()
    with pytest.raises(ConfigError, match=r"sha256:d{64} and 2 more; copy"):
        id_of(layout, GONE)


def test_who_names_one_that_is_not_here_is_told(layout):
    record = RunRecord({"snapshot_id": manifest.ID_PREFIX + GONE})
    with pytest.raises(ConfigError, match=rf"no snapshot sha256:{GONE}, which run\.json names, below"):
        id_in_record(layout, record, "run.json")
    durable.write_digest(layout.snapshot_lock(KEY), GONE)
    with pytest.raises(ConfigError, match=rf"no snapshot sha256:{GONE}, which the lock of tiny\.v1\.t16 names, below"):
        id_of(layout, str(KEY))


def test_a_token_set_without_a_snapshot_and_one_with_a_broken_lock_are_told(layout):
    with pytest.raises(ConfigError, match=r"tiny\.v2\.t16 has no snapshot below .*; make it with `corpus tokenize"):
        id_of(layout, "tiny.v2.t16")
    layout.snapshot_lock(KEY).write_bytes(b"no lock")
    with pytest.raises(CorruptDataError, match=r"delete it and run `corpus tokenize tiny\.v1\.t16`"):
        id_of(layout, str(KEY))
