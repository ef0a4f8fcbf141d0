"""Replay: what a rank was served, told again from a record and the snapshot alone, wherever both lie."""

import json
import shutil

import numpy as np
import pytest

from formats import run_record
from formats.errors import CorruptDataError, OrderError
from formats.order.mixture import Mixture
from formats.replay import replay
from formats.run_record import RunRecord
from formats.snapshot import manifest, token_shard
from tests import faults
from tests.formats.loader.made_training import expected_batches, loader, made
from tests.formats.made_runs import train
from tests.formats.snapshot.made_snapshots import SEQ_LEN, make_snapshot

WORLDS = [1, 2, 3, 7, 8]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    snapshot = made(root)
    return root, snapshot, train(root, snapshot)


def same_as_served(replayed, positions, tokens):
    return np.array_equal([s.position for s in replayed.sequences], positions) and np.array_equal(
        np.array([s.tokens for s in replayed.sequences]).reshape(tokens.shape), tokens
    )


def test_every_step_and_rank_of_a_run_with_two_resumes_is_what_was_served(trained):
    _, snapshot, run = trained
    assert len({step for step, _ in run.served}) == 23
    for (step, rank), (positions, tokens) in run.served.items():
        replayed = replay(snapshot, run.record, step, rank, tokens=True)
        assert replayed.is_past
        assert same_as_served(replayed, positions, tokens)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("before", [2, 7])
def test_so_is_it_at_any_number_of_ranks_before_and_behind_a_resume(tmp_path, world, before):
    snapshot = made(tmp_path)
    run = train(tmp_path, snapshot, ((4, before), (3, world), (4, world)), unsaved=1)
    for (step, rank), (positions, tokens) in run.served.items():
        assert same_as_served(replay(snapshot, run.record, step, rank, tokens=True), positions, tokens)


@pytest.mark.parametrize("world", WORLDS)
def test_a_bare_state_is_replayed_for_the_ranks_that_are_named(trained, world):
    root, snapshot, run = trained
    bare = RunRecord(run.record.state)
    for rank in range(world):
        with loader(root, snapshot, rank, world, uneven=True) as one:
            one.seek(11)
            batch = next(one)
        replayed = replay(snapshot, bare, 11, rank, dp_world=world, uneven=True, tokens=True)
        assert same_as_served(replayed, batch.positions, batch.tokens)
    with pytest.raises(OrderError, match="how many ranks"):
        replay(snapshot, bare, 11, 0)


