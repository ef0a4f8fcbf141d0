"""The loader serves what the order says, to any number of ranks, through any chain of saves."""

import gc
import json
import multiprocessing
import subprocess
import sys
import threading
from collections import Counter
from itertools import chain, islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.errors import ConfigError, CorruptDataError, OrderError
from formats.loader import open_shards
from formats.loader.blocks import Rooms, _strides
from formats.loader.settings import ReadSettings
from formats.loader.threads import LoaderThread
from formats.order.mixture import Mixture
from tests import faults
from tests.formats.loader.made_training import (
    MIXTURES,
    expected_batches,
    global_batches,
    loader,
    made,
)
from tests.formats.snapshot.made_snapshots import make_snapshot

STEPS = 30


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """(artifacts root, snapshot, its first global batches by the order alone)."""
    root = tmp_path_factory.mktemp("root")
    snapshot = made(root)
    with loader(root, snapshot) as one:
        return root, snapshot, expected_batches(snapshot, one.order, one.steps, STEPS)


def same(found, expected):
    return len(found) == len(expected) and all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("world", [1, 2, 3, 4, 6, 12])
def test_ranks_together_serve_the_batches_of_the_order(training, world):
    root, snapshot, expected = training
    assert same(global_batches(root, snapshot, world, STEPS)[0], expected)


@pytest.mark.parametrize("world", [5, 7, 13])
def test_so_do_uneven_shares_when_they_are_asked_for(training, world):
    root, snapshot, expected = training
    with pytest.raises(OrderError, match="multiple"):
        loader(root, snapshot, 0, world)
    assert same(global_batches(root, snapshot, world, STEPS, uneven=True)[0], expected)


@settings(max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([1, 2, 3, 4, 6, 12])), min_size=1, max_size=4))
def test_any_chain_of_saves_at_any_number_of_ranks_serves_the_same(training, runs):
    root, snapshot, expected = training
    served, saved = [], None
    for num_steps, world in runs:
        batches, state = global_batches(root, snapshot, world, min(num_steps, STEPS - len(served)), saved=saved)
        served += batches
        saved = json.loads(json.dumps(state))
        assert saved["step"] == len(served)
    assert same(served, expected[: len(served)])


@pytest.mark.parametrize("prefetch_bytes", [1, 500, 3_000, 10**7])
def test_how_far_it_reads_ahead_changes_nothing(training, prefetch_bytes):
    root, snapshot, expected = training
    reading = ReadSettings(prefetch_bytes=prefetch_bytes, threads=1, max_open_shards=1)
    assert same(global_batches(root, snapshot, 2, STEPS, settings=reading)[0], expected)


def test_batches_that_are_kept_stay_as_they_were(training):
    """Memory is used again, but not while anything looks at it: arrays, parts of them, buffers."""
    root, snapshot, expected = training
    with loader(root, snapshot, settings=ReadSettings(prefetch_bytes=1)) as one:
        batches = [next(one) for _ in range(10)]
        parts = [next(one).tokens[1:3, ::2] for _ in range(10)]
        buffers = [memoryview(next(one).tokens) for _ in range(10)]
    assert same([batch.tokens for batch in batches], expected[:10])
    assert same(parts, [batch[1:3, ::2] for batch in expected[10:20]])
    assert [buffer.tolist() for buffer in buffers] == [batch.tolist() for batch in expected[20:30]]


def test_memory_is_used_again_once_nobody_looks_at_it():
    rooms, shape, dtype = Rooms(), (100, 64), np.dtype("<u2")
    first = rooms.take(shape, dtype)
    where, view = first.ctypes.data, first[3:5]
    assert where % 4096 == 0
    del first
    other = rooms.take(shape, dtype)
    assert other.ctypes.data != where
    del view, other
    assert rooms.take(shape, dtype).ctypes.data == where


@settings(max_examples=100)
@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=6), min_size=1, max_size=8))
def test_strides_are_those_of_even_stretches(stretches):
    at = np.array(list(chain.from_iterable(stretches)))
    ends = np.cumsum([len(stretch) for stretch in stretches])
    begins = ends - [len(stretch) for stretch in stretches]
    for stretch, stride in zip(stretches, _strides(at, begins, ends).tolist(), strict=True):
        rises = set(np.diff(stretch).tolist())
        assert stride == (1 if len(stretch) == 1 else rises.pop() if len(rises) == 1 and min(rises) > 0 else 0)


