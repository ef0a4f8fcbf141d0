"""What a loader is asked for is taken as it is saved, or refused in words before anything is trained."""

import errno
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats import run_record
from formats.errors import ConfigError, CorruptDataError, OrderError
from formats.loader.data_loader import DataLoader
from formats.loader.settings import ReadSettings
from formats.order.mixture import Mixture
from formats.run_record import Ranks
from tests.formats.loader.made_training import MIXTURES, expected_batches, loader, made


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """(artifacts root, snapshot, its first global batch by the order alone)."""
    root = tmp_path_factory.mktemp("root")
    snapshot = made(root)
    with loader(root, snapshot) as one:
        return root, snapshot, expected_batches(snapshot, one.order, one.steps, 1)


BIG = 1 << 62


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": "x"}, "seed is 'x', expected a whole number"),
        ({"seed": 7.5}, "seed is 7.5, expected a whole number"),
        ({"seed": True}, "seed is true, expected a whole number"),
        ({"batches": [(0, 8.0)]}, "global batch is 8.0, expected a whole number"),
        ({"batches": True}, "batches is True, expected a global batch, or a list"),
        ({"batches": 8.0}, "batches is 8.0, expected a global batch, or a list"),
        ({"batches": "8"}, "batches is '8', expected a global batch, or a list"),
        ({"batches": {0: 8}}, "batches is {0: 8}, expected a global batch, or a list"),
        ({"batches": [(0, 8, 1)]}, "expected a global batch, or a list"),
        ({"batches": None}, "batches is None"),
        ({"batches": 10**30}, r"batches\[0\]: expected the first step and a global batch of 1 to 16777216"),
        ({"batches": [(0, 8), (BIG, 4)]}, r"batches\[1\]"),
        ({"chunk": "8"}, "chunk is '8', expected a whole number"),
        ({"chunk": 1 << 60}, "chunk: expected a whole number"),
        ({"mixture": None}, "mixture is None, expected weights by bucket or a list of Mixture"),
        ({"mixture": [{"web": 1}]}, "expected weights by bucket or a list of Mixture"),
        ({"mixture": MIXTURES[0]}, "expected weights by bucket or a list of Mixture"),
        ({"mixture": {"web": float("inf")}}, "weights.web: expected a finite number"),
        ({"mixture": {"web": None}}, "weights.web: expected a finite number"),
        ({"mixture": [Mixture(0, {"web": 1}, max_epochs=2)]}, "max_epochs: expected an object"),
        ({"end": 1e6}, "end is 1000000.0, expected a whole number"),
        ({"uneven": "no"}, "uneven is 'no', expected True or False"),
        ({"dp_rank": 0.0}, "dp_rank is 0.0, expected a whole number"),
        ({"dp_world": "4"}, "dp_world is '4', expected a whole number"),
        ({"dp_world": 10**9, "uneven": True}, "dp_world: expected a whole number from 1 to 16777216, found 1000000000"),
        ({"dp_world": 0}, "dp_world is 0, expected at least 1; mend the request"),
        ({"dp_world": -2}, "dp_world is -2, expected at least 1; mend the request"),
        ({"dp_rank": 1}, "rank is 1 of 1, expected 0 to 0"),
        ({"seq_len": "8"}, "seq_len is '8', expected 8"),
        ({"seq_len": 8.0}, "seq_len is 8.0, expected 8"),
    ],
)
def test_arguments_whose_state_could_not_be_read_back_are_refused_at_the_start(training, change, says):
    root, snapshot, _ = training
    wanted = {
        "mixture": MIXTURES, "seed": 7, "dp_rank": 0, "dp_world": 1, "seq_len": 8, "batches": 12, **change,
    }  # fmt: skip
    with pytest.raises(ConfigError, match=says):
        DataLoader(root, snapshot.snapshot_id, **wanted)


WANTED = {"mixture": MIXTURES, "seed": 7, "dp_rank": 0, "dp_world": 1, "seq_len": 8, "batches": 12}


@pytest.mark.parametrize(
    ("root", "says"),
    [
        (
            None,
            r"root is nothing \(null\), expected a folder or a URL; name the one whose snapshots/ holds the snapshot",
        ),
        (7, "root is 7, expected a folder or a URL"),
        (b".", "root is b'.', expected a folder or a URL"),
        ("a\0b", "expected a folder or a URL"),
    ],
)
def test_what_is_no_root_is_refused_in_words(training, root, says):
    with pytest.raises(ConfigError, match=says):
        DataLoader(root, training[1].snapshot_id, **WANTED)


@pytest.mark.parametrize(
    ("snapshot_id", "says"),
    [(None, r"snapshot id is nothing \(null\)"), (7, "snapshot id is 7"), (Path("x"), "snapshot id is ")],
)
@pytest.mark.parametrize("root", [".", "memory://nowhere"])
def test_what_is_no_id_is_refused_in_words_and_writes_nothing(tmp_path, root, snapshot_id, says):
    settings = ReadSettings(cache_folder=tmp_path / "cache")
    with pytest.raises(ConfigError, match=f"{says}.*, expected sha256: and 64 hex digits"):
        DataLoader(root, snapshot_id, settings=settings, **WANTED)
    assert not (tmp_path / "cache").exists()


def test_under_another_root_the_error_says_what_a_root_is(training, tmp_path):
    with pytest.raises(CorruptDataError, match=r"copy the snapshot there, or name another root: the folder whose snap"):
        DataLoader(tmp_path, training[1].snapshot_id, **WANTED)


