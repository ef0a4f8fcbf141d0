"""Whatever is saved, changed and restored on the way: every sequence once a bucket-epoch, the same batches at any W.

Faults of other loaders that are looked for by name: tests/reports.toml, 53 to 60.
"""

import json
import shutil
from collections import Counter
from itertools import chain, islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.errors import OrderError
from formats.loader.blocks import blocks
from formats.loader.open_shards import OpenShards
from formats.loader.settings import ReadSettings
from formats.loader.shard_files import open_snapshot
from formats.loader.share import Share
from formats.order.mixture import Mixture
from formats.order.order import Order
from formats.order.state import load_state_dict, state_dict
from formats.order.steps import Steps
from formats.snapshot import manifest, token_shard
from formats.snapshot.token_shard import boundaries, read_index
from tests.formats.loader.made_training import CHUNK, SEED, loader, made
from tests.formats.order.made_orders import WORLDS
from tests.formats.snapshot.made_snapshots import SEQ_LEN, make_snapshot

EPOCHS = {"web": 3, "books": 2}
ROWS = {"web": 33, "books": 13}
TOTAL = sum(EPOCHS[name] * ROWS[name] for name in ROWS)
READING = ReadSettings(prefetch_bytes=2000, lead_steps=3)


class Served:
    """Ranks that read a snapshot without threads of their own; what they served, (bucket, row of the bucket) a row."""

    def __init__(self, root, snapshot):
        self.files = open_snapshot(root, snapshot.snapshot_id, READING)
        self.snapshot, self.shards = self.files.snapshot, OpenShards(self.files, "train", READING)
        self.order = self.of([Mixture(0, {"web": 2, "books": 1}, 4, 4, EPOCHS)])
        rows = [np.array(token_shard.open_sequences(snapshot, shard)) for shard in snapshot.shards("train")]
        buckets = [shard.bucket for shard in snapshot.shards("train")]
        self.names = {
            one.tobytes(): (name, row)
            for name in ROWS
            for row, one in enumerate(np.concatenate([r for r, b in zip(rows, buckets, strict=True) if b == name]))
        }

    def of(self, mixtures):
        return Order(self.snapshot.buckets("train"), SEED, mixtures, chunk=CHUNK)

    def batches(self, order, steps, world, first, num_steps):
        """The global batches from a step on, as the ranks together serve them."""
        ranks = [_steps_of(Share(order, steps, rank, world, True), first, self.shards) for rank in range(world)]
        for _ in range(num_steps):
            shares = [next(rank, None) for rank in ranks]
            if shares[0] is None:
                return
            batch = np.empty((sum(map(len, shares)), SEQ_LEN), self.snapshot.dtype)
            for rank, share in enumerate(shares):
                batch[rank::world] = share
            yield [self.names[row.tobytes()] for row in batch]


def _steps_of(share, first, shards):
    for block in blocks(share, first, 1, shards, READING):
        for step in block.steps:
            yield block.of_step(step)[1]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    one = Served(root, made(root))
    yield one
    one.shards.close()


def exactly(rows, epochs):
    """Whether each row of each bucket was served so many times."""
    return Counter(rows) == {(name, row): n for name, n in epochs.items() for row in range(ROWS[name])}


def joined(batches):
    return list(chain.from_iterable(batches))


