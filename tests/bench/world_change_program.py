"""What one rank of a loader serves, from the beginning of an epoch or from saved states: JSON in, JSON out.

A program for an interpreter that has the loader; each rank is a process, told its place as `torchrun` tells it (RANK,
WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT) and litdata's GLOBAL_RANK, or by arguments where the
library asks for them. In: `peer`, `folder`, `num` sequences of `seq_len` ids of which each is its own number, and

- `write`: true, once: make the files that the loader reads;
- else `rank`, `world`, `global_batch` (the same at every world), `states` (of the ranks before, or null), `save_after`
  (steps from this start on after which the state is taken; reading goes on to the end of the epoch).

Out: `batches` (numbers of the sequences, step by step), `state`; or `refused`: the words that refused the states.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

Told = dict[str, Any]
Opened = tuple[Iterator[Any], Callable[[], Any]]
"""Batches of (n, seq_len) ids, and what gives the state."""
NUM_SHARDS = 8


def main() -> None:
    told = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):  # some greet
        answer = answer_of(told)
    json.dump(answer, sys.stdout)
    sys.stdout.flush()


def answer_of(told: Told) -> dict[str, Any]:
    opened, write = PEERS[told["peer"]]
    if told.get("write"):
        return {"written": write(told)}
    try:
        batches, state_of = opened(told)
        found = [_numbers(batch) for batch in islice(batches, told["save_after"])]
        state = None if told["save_after"] is None else state_of()
        found += [_numbers(batch) for batch in batches]  # none are left where no state was asked for
    except Exception as error:
        if not told["states"]:
            raise
        return {"refused": " ".join(f"{type(error).__name__}: {error}".split())}
    return {"batches": found, "state": state}


def _numbers(batch: Any) -> list[int]:
    return [int(row[0]) for row in batch]


def sequences(told: Told) -> np.ndarray:
    """(num, seq_len) uint16: row n is n everywhere."""
    return np.repeat(np.arange(told["num"], dtype="<u2")[:, None], told["seq_len"], axis=1)


def share(told: Told) -> int:
    return told["global_batch"] // told["world"]


def write_ours(told: Told) -> str:
    import pyarrow as pa

    from formats.snapshot import manifest, token_shard
    from tests.formats.snapshot.made_snapshots import document_of

    root = Path(told["folder"])
    folder, shards = root / "snapshots" / "being-made", []
    for number, rows in enumerate(np.split(sequences(told), NUM_SHARDS)):
        columns = [[0], [rows.size], [0], ["made:0"]]
        index = pa.table(dict(zip(token_shard.INDEX.names, columns, strict=True)), token_shard.INDEX)
        shards.append(token_shard.write(folder, "train", "made", number, rows, index))
    snapshot_id = manifest.write(folder, document_of(shards, seq_len=told["seq_len"]))
    folder.rename(manifest.folder_of(root, snapshot_id))
    (root / "id").write_text(snapshot_id)
    return "ours"


def ours(told: Told) -> Opened:
    """Any rank's state for all: they are the same. One epoch, as the others count it: without `max_epochs` the lanes of
    a bucket of fewer rows than lanes * run read several epochs side by side.
    """
    from formats.loader.data_loader import DataLoader
    from formats.order.mixture import Mixture

    root = Path(told["folder"])
    loader = DataLoader(
        root, (root / "id").read_text(), mixture=[Mixture(0, {"made": 1}, max_epochs={"made": 1})], seed=1,
        dp_rank=told["rank"], dp_world=told["world"], seq_len=told["seq_len"], batches=told["global_batch"],
    )  # fmt: skip
    if told["states"]:
        loader.load_state_dict(told["states"][-1])
    return (batch.tokens for batch in loader), loader.state_dict


def write_litdata(told: Told) -> str:
    import torch
    from litdata import TokensLoader
    from litdata.streaming.writer import BinaryWriter

    tokens = told["num"] // NUM_SHARDS * told["seq_len"]
    writer = BinaryWriter(told["folder"], chunk_size=tokens, item_loader=TokensLoader(told["seq_len"]))
    for number, row in enumerate(sequences(told)):
        writer[number] = torch.from_numpy(row)
    writer.done()
    writer.merge()
    return _version("litdata")


def litdata(told: Told) -> Opened:
    """Rank 0's state for all, as a checkpoint holds it."""
    from litdata import StreamingDataLoader, StreamingDataset, TokensLoader

    data = StreamingDataset(
        told["folder"], item_loader=TokensLoader(told["seq_len"]), shuffle=True, drop_last=True, seed=1
    )
    loader = StreamingDataLoader(data, batch_size=share(told))
    if told["states"]:
        loader.load_state_dict(told["states"][0])
    return iter(loader), loader.state_dict


