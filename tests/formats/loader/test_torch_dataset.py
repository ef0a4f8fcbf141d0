"""The loader under torch: any number of workers serves each step once, in order, from any state on."""

import json
import subprocess
import sys
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from formats.errors import ConfigError, OrderError
from formats.loader.settings import ReadSettings
from tests.formats.loader.made_training import CHUNK, MIXTURES, SEED, loader, made
from tests.formats.snapshot.made_snapshots import SEQ_LEN

torch = pytest.importorskip("torch", reason="torch is not installed (extra `torch`)")
data = pytest.importorskip("torch.utils.data")
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),  # more workers than this machine has cores
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),
]

from formats.loader.torch_dataset import TokenDataset  # noqa: E402  it needs torch

STEPS, WORKERS = 17, [0, 1, 2, 3]
END = 12 * STEPS


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """(artifacts root, snapshot, rank 1 of 2's tokens of each step)."""
    root = tmp_path_factory.mktemp("root")
    snapshot = made(root)
    with loader(root, snapshot, 1, 2, end=END) as one:
        return root, snapshot, [batch.tokens.tolist() for batch in one]


def dataset_of(root, snapshot, rank=1, world=2, **changes):
    wanted = {
        "mixture": MIXTURES, "seed": SEED, "seq_len": SEQ_LEN, "batches": 12, "chunk": CHUNK, "end": END,
        "settings": ReadSettings(prefetch_bytes=3000, lead_steps=2), **changes,
    }  # fmt: skip
    return TokenDataset(root, snapshot.snapshot_id, dp_rank=rank, dp_world=world, **wanted)


def batches(dataset, num_workers, **changes):
    return data.DataLoader(dataset, batch_size=None, num_workers=num_workers, **changes)


def tokens(served):
    """[step] -> tokens, after the steps were seen to come in order."""
    served = list(served)
    assert [batch["step"] for batch in served] == list(range(served[0]["step"], served[0]["step"] + len(served)))
    return [batch["tokens"].tolist() for batch in served]


@pytest.mark.parametrize("num_workers", WORKERS)
def test_workers_share_the_steps_and_each_comes_once_in_order(training, num_workers):
    root, snapshot, expected = training
    served = list(batches(dataset_of(root, snapshot), num_workers))
    assert tokens(served) == expected
    assert served[0]["tokens"].dtype == torch.int64
    assert served[3]["positions"].tolist() == list(range(3 * 12 + 1, 4 * 12, 2))


@pytest.mark.parametrize("num_workers", WORKERS)
def test_every_sequence_is_served_once_an_epoch(training, num_workers):
    root, snapshot, _ = training
    caps = {"mixture": [MIXTURES[0].__class__(0, {"web": 1, "books": 1}, 4, 4, {"web": 1, "books": 2})]}
    served = [
        tuple(row)
        for rank in range(2)
        for batch in batches(dataset_of(root, snapshot, rank, 2, batches=10, end=1 << 40, **caps), num_workers)
        for row in batch["tokens"].tolist()
    ]
    assert Counter(Counter(served).values()) == {1: 33, 2: 13}


@pytest.mark.parametrize(("before", "after"), [(0, 3), (1, 2), (2, 0), (2, 3), (3, 1), (3, 3)])
def test_a_state_saved_at_some_workers_is_restored_at_others(training, before, after):
    root, snapshot, expected = training
    dataset = dataset_of(root, snapshot)
    *_, last = islice(batches(dataset, before), 5)
    saved = json.loads(json.dumps(dataset.state_dict(last["step"] + 1)))
    with loader(root, snapshot, 0, 3) as other:  # it is the loader's own, at any number of ranks
        other.load_state_dict(saved)
        assert other.step == 5
    restored = dataset_of(root, snapshot)
    restored.load_state_dict(saved)
    assert tokens(batches(restored, after)) == expected[5:]


@pytest.mark.parametrize(
    ("num_workers", "at"), [(0, 4), (0, STEPS), (1, 1), (1, STEPS), (2, 0), (2, 4), (3, 4), (3, STEPS - 3), (3, STEPS)]
)
def test_torchdata_saves_and_restores_it(training, num_workers, at):
    """Also a second time, and after the last step."""
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    root, snapshot, expected = training

    def made_loader():
        return stateful.StatefulDataLoader(dataset_of(root, snapshot), batch_size=None, num_workers=num_workers)

    first = made_loader()
    served = tokens_or_none(islice(iter(first), at))
    second = made_loader()
    second.load_state_dict(first.state_dict())
    served += tokens_or_none(islice(iter(second), min(3, STEPS - at)))
    third = made_loader()
    third.load_state_dict(second.state_dict())
    assert served + tokens_or_none(third) == expected


def test_after_an_iteration_that_ended_torchdata_begins_another(training):
    """Its own convention for epochs, which a run with an end has to know of: loader.md."""
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    root, snapshot, expected = training
    first, second = (
        stateful.StatefulDataLoader(dataset_of(root, snapshot), batch_size=None, num_workers=1) for _ in range(2)
    )
    assert tokens(first) == expected
    second.load_state_dict(first.state_dict())
    assert tokens(second) == expected


def tokens_or_none(served):
    served = list(served)
    return tokens(served) if served else []


def test_it_is_given_to_workers_that_are_spawned(training):
    root, snapshot, expected = training
    dataset = dataset_of(root, snapshot)
    next(iter(dataset))
    assert tokens(batches(dataset, 2, multiprocessing_context="spawn")) == expected


def test_a_killed_worker_is_an_error_and_the_state_goes_on(training):
    root, snapshot, expected = training
    words = [sys.executable, "-m", "tests.formats.loader.torch_killed_worker", str(root), snapshot.snapshot_id]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert ran.returncode != 0
    assert "Error" in ran.stderr
    (line,) = ran.stdout.splitlines()
    served, dataset = json.loads(line), dataset_of(root, snapshot)
    restored = dataset_of(root, snapshot)
    restored.load_state_dict(dataset.state_dict(3))
    assert served + tokens(batches(restored, 2)) == expected


def test_a_process_that_served_nothing_does_not_guess_a_state(training):
    root, snapshot, _ = training
    dataset = dataset_of(root, snapshot)
    list(islice(batches(dataset, 2), 3))
    with pytest.raises(OrderError, match="name the step"):
        dataset.state_dict()
    list(islice(batches(dataset, 0), 3))
    assert dataset.state_dict()["step"] == 3


def test_what_does_not_fit_is_refused_before_a_worker_begins(training):
    root, snapshot, _ = training
    with pytest.raises(ConfigError, match="seq_len"):
        dataset_of(root, snapshot, seq_len=9)
    with pytest.raises(OrderError, match="multiple"):
        dataset_of(root, snapshot, 0, 5)
    with pytest.raises(OrderError, match="seed"):
        dataset_of(root, snapshot, seed=8).load_state_dict(dataset_of(root, snapshot).state_dict(2))


def test_tokens_come_in_the_type_asked_for(training):
    root, snapshot, expected = training
    first = next(iter(dataset_of(root, snapshot, dtype=torch.uint16)))
    assert first["tokens"].dtype == torch.uint16
    assert np.array_equal(first["tokens"].numpy(), expected[0])
