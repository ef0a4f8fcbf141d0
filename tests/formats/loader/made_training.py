"""A small snapshot to train on, and what a run over it serves."""

import numpy as np

from formats.loader.data_loader import DataLoader
from formats.loader.settings import ReadSettings
from formats.order.mixture import Mixture
from formats.snapshot import token_shard
from tests.formats.snapshot.made_snapshots import SEQ_LEN, make_snapshot

SHARDS = {("train", "web"): (13, 9, 11), ("train", "books"): (8, 5), ("val", "web"): (2,)}
MIXTURES = [
    Mixture(0, {"web": 3, "books": 1}, lanes=4, run=4),
    Mixture(70, {"web": 1, "books": 1}, lanes=6, run=2),
]
SEED, CHUNK = 7, 4


def made(tmp_path):
    return make_snapshot(tmp_path, SHARDS)


def loader(root, snapshot, rank=0, world=1, **changes):
    wanted = {
        "mixture": MIXTURES, "seed": SEED, "seq_len": SEQ_LEN, "batches": 12, "chunk": CHUNK,
        "settings": ReadSettings(prefetch_bytes=3000, lead_steps=2), **changes,
    }  # fmt: skip
    return DataLoader(root, snapshot.snapshot_id, dp_rank=rank, dp_world=world, **wanted)


def global_batches(root, snapshot, world, num_steps, first=0, saved=None, **changes):
    """The global batches that the ranks serve together, (rows, SEQ_LEN) each."""
    ranks = [loader(root, snapshot, rank, world, **changes) for rank in range(world)]
    for one in ranks:
        if saved is not None:
            one.load_state_dict(saved)
        else:
            one.seek(first)
    batches = []
    for _ in range(num_steps):
        shares = [next(one) for one in ranks]
        assert len({share.step for share in shares}) == 1
        batch = np.empty((sum(len(share.tokens) for share in shares), SEQ_LEN), shares[0].tokens.dtype)
        for rank, share in enumerate(shares):
            batch[rank::world] = share.tokens
        batches.append(batch)
    states = [one.state_dict() for one in ranks]
    assert all(state == states[0] for state in states)
    for one in ranks:
        one.close()
    return batches, states[0]


def expected_batches(snapshot, order, steps, num_steps):
    """The same from the order and the shards alone."""
    sequences = [np.array(token_shard.open_sequences(snapshot, shard)) for shard in snapshot.shards("train")]
    batches = []
    for step in range(num_steps):
        shard, row = order.shards(np.arange(*steps.bounds(step)))
        batches.append(np.stack([sequences[s][r] for s, r in zip(shard, row, strict=True)]))
    return batches
