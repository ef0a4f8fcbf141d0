"""Loader processes killed at any moment, and new ones that go on from what was saved: the same stream."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from itertools import islice

from formats.snapshot import manifest
from tests.formats.loader.made_training import loader, made

STEPS = 40


def main(root, snapshot_id, rank, world, saves):
    """A trainer of one rank: it says what it was served, and only then saves; a line a step."""
    snapshot = manifest.read(root, snapshot_id)
    with loader(root, snapshot, rank, world) as one:
        if saves.exists():
            one.load_state_dict(json.loads(saves.read_text()))
        for batch in islice(one, STEPS - one.step):
            print(batch.step, rank, digest(batch.tokens), flush=True)
            unfinished = saves.with_suffix(f".{rank}")
            unfinished.write_text(json.dumps(one.state_dict()))
            unfinished.replace(saves)


def digest(tokens):
    return hashlib.sha256(tokens.tobytes()).hexdigest()


def test_killed_processes_are_followed_by_others_that_serve_the_same(tmp_path):
    """Every rank is killed after a few lines, in the middle of reading ahead, at another number of ranks each time."""
    snapshot = made(tmp_path)
    seen, saves = {}, tmp_path / "saved.json"
    for world, num_lines in ((1, 1), (2, 5), (1, 7), (3, 4), (2, 99)):
        trainers = [start(tmp_path, snapshot, rank, world, saves) for rank in range(world)]
        for rank, trainer in enumerate(trainers):
            lines = list(islice(trainer.stdout, num_lines))
            os.kill(trainer.pid, signal.SIGKILL)
            lines += trainer.stdout.readlines()  # what it said before it was dead
            trainer.wait()
            trainer.stdout.close()
            for line in lines:
                step, _, found = line.split()
                assert seen.setdefault((int(step), rank, world), found) == found
    assert json.loads(saves.read_text())["step"] == STEPS
    assert {step for step, _, _ in seen} == set(range(STEPS))
    for world in {world for _, _, world in seen}:
        for rank in range(world):
            with loader(tmp_path, snapshot, rank, world) as one:
                for batch in islice(one, STEPS):
                    assert seen.get((batch.step, rank, world), digest(batch.tokens)) == digest(batch.tokens)


def start(root, snapshot, rank, world, saves):
    program = "from pathlib import Path; import sys; from tests.formats.loader.test_killed import main;"
    program += "main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))"
    arguments = [str(root), snapshot.snapshot_id, str(rank), str(world), str(saves)]
    return subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)
