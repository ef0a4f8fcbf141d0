"""How much a rank has under way at a moment: shards that are being opened, and bytes that were read ahead."""

from threading import Event

import pytest

from formats.loader.blocks import BLOCKS, blocks
from formats.loader.open_shards import OpenShards
from formats.loader.settings import ReadSettings
from formats.loader.shard_files import open_snapshot
from formats.loader.share import Share
from formats.order.mixture import Mixture
from formats.order.order import Order
from formats.order.steps import Steps
from tests.formats.loader.made_training import CHUNK, SEED, made
from tests.formats.snapshot.made_snapshots import SEQ_LEN


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_as_many_shards_as_threads_are_opened_at_once_and_each_by_one(tmp_path, threads):
    snapshot = made(tmp_path)
    settings = ReadSettings(threads=threads)
    files = open_snapshot(tmp_path, snapshot.snapshot_id, settings)
    opens, all_are_opening = files.map, Event()

    def slow(shard):
        if shards.at_once == threads:
            all_are_opening.set()
        assert all_are_opening.wait(60)
        return opens(shard)

    files.map = slow
    shards = OpenShards(files, "train", settings)
    for _ in range(2):
        shards.ask(range(shards.num_shards))
    sizes = [len(shards.rows_of(number)) for number in range(shards.num_shards)]
    assert sizes == [shard.sequences for shard in snapshot.shards("train")]
    assert (shards.at_once, shards.opened) == (threads, len(sizes))
    shards.close()


@pytest.mark.parametrize("prefetch_bytes", [1, 1_000, 10_000, 100_000])
def test_what_is_read_ahead_has_at_most_the_bytes_asked_for_or_is_one_step(tmp_path, prefetch_bytes):
    """Blocks double up to the bound, and stay below it also where the global batch grows."""
    snapshot, settings = made(tmp_path), ReadSettings(prefetch_bytes=prefetch_bytes)
    files = open_snapshot(tmp_path, snapshot.snapshot_id, settings)
    order = Order(snapshot.buckets("train"), SEED, [Mixture(0, {"web": 3, "books": 1}, 4, 4)], chunk=CHUNK)
    shards = OpenShards(files, "train", settings)
    read = blocks(Share(order, Steps(((0, 12), (100, 48)), 6000), 1, 2, False), 0, 1, shards, settings)
    sizes = [(len(block.steps), block.tokens.nbytes) for block in read]
    shards.close()
    assert sum(num_steps for num_steps, _ in sizes) == 200
    assert sum(num_bytes for _, num_bytes in sizes) == 3000 * SEQ_LEN * snapshot.dtype.itemsize
    assert all(num_steps == 1 or BLOCKS * num_bytes <= prefetch_bytes for num_steps, num_bytes in sizes)
    assert max(num_steps for num_steps, _ in sizes) > 1 or prefetch_bytes == 1