def test_ranks_of_a_large_run_are_served_and_replayed_what_the_order_says_through_changes_of_their_number(trained):
    """Some ranks of 896 and 1,024 serve a step, others go on from their state; the other ranks follow by arithmetic."""
    root, snapshot, _ = trained
    size, saved, record = 7 * 1024, None, None  # also 8 * 896
    served = {}
    for step, world in enumerate((896, 1024, 7, 896, 8, 1024)):
        for rank in (0, world // 2, world - 1):
            with loader(root, snapshot, rank, world, batches=size) as one:
                if saved is not None:
                    one.load_state_dict(saved)
                begun = one.run_record(record)
                served[step, rank] = next(one)
                state = one.state_dict()
        saved, record = json.loads(json.dumps(state)), begun.at(state)
    with loader(root, snapshot, batches=size) as one:
        expected = expected_batches(snapshot, one.order, one.steps, len(record.ranks))
    for (step, rank), batch in served.items():
        world = record.ranks_at(step).dp_world
        assert np.array_equal(batch.tokens, expected[step][rank::world])
        assert same_as_served(replay(snapshot, record, step, rank, tokens=True), batch.positions, batch.tokens)


def test_documents_are_those_of_the_shard_at_that_row(trained):
    _, snapshot, run = trained
    shards = {shard.name: shard for shard in snapshot.shards("train")}
    for step in (0, 10, 22):
        for one in replay(snapshot, run.record, step, 1).sequences:
            index = token_shard.read_index(snapshot, shards[one.shard])
            expected = token_shard.boundaries(index, one.shard_row, SEQ_LEN)
            assert [(piece.begin, piece.end, piece.id) for piece in one.documents] == expected
            starts = dict(zip(index["id"].to_pylist(), index["start"].to_pylist(), strict=True))
            for piece in one.documents:
                assert one.shard_row * SEQ_LEN + piece.begin == starts[piece.id] + piece.first
            assert one.tokens is None


def test_it_works_on_a_copy_elsewhere_with_the_first_one_gone(trained, tmp_path):
    root, snapshot, run = trained
    copy = tmp_path / "elsewhere"
    shutil.copytree(root / "snapshots", copy / "snapshots")
    again = manifest.read(copy, run.record.snapshot_id)
    positions, tokens = run.served[20, 1]
    assert same_as_served(replay(again, run.record, 20, 1, tokens=True), positions, tokens)
    assert replay(again, run.record, 20, 1).snapshot.folder.is_relative_to(copy)
    assert snapshot.snapshot_id == again.snapshot_id


def test_a_step_behind_the_state_is_told_as_what_comes(trained):
    root, snapshot, run = trained
    with loader(root, snapshot, 1, 2) as one:
        one.seek(40)
        batch = next(one)
    replayed = replay(snapshot, run.record, 40, 1, tokens=True)
    assert not replayed.is_past
    assert same_as_served(replayed, batch.positions, batch.tokens)


def test_a_last_batch_that_was_cut_is_replayed_as_it_was(tmp_path):
    snapshot = made(tmp_path)
    with loader(tmp_path, snapshot, end=30) as one:
        batches = list(one)
        record = run_record.begin(one.state_dict(), dp_world=1)
    assert [len(batch.tokens) for batch in batches] == [12, 12, 6]
    bare = RunRecord(record.state)
    for batch in batches:
        replayed = replay(snapshot, bare, batch.step, 0, dp_world=1, tokens=True)
        assert same_as_served(replayed, batch.positions, batch.tokens)
    with pytest.raises(OrderError, match="behind the end"):
        replay(snapshot, record, 3, 0)


def test_an_order_that_ends_within_a_batch_is_replayed_up_to_its_end(tmp_path):
    snapshot = made(tmp_path)
    mixture = [Mixture(0, {"web": 1, "books": 1}, 4, 4, {"web": 1, "books": 1})]
    shares = []
    for rank in range(2):
        with loader(tmp_path, snapshot, rank, 2, mixture=mixture, batches=10) as one:
            shares.append(list(one))
            record = run_record.begin(one.state_dict(), dp_world=2)
    assert sum(len(batch.tokens) for share in shares for batch in share) == 33 + 13
    assert len(shares[0][4].tokens) == len(shares[1][4].tokens) == 3
    bare = RunRecord(record.state)
    for rank, share in enumerate(shares):
        for batch in share:
            replayed = replay(snapshot, bare, batch.step, rank, dp_world=2, tokens=True)
            assert same_as_served(replayed, batch.positions, batch.tokens)
    with pytest.raises(OrderError, match="behind the end of the order, at position 46"):
        replay(snapshot, bare, 5, 0, dp_world=2)


@pytest.mark.parametrize(
    ("step", "rank", "options", "says"),
    [
        (-1, 0, {}, "step"),
        (1 << 70, 0, {}, "step"),
        (3, 3, {}, "rank is 3 of 3"),
        (3, -1, {}, "rank is -1"),
        (3, 0, {"dp_world": 4}, "ranks are 4, expected 3"),
    ],
)
def test_a_step_or_rank_that_the_run_does_not_have_is_refused(trained, step, rank, options, says):
    _, snapshot, run = trained
    with pytest.raises(OrderError, match=says):
        replay(snapshot, run.record, step, rank, **options)


def test_shares_that_are_not_equal_are_refused_unless_they_were_asked_for(trained):
    _, snapshot, run = trained
    bare = RunRecord(run.record.state)
    with pytest.raises(OrderError, match="multiple of 7"):
        replay(snapshot, bare, 3, 0, dp_world=7)
    with pytest.raises(OrderError, match="at least 1"):
        replay(snapshot, bare, 3, 0, dp_world=0)


def test_the_record_of_another_snapshot_is_refused_and_says_what_differs(trained, tmp_path):
    _, snapshot, run = trained
    other = make_snapshot(tmp_path, {("train", "web"): (33,), ("train", "books"): (14,)})
    with pytest.raises(OrderError, match=f"snapshot_id is .*expected {other.snapshot_id}"):
        replay(other, run.record, 0, 0)
    forged = json.loads(
        run_record.to_bytes(run.record).replace(snapshot.folder.name.encode(), other.folder.name.encode())
    )
    with pytest.raises(OrderError, match="witness"):
        replay(other, run_record.from_json(forged), 0, 0)
    with pytest.raises(OrderError, match="bucket is books, expected one of web"):
        replay(snapshot, RunRecord(run.record.state, run.record.ranks, "val"), 0, 0)


def test_a_damaged_or_missing_file_is_named(tmp_path):
    snapshot = made(tmp_path)
    record = train(tmp_path, snapshot, ((3, 1),), unsaved=0).record
    names = [one.shard for one in replay(snapshot, record, 0, 0).sequences]
    shard = next(shard for shard in snapshot.shards("train") if shard.name == names[0])
    faults.flip_byte(snapshot.folder / shard.name, 0)
    assert [one.shard for one in replay(snapshot, record, 0, 0).sequences] == names
    with pytest.raises(CorruptDataError, match=f"{shard.name}: sha256"):
        replay(snapshot, record, 0, 0, tokens=True)
    (snapshot.folder / shard.index_name).unlink()
    with pytest.raises(CorruptDataError, match=f"{shard.index_name}: file is missing"):
        replay(snapshot, record, 0, 0)