@pytest.mark.parametrize("place", ["a-file", "a-file/below", "no\0path"])
def test_a_cache_folder_that_cannot_be_written_to_is_refused_at_the_start(training, tmp_path, place):
    (tmp_path / "a-file").write_bytes(b"")
    refused(training, tmp_path / place)


def test_a_cache_folder_of_somebody_else_is_refused_at_the_start(training, tmp_path, monkeypatch):
    def not_permitted(**_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # tests may run as root, whom nothing is denied

    monkeypatch.setattr(tempfile, "TemporaryFile", not_permitted)
    assert "Permission denied" in refused(training, tmp_path)


def refused(training, folder):
    root, snapshot, _ = training
    for where in (root, "memory://nowhere"):
        with pytest.raises(ConfigError, match="expected a folder that this user may write to; let it, or") as raised:
            DataLoader(where, snapshot.snapshot_id, settings=ReadSettings(cache_folder=folder), **WANTED)
        assert str(raised.value).startswith(f"cache_folder is {folder}, and ")
    return str(raised.value)


@pytest.mark.parametrize(
    ("step", "every", "says"),
    [
        (1.5, 1, "step is 1.5, expected a whole number; mend the request"),
        (True, 1, "step is true, expected a whole number; mend the request"),
        ("a", 1, "step is 'a', expected a whole number; mend the request"),
        (None, 1, "step is nothing (null), expected a whole number; mend the request"),
        (3, 1.0, "every is 1.0, expected a whole number; mend the request"),
        (3, True, "every is true, expected a whole number; mend the request"),
        (3, 0, "every is 0, expected at least 1; mend the request"),
        (-1, 1, "step is -1, expected 0 or more; mend the request"),
    ],
)
def test_a_step_that_is_none_is_refused_at_seek_and_changes_nothing(training, step, every, says):
    root, snapshot, expected = training
    with loader(root, snapshot) as one:
        with pytest.raises(OrderError) as raised:
            one.seek(step, every)
        assert str(raised.value) == says
        assert np.array_equal(next(one).tokens, expected[0])
        one.seek(np.int64(0), np.int32(2))
        assert (type(one.step), one.step) == (int, 0)
        assert [next(one).step, one.step] == [0, 2]


@settings(max_examples=60)
@given(
    seed=st.one_of(st.integers(), st.integers(0, 2**63 - 1).map(np.int64), st.floats(), st.text(), st.booleans()),
    weight=st.one_of(
        st.fractions(), st.floats(), st.floats(width=32).map(np.float32), st.integers(), st.decimals(), st.text()
    ),
    batches=st.one_of(st.integers(-1, 2**25), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3)),
    chunk=st.one_of(st.integers(-1, 2**60), st.floats(1, 9)),
)
def test_what_the_constructor_takes_can_be_read_back(training, seed, weight, batches, chunk):
    root, snapshot, _ = training
    mixture = [Mixture(0, {"web": 1, "books": weight}, lanes=4, run=2)]
    try:
        one = loader(root, snapshot, seed=seed, mixture=mixture, batches=batches, chunk=chunk)
    except ConfigError:
        return
    with one:
        one.seek(3)
        record = run_record.from_json(json.loads(run_record.to_bytes(one.run_record())))
        saved = record.order(snapshot)
        assert (saved.step, saved.position) == (3, one.steps.bounds(3)[0])
        positions = np.arange(min(saved.position, 100))
        assert [c.tolist() for c in saved.order.locate(positions)] == [c.tolist() for c in one.order.locate(positions)]


def test_numbers_of_numpy_serve_and_save_what_the_same_numbers_do(training):
    root, snapshot, expected = training
    with loader(
        root, snapshot, np.int64(1), np.int64(4), seed=np.int64(7), batches=np.int64(12), chunk=np.uint8(4),
        seq_len=np.int32(8), end=np.int64(360), uneven=np.bool_(False),
    ) as one, loader(root, snapshot, 1, 4, end=360) as twin:  # fmt: skip
        assert np.array_equal(next(one).tokens, expected[0][1::4])
        next(twin)
        assert json.dumps(one.state_dict()) == json.dumps(twin.state_dict())
        assert one.run_record() == twin.run_record()


def test_a_schedule_may_be_an_array(training):
    root, snapshot, _ = training
    with loader(root, snapshot, batches=np.array([[0, 4], [3, 8]])) as one:
        assert one.steps.batches == ((0, 4), (3, 8))


def test_a_record_of_a_loader_is_of_its_split_and_ranks(training):
    root, snapshot, _ = training
    with loader(root, snapshot, 2, 5, uneven=True) as one:
        first = one.run_record()
        assert first == run_record.begin(one.state_dict(), dp_world=5, uneven=True)
        one.seek(9)
        saved = first.at(one.state_dict())
    with loader(root, snapshot, 0, 4) as one:
        one.load_state_dict(saved.state)
        assert one.run_record(saved).ranks == (Ranks(0, 5, True), Ranks(9, 4, False))
    with loader(root, snapshot, mixture={"web": 1}, split="val", batches=1) as one:
        assert one.run_record().split == "val"
        with pytest.raises(OrderError, match="split is train, expected val"):
            one.run_record(saved)


def test_a_closed_loader_says_so_and_still_tells_its_state(training):
    root, snapshot, _ = training
    with loader(root, snapshot) as one:
        next(one)
    for _ in range(2):
        with pytest.raises(ConfigError, match="the loader is closed, and step 1 was asked for"):
            next(one)
    assert one.state_dict()["step"] == 1
    one.close()