def test_a_seek_serves_any_step_next(training):
    root, snapshot, expected = training
    with loader(root, snapshot) as one:
        for step in (29, 3, 4, 17, 0):
            one.seek(step)
            assert np.array_equal(next(one).tokens, expected[step])
            assert one.step == step + 1


def test_loading_a_state_into_a_loader_that_has_served_goes_back(training):
    root, snapshot, expected = training
    with loader(root, snapshot) as one:
        for _ in range(5):
            next(one)
        saved = one.state_dict()
        for _ in range(7):
            next(one)
        one.load_state_dict(saved)
        assert np.array_equal(next(one).tokens, expected[5])


def test_every_sequence_is_served_once_an_epoch_and_then_it_ends(tmp_path):
    snapshot = made(tmp_path)
    caps = {"web": 1, "books": 2}
    with loader(tmp_path, snapshot, mixture=[Mixture(0, {"web": 1, "books": 1}, 4, 4, caps)], batches=5) as one:
        served = Counter(tuple(row) for batch in one for row in batch.tokens.tolist())
        with pytest.raises(StopIteration):
            next(one)
        assert one.state_dict()["step"] == one.step == -(-(33 + 2 * 13) // 5)
    assert Counter(served.values()) == {1: 33, 2: 13}


def test_training_stops_at_the_sequence_asked_for_and_batches_follow_the_schedule(training):
    root, snapshot, _ = training
    with loader(root, snapshot, batches=[(0, 4), (3, 8)], end=33) as one:
        assert [len(batch.tokens) for batch in one] == [4, 4, 4, 8, 8, 5]


def test_val_is_a_split_of_its_own(training):
    root, snapshot, _ = training
    with loader(root, snapshot, mixture={"web": 1}, split="val", batches=2) as one:
        assert next(one).tokens.min() > 40_000
    with pytest.raises(OrderError, match="books"):
        loader(root, snapshot, mixture={"books": 1}, split="val")


def test_another_length_snapshot_or_split_is_refused(training):
    root, snapshot, _ = training
    with pytest.raises(ConfigError, match="expected 8"):
        loader(root, snapshot, seq_len=16)
    with pytest.raises(ConfigError, match="train, val"):
        loader(root, snapshot, split="test")


def test_a_state_of_another_run_is_refused_and_changes_nothing(training, tmp_path):
    root, snapshot, expected = training
    other = make_snapshot(tmp_path, {("train", "web"): (40,), ("train", "books"): (20,)})
    with loader(tmp_path, other) as foreign, loader(root, snapshot) as one:
        next(one)
        for bad in (foreign.state_dict(), None, {}, {**one.state_dict(), "seed": 8}):
            with pytest.raises(OrderError):
                one.load_state_dict(bad)
        assert np.array_equal(next(one).tokens, expected[1])


@pytest.mark.parametrize("verify", [True, False])
def test_a_broken_shard_is_reported_where_it_is_used_and_never_served(tmp_path, verify):
    snapshot = made(tmp_path)
    broken = snapshot.folder / snapshot.shards("train")[2].name
    faults.flip_byte(broken, 0) if verify else faults.truncate(broken, 1)
    with loader(tmp_path, snapshot, settings=ReadSettings(prefetch_bytes=1, verify=verify)) as one:
        with pytest.raises(CorruptDataError, match="sha256" if verify else "length"):
            list(islice(one, STEPS))
        step = one.step
        with pytest.raises(CorruptDataError):
            next(one)
        assert one.step == step


def test_every_nth_step_from_any_step_on_is_what_all_steps_hold(training):
    """As workers share steps between them."""
    root, snapshot, expected = training
    with loader(root, snapshot, rank=1, world=2) as one:
        for first, every in ((0, 3), (2, 7), (5, 1)):
            one.seek(first, every)
            for step in range(first, STEPS, every):
                batch = next(one)
                assert batch.step == step
                assert np.array_equal(batch.tokens, expected[step][1::2])
        with pytest.raises(OrderError, match="every"):
            one.seek(0, 0)


def test_a_last_batch_that_ranks_cannot_share_is_refused_at_the_start(training):
    root, snapshot, _ = training
    with pytest.raises(OrderError, match="multiple"):
        loader(root, snapshot, 0, 2, batches=4, end=7)
    with loader(root, snapshot, 0, 2, batches=4, end=6) as one:
        assert [len(batch.tokens) for batch in one] == [2, 1]


def served_by_a_child(one, answer):
    try:
        answer.send([(batch.step, batch.tokens.tolist()) for batch in islice(one, 4)])
    except BaseException as error:
        answer.send(repr(error))
        raise


def test_a_forked_process_goes_on_where_its_parent_was(training):
    root, snapshot, expected = training
    with loader(root, snapshot) as one:
        for _ in range(3):
            next(one)
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        child = context.Process(target=served_by_a_child, args=(one, there))
        child.start()
        assert here.recv() == [(step, expected[step].tolist()) for step in range(3, 7)]
        child.join()
        assert np.array_equal(next(one).tokens, expected[3])


def test_a_program_that_closes_no_loader_ends_well(training):
    """With threads at work: the interpreter's end must not find one of them within a library."""
    root, snapshot, _ = training
    program = (
        "import sys; from pathlib import Path; from tests.formats.loader.made_training import loader;"
        "from formats.snapshot import manifest; root = Path(sys.argv[1]);"
        "one = loader(root, manifest.read(root, sys.argv[2])); next(one); print(one.step)"
    )
    run = [sys.executable, "-c", program, str(root), snapshot.snapshot_id]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=600, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1\n", "")


def test_a_loader_that_is_forgotten_leaves_no_thread(training):
    root, snapshot, _ = training
    before = set(threading.enumerate())
    one = loader(root, snapshot)
    next(one)
    threads = [thread for thread in set(threading.enumerate()) - before if isinstance(thread, LoaderThread)]
    assert len(threads) > 1
    del one
    gc.collect()
    for thread in threads:
        thread.join(60)
    assert [thread.name for thread in threads if thread.is_alive()] == []


def test_no_more_files_are_open_than_half_of_what_the_process_may_have(training, monkeypatch):
    root, snapshot, expected = training
    monkeypatch.setattr(open_shards, "_most_files", lambda: 5)
    with loader(root, snapshot) as one:
        for step in range(STEPS):
            assert np.array_equal(next(one).tokens, expected[step])
            assert len(one._shards._asked) <= 2


def test_it_tells_how_long_the_trainer_waited(training):
    root, snapshot, _ = training
    with loader(root, snapshot) as one:
        assert one.waiting.share == 0
        next(one)
        assert 0 < one.waiting.waited_seconds <= one.waiting.total_seconds


@pytest.mark.parametrize(
    "change",
    [
        {"threads": "4"}, {"prefetch_bytes": 1e6}, {"lead_steps": True}, {"cache_bytes": "1"}, {"cache_folder": 7},
        {"verify": "no"}, {"backoff_seconds": "1"}, {"max_silence_seconds": float("nan")}, {"backoff_seconds": -1},
        {"threads": 0}, {"prefetch_bytes": 0}, {"max_tries": 0}, {"cache_bytes": -1}, {"max_silence_seconds": 0},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(change):
    with pytest.raises(ConfigError, match=next(iter(change))):
        ReadSettings(**change)


def test_settings_take_text_and_numbers_of_numpy(training, tmp_path):
    root, snapshot, expected = training
    given = ReadSettings(np.int64(3000), np.int8(2), cache_folder=str(tmp_path), backoff_seconds=np.float32(0.5))
    assert given == ReadSettings(3000, 2, cache_folder=tmp_path, backoff_seconds=0.5)
    with loader(root, snapshot, settings=given) as one:
        assert np.array_equal(next(one).tokens, expected[0])
    assert (tmp_path / "verified").is_dir()
    with pytest.raises(ConfigError, match=r"expected ReadSettings"):
        loader(root, snapshot, settings={"prefetch_bytes": 3000})


def test_mixtures_may_be_given_as_weights(training):
    root, snapshot, _ = training
    with loader(root, snapshot, mixture={"web": 3, "books": 1}) as one:
        assert one.order.mixtures == (Mixture(0, {"web": 3, "books": 1}),)
        assert one.order.mixtures != tuple(MIXTURES)