def write_streaming(told: Told) -> str:
    from streaming import MDSWriter

    columns = {"tokens": f"ndarray:uint16:{told['seq_len']}"}
    size = told["num"] // NUM_SHARDS * (2 * told["seq_len"] + 8)
    with MDSWriter(out=told["folder"], columns=columns, size_limit=size) as writer:
        for row in sequences(told):
            writer.write({"tokens": row})
    return _version("mosaicml-streaming")


def streaming(told: Told) -> Opened:
    """Rank 0's state for all; all ranks on one node."""
    from streaming import StreamingDataLoader, StreamingDataset

    data = StreamingDataset(
        local=told["folder"], shuffle=True, shuffle_seed=1, batch_size=share(told), num_canonical_nodes=2
    )
    loader = StreamingDataLoader(data, batch_size=share(told))
    if told["states"]:
        loader.load_state_dict(told["states"][0])
    return (batch["tokens"] for batch in loader), loader.state_dict


class Rows:
    """grain's random access to the sequences; told apart by `repr`, as it asks."""

    def __init__(self, told: Told) -> None:
        self._rows = sequences(told)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: Any) -> np.ndarray:
        return self._rows[number]

    def __repr__(self) -> str:
        return f"Rows({len(self)})"


def write_grain(_: Told) -> str:
    """Nothing: it has no form of its own for ids."""
    return _version("grain")


def grain_sampler(told: Told) -> Opened:
    """The ranks divide the sampler."""
    import grain.python as pygrain

    return _grain_loader(told, pygrain.ShardOptions(told["rank"], told["world"], drop_remainder=True), None)


def grain_loader(told: Told) -> Opened:
    """The ranks divide the loader, which its messages call the way forward."""
    import grain.python as pygrain

    return _grain_loader(told, pygrain.NoSharding(), pygrain.ShardOptions(told["rank"], told["world"]))


def _grain_loader(told: Told, of_sampler: Any, of_loader: Any) -> Opened:
    import grain.python as pygrain

    sampler = pygrain.IndexSampler(told["num"], shard_options=of_sampler, shuffle=True, num_epochs=1, seed=1)
    batch = pygrain.Batch(share(told), drop_remainder=True)
    loader = pygrain.DataLoader(data_source=Rows(told), sampler=sampler, operations=[batch], shard_options=of_loader)
    iterator = iter(loader)
    if told["states"]:
        iterator.set_state(_own(told).encode())
    return iterator, lambda: iterator.get_state().decode()


def grain_batch_last(told: Told) -> Opened:
    return _grain(told, _shuffled(told)[told["rank"] :: told["world"]].to_iter_dataset().batch(share(told)))


def grain_batch_first(told: Told) -> Opened:
    return _grain(told, _shuffled(told)[told["rank"] :: told["world"]].batch(share(told)).to_iter_dataset())


def grain_elastic(told: Told) -> Opened:
    import grain.python as pygrain
    from grain.experimental import ElasticIterator

    place = pygrain.ShardOptions(told["rank"], told["world"])
    return _grain(told, ElasticIterator(_shuffled(told), told["global_batch"], place))


def _shuffled(told: Told) -> Any:
    import grain.python as pygrain

    return pygrain.MapDataset.source(Rows(told)).shuffle(seed=1)


def _grain(told: Told, data: Iterable[Any]) -> Opened:
    iterator: Any = iter(data)
    if told["states"]:
        iterator.set_state(_own(told))
    return iterator, iterator.get_state


def _own(told: Told) -> Any:
    """The state of the rank of the same number, of the last one where there was none."""
    return told["states"][min(told["rank"], len(told["states"]) - 1)]


def _version(package: str) -> str:
    from importlib import metadata

    return f"{package} {metadata.version(package)}"


PEERS: dict[str, tuple[Callable[[Told], Opened], Callable[[Told], str]]] = {
    "ours": (ours, write_ours),
    "litdata": (litdata, write_litdata),
    "streaming": (streaming, write_streaming),
    "grain, sharded sampler": (grain_sampler, write_grain),
    "grain, sharded DataLoader": (grain_loader, write_grain),
    "grain, iter then batch": (grain_batch_last, write_grain),
    "grain, batch then iter": (grain_batch_first, write_grain),
    "grain, ElasticIterator": (grain_elastic, write_grain),
}

if __name__ == "__main__":
    main()
    sys.stderr.flush()
    os._exit(0)  # threads and process groups of libraries may outlive a refusal
