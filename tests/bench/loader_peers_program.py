"""How fast another loader serves the same sequences, as a program for an interpreter that has it: JSON in, JSON out.

In: `peer`, `data` (a file of n * seq_len uint16 ids), `seq_len`, `buckets` (rows of each), `weights`, `scratch`, `num`.
Out: samples a CPU second in the order of the file and with the mixture, CPU milliseconds from a state in the middle to
the next sample in a new object, bytes on disk. Each library at its defaults, in one process, from local files.
"""

import contextlib
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

Told = dict[str, Any]


def main() -> None:
    told = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):  # some greet
        answer = PEERS[told["peer"]](told)
    json.dump(answer, sys.stdout)


def parts(told: Told) -> list[np.ndarray]:
    """The sequences of each bucket."""
    rows = np.memmap(told["data"], "<u2", "r").reshape(-1, told["seq_len"])
    borders = np.cumsum([0, *told["buckets"]]).tolist()
    return [rows[a:b] for a, b in pairwise(borders)]


def samples_a_second(served: Iterable[Any], num: int) -> float:
    """CPU seconds of this process and its children, after a tenth of the samples."""
    iterator = iter(served)
    for _ in islice(iterator, num // 10):
        pass
    start, count = cpu_seconds(), sum(1 for _ in islice(iterator, num))
    return count / max(cpu_seconds() - start, 1e-9)


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def milliseconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1e3 * (time.process_time() - start)


def litdata(told: Told) -> dict[str, float]:
    import torch
    from litdata import CombinedStreamingDataset, StreamingDataLoader, StreamingDataset, TokensLoader
    from litdata.streaming.writer import BinaryWriter

    folders = []
    for i, rows in enumerate(parts(told)):
        folder = Path(told["scratch"]) / f"litdata-{i}"
        folder.mkdir()
        writer = BinaryWriter(str(folder), chunk_bytes="64MB", item_loader=TokensLoader(told["seq_len"]))
        for number, row in enumerate(rows):
            writer[number] = torch.from_numpy(np.array(row))
        writer.done()
        writer.merge()
        folders.append(folder)

    def data_set(folder: Path) -> StreamingDataset:
        return StreamingDataset(str(folder), item_loader=TokensLoader(told["seq_len"]), shuffle=False)

    def mixed() -> StreamingDataLoader:
        sets = [data_set(folder) for folder in folders]
        weights = [weight / sum(told["weights"]) for weight in told["weights"]]
        both = CombinedStreamingDataset(sets, weights=weights, seed=1, iterate_over_all=False)
        return StreamingDataLoader(both, batch_size=1, num_workers=0)

    def again() -> None:
        other = mixed()
        other.load_state_dict(state)
        next(iter(other))

    sequential = samples_a_second(data_set(folders[0]), told["buckets"][0] // 2)
    mixture = samples_a_second(
        CombinedStreamingDataset(
            [data_set(folder) for folder in folders],
            weights=[weight / sum(told["weights"]) for weight in told["weights"]],
            seed=1,
            iterate_over_all=False,
        ),
        told["num"],
    )
    loader = mixed()
    for _ in islice(iter(loader), told["num"] // 2):
        pass
    state = loader.state_dict()
    return {
        "sequential": sequential, "mixture": mixture, "resume": milliseconds(again),
        "bytes": sum(map(bytes_below, folders)),
    }  # fmt: skip


def streaming(told: Told) -> dict[str, float]:
    from streaming import MDSWriter, Stream, StreamingDataset

    folders = []
    for i, rows in enumerate(parts(told)):
        folder = Path(told["scratch"]) / f"mds-{i}"
        with MDSWriter(out=str(folder), columns={"tokens": f"ndarray:uint16:{told['seq_len']}"}) as writer:
            for row in rows:
                writer.write({"tokens": row})
        folders.append(folder)

    def mixed() -> StreamingDataset:
        total = sum(told["weights"])
        streams = [Stream(local=str(f), proportion=w / total) for f, w in zip(folders, told["weights"], strict=True)]
        return StreamingDataset(streams=streams, shuffle=True, batch_size=64, epoch_size=3 * told["num"])

    def again() -> None:
        other = mixed()
        other.load_state_dict(state)
        next(iter(other))

    one = StreamingDataset(local=str(folders[0]), shuffle=False, batch_size=64)
    sequential = samples_a_second(one, told["buckets"][0] // 2)
    both = mixed()
    mixture = samples_a_second(both, told["num"])
    state = both.state_dict(told["num"] // 2, True)
    return {
        "sequential": sequential, "mixture": mixture, "resume": milliseconds(again),
        "bytes": sum(map(bytes_below, folders)),
    }  # fmt: skip


def grain(told: Told) -> dict[str, float]:
    """Over mapped files, which its random access asks for: it has no form of its own for ids."""
    import grain.python as pygrain

    class Rows:
        def __init__(self, rows: np.ndarray) -> None:
            self._rows = rows

        def __len__(self) -> int:
            return len(self._rows)

        def __getitem__(self, number: Any) -> np.ndarray:
            return np.array(self._rows[number])

    buckets = [Rows(rows) for rows in parts(told)]

    def mixed() -> Iterator[Any]:
        sets = [pygrain.MapDataset.source(rows).shuffle(seed=1).repeat() for rows in buckets]
        return iter(pygrain.MapDataset.mix(sets, weights=told["weights"]).to_iter_dataset())

    def again() -> None:
        other = mixed()
        other.set_state(state)
        next(other)

    sequential = samples_a_second(pygrain.MapDataset.source(buckets[0]).to_iter_dataset(), told["buckets"][0] // 2)
    mixture = samples_a_second(mixed(), told["num"])
    iterator = mixed()
    for _ in islice(iterator, told["num"] // 2):
        pass
    state = iterator.get_state()
    return {
        "sequential": sequential, "mixture": mixture, "resume": milliseconds(again),
        "bytes": Path(told["data"]).stat().st_size,
    }  # fmt: skip


PEERS = {"litdata": litdata, "streaming": streaming, "grain": grain}

if __name__ == "__main__":
    main()