runs = st.lists(
    st.tuples(
        st.integers(1, 4),  # steps until the next restart
        st.sampled_from(WORLDS),
        st.integers(1, 30),  # global batch from there on
        st.none() | st.sampled_from([(1, 1), (5, 1), (1, 9)]),  # new weights from there on
        st.integers(1, 6),  # with so many lanes
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=15)
@given(runs)
def test_any_history_of_saves_worlds_batches_and_weights_serves_every_sequence_once_an_epoch(served, runs):
    mixtures, schedule = list(served.order.mixtures), [(0, 7)]
    seen, step, saved = [], 0, None
    for num_steps, world, size, weights, lanes in [*runs, (TOTAL, 2, 8, None, 1)]:
        if step and len(seen) < TOTAL:
            schedule.append((step, size))
            if weights is not None:
                mixtures.append(Mixture(len(seen), dict(zip(ROWS, weights, strict=True)), lanes, 2, EPOCHS))
        order, steps = served.of(mixtures), Steps(tuple(schedule))  # a new process
        if saved is not None:
            assert load_state_dict(json.loads(saved), order, steps, served.snapshot.snapshot_id) == step
        for batch in served.batches(order, steps, world, step, num_steps):
            seen += batch
            step += 1
            saved = json.dumps(state_dict(order, steps, served.snapshot.snapshot_id, step))
    assert exactly(seen, EPOCHS)


@pytest.mark.parametrize("world", WORLDS)
def test_the_global_batches_are_the_same_at_any_number_of_ranks(served, world):
    steps = Steps(((0, 16), (3, 25)))
    whole = list(served.batches(served.order, steps, 1, 0, 99))
    assert exactly(joined(whole), EPOCHS)
    assert list(served.batches(served.order, steps, world, 0, 99)) == whole


@pytest.mark.parametrize("before", [1, 4, 8])
def test_saved_at_some_ranks_and_restored_at_others_nothing_is_lost_or_repeated(served, before):
    """The ranks that are gone took nothing with them."""
    steps = Steps(((0, 8),))
    for saved_at, after in ((0, 3), (1, 1), (2, 2), (3, 8), (4, 3), (9, 1)):
        first = list(served.batches(served.order, steps, before, 0, saved_at))
        rest = list(served.batches(served.order, steps, after, saved_at, 99))
        assert exactly(joined(first + rest), EPOCHS)


def test_saves_at_the_borders_of_epochs_lose_and_shorten_no_epoch(served):
    """Three epochs of one bucket; a save right before, at and after each border."""
    order, steps = served.of([Mixture(0, {"web": 1}, 3, 4, {"web": 3})]), Steps(((0, 1),))
    whole = joined(served.batches(order, steps, 1, 0, 999))
    assert exactly(whole, {"web": 3})
    for border in (33, 66, 99):
        for saved_at in (border - 1, border, border + 1):
            if saved_at <= 99:
                again = served.of(order.mixtures)
                state = json.loads(json.dumps(state_dict(order, steps, "sha256:x", saved_at)))
                assert load_state_dict(state, again, steps, "sha256:x") == saved_at
                assert joined(served.batches(again, steps, 1, saved_at, 999)) == whole[saved_at:]


@pytest.mark.parametrize("world", [1, 2])
def test_a_save_before_the_first_step_at_the_last_and_at_the_end_is_restored_as_it_was(tmp_path, world):
    """In the process that saved, and in a loader of its own; behind the end there is nothing to restore."""
    snapshot = made(tmp_path)
    wanted = {"mixture": [Mixture(0, {"web": 2, "books": 1}, 4, 4, EPOCHS)], "batches": 6, "end": 120}
    with loader(tmp_path, snapshot, 0, world, **wanted) as one:
        whole = [batch.tokens.tolist() for batch in one]
        assert len(whole) == 20
        for saved_at in (0, 1, 19, 20):
            one.seek(saved_at)
            state = json.loads(json.dumps(one.state_dict()))
            one.seek(7)
            next(one)
            with loader(tmp_path, snapshot, 0, world, **wanted) as other:
                for restored in (one, other):
                    restored.load_state_dict(state)
                    assert [batch.tokens.tolist() for batch in restored] == whole[saved_at:]
                    assert restored.state_dict()["step"] == 20
        with pytest.raises(OrderError, match="over"):
            one.load_state_dict({**state, "step": 21})


def test_a_changed_snapshot_is_refused_by_its_digest(tmp_path):
    (tmp_path / "a").mkdir()
    first, second = made(tmp_path / "a"), made(tmp_path / "b")
    assert first.snapshot_id == second.snapshot_id
    other = make_snapshot(
        tmp_path / "c", {("train", "web"): (13, 9, 11), ("train", "books"): (8, 5), ("val", "web"): (3,)}
    )
    with loader(tmp_path / "a", first) as one, loader(tmp_path / "c", other) as changed:
        next(one)
        with pytest.raises(OrderError, match="snapshot_id is"):
            changed.load_state_dict(one.state_dict())
        with loader(tmp_path / "b", second) as elsewhere:
            elsewhere.load_state_dict(one.state_dict())
            assert np.array_equal(next(elsewhere).tokens, next(one).tokens)


def test_every_token_of_a_step_leads_to_a_document_and_back_after_the_snapshot_was_copied(tmp_path):
    snapshot = made(tmp_path / "here")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    shutil.rmtree(tmp_path / "here")
    copied = manifest.read(tmp_path / "there", snapshot.snapshot_id)
    with loader(tmp_path / "there", copied, 1, 2) as one:
        batch = next(islice(one, 5, None))
        shard, row = one.order.shards(batch.positions)
        bucket, row_of_bucket = one.order.locate(batch.positions)
        for i, position in enumerate(batch.positions.tolist()):
            lies = copied.shard("train", int(shard[i]))
            assert np.array_equal(token_shard.open_sequences(copied, lies, verify=True)[row[i]], batch.tokens[i])
            pieces = boundaries(read_index(copied, lies), int(row[i]), SEQ_LEN)
            padding = 3 if row[i] == lies.sequences - 1 else 0
            assert sum(end - begin for begin, end, _ in pieces) == SEQ_LEN - padding
            assert all(name.startswith(f"{lies.bucket}:") for _, _, name in pieces)
            assert position in one.order.find(one.order.names[bucket[i]], int(row_of_bucket[i]), 10**4)


def test_an_epoch_is_as_long_as_it_is_declared_however_many_files_and_ranks_there_are(served):
    """No order of files a rank, no copy that counts as more data."""
    for world in (1, 2, 5, 8):
        order = served.of([Mixture(0, {"web": 1, "books": 1}, 5, 3, {"web": 1, "books": 1})])
        rows = joined(served.batches(order, Steps(((0, 10),)), world, 0, 999))
        assert exactly(rows, {"web": 1, "books": 1})
