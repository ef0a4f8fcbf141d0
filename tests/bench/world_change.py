"""What loaders serve when the number of ranks changes in the middle of an epoch, counted from the sequences' numbers.

An epoch of 960 sequences in 40 global batches begins on 4 ranks; after 17 steps their states are taken, and other
processes go on from them on 4, 2 or 3 ranks, or on 2 and 12 steps later on 3. The global batch stays 24.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from threading import Event
from typing import Any

from tests import ports
from tests.bench import world_change_program as program
from tests.bench.measure import Quality

Told = dict[str, Any]
Ask = Callable[[list[Told]], list[dict[str, Any]]]
"""Runs what the ranks of one start are told, and gives their answers."""
NUM, SEQ_LEN, GLOBAL_BATCH = 960, 16, 24
SAVED = 17, 12
"""Steps from the beginning to the first state, and from there to the second one."""
CHANGES = (4, 4), (4, 2), (4, 3), (4, 2, 3)
SECONDS = 300
HOW = {
    "ours": "DataLoader.state_dict, max_epochs 1",
    "litdata": "StreamingDataLoader.state_dict of rank 0, shuffle and drop_last on",
    "streaming": "StreamingDataLoader.state_dict of rank 0, one node, num_canonical_nodes 2",
    "grain, sharded sampler": "own state of each rank, DataLoader over IndexSampler(shard_options)",
    "grain, sharded DataLoader": "own state of each rank, DataLoader(shard_options) over IndexSampler",
    "grain, iter then batch": "own state of each rank, shuffled[rank::world].to_iter_dataset().batch",
    "grain, batch then iter": "own state of each rank, shuffled[rank::world].batch.to_iter_dataset()",
    "grain, ElasticIterator": "grain.experimental, own state of each rank",
}
REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """Of one change: sequences served twice or more and never, and the share of the later global batches that hold what
    the run holds that never changed; or the words with which a rank refused the state.
    """

    twice: int = 0
    never: int = 0
    same: float = 0.0
    refused: str = ""

    def __str__(self) -> str:
        return f"refused ({self.refused:.80})" if self.refused else f"twice {self.twice}, never {self.never}"


def found(peer: str, folder: Path, ask: Ask) -> tuple[str, dict[tuple[int, ...], Outcome]]:
    """The version of a loader, and what it does at each of CHANGES."""
    about: Told = {"peer": peer, "folder": str(folder), "num": NUM, "seq_len": SEQ_LEN, "global_batch": GLOBAL_BATCH}
    folder.mkdir()
    version = ask([{**about, "write": True}])[0]["written"]
    starts: dict[tuple[int, ...], list[dict[str, Any]]] = {}

    def start(worlds: tuple[int, ...]) -> list[dict[str, Any]]:
        """The answers of the ranks of the last world, started from the states of the one before."""
        if worlds not in starts:
            states = [answer["state"] for answer in start(worlds[:-1])] if worlds[1:] else None
            save = SAVED[len(worlds) - 1] if len(worlds) <= len(SAVED) else None
            told = [{**about, "world": worlds[-1], "states": states, "save_after": save} for _ in range(worlds[-1])]
            starts[worlds] = ask([{**one, "rank": rank} for rank, one in enumerate(told)])
        return starts[worlds]

    unchanged = global_batches(start(CHANGES[0][:1]))
    outcomes = {}
    for worlds in CHANGES:
        served: list[list[int]] = []
        for i in range(len(worlds)):
            answers = start(worlds[: i + 1])
            refused = [answer["refused"] for answer in answers if "refused" in answer]
            if refused:
                outcomes[worlds] = Outcome(refused=refused[0])
                break
            served += global_batches(answers)[: SAVED[i] if i + 1 < len(worlds) else None]
        else:
            outcomes[worlds] = outcome(served, unchanged)
    return version, outcomes


def global_batches(answers: list[dict[str, Any]]) -> list[list[int]]:
    """What all ranks together were served at each step, in the order of the numbers."""
    steps = zip_longest(*(answer["batches"] for answer in answers), fillvalue=())
    return [sorted(number for rank in step for number in rank) for step in steps]


def outcome(served: list[list[int]], unchanged: list[list[int]]) -> Outcome:
    """Of the batches of a whole epoch that changed, beside those of one that did not."""
    times = Counter(number for batch in served for number in batch)
    later = list(zip_longest(served[SAVED[0] :], unchanged[SAVED[0] :]))
    return Outcome(
        sum(count > 1 for count in times.values()),
        sum(number not in times for number in range(NUM)),
        sum(one == other for one, other in later) / max(len(later), 1),
    )


def in_processes(command: list[str]) -> Ask:
    """Each rank in a process of its own, all at once; they are ended where one refuses and others wait for it.

    Raises RuntimeError where one fails otherwise, or says nothing.
    """

    def ask(told: list[Told]) -> list[dict[str, Any]]:
        port = ports.free()
        processes = [
            subprocess.Popen(
                command, env=_environment(one, port), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True,
            )
            for one in told
        ]  # fmt: skip

        has_ended = Event()

        def answer(process: subprocess.Popen[str], one: Told) -> dict[str, Any]:
            try:
                out, err = process.communicate(json.dumps(one), timeout=SECONDS)
            except subprocess.TimeoutExpired:
                end()
                raise RuntimeError(f"{one['peer']}: rank {one.get('rank')}: nothing within {SECONDS} s") from None
            if process.returncode < 0 and has_ended.is_set():
                return {"batches": [], "state": None}  # another one refused
            if process.returncode:
                end()
                raise RuntimeError(f"{one['peer']}: rank {one.get('rank')} failed:\n{err[-2000:]}")
            found = json.loads(out)
            if "refused" in found:
                end()
            return found

        def end() -> None:
            has_ended.set()
            for process in processes:
                process.kill()

        with ThreadPoolExecutor(len(told)) as threads:
            return list(threads.map(answer, processes, told))

    return ask


def _environment(told: Told, port: int) -> dict[str, str]:
    world, rank = str(told.get("world", 1)), str(told.get("rank", 0))
    return {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY) if told["peer"] == "ours" else "",
        "RANK": rank, "LOCAL_RANK": rank, "GLOBAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world,
        "NNODES": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "LITDATA_DISABLE_VERSION_CHECK": "1",
    }  # fmt: skip


def rows(bench: str, scratch: Path, peers_python: str | None) -> Iterator[Quality]:
    """A row for each loader and change; the peers' where there is an interpreter that has them."""
    for number, peer in enumerate(program.PEERS):
        python = sys.executable if peer == "ours" else peers_python
        if python:
            ask = in_processes([python, str(Path(program.__file__))])
            version, outcomes = found(peer, scratch / f"world-change-{number}", ask)
            form = peer.partition(", ")[2]
            for worlds, one in outcomes.items():
                name = f"{version}{', ' * bool(form)}{form}: {' to '.join(map(str, worlds))} ranks"
                yield Quality(bench, name, one.same, 1.0 if peer == "ours" else None, note=f"{one}; {HOW[peer]}")
