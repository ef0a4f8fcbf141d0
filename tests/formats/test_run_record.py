"""A run record holds a whole history of processes, and nothing that is not of the run."""

import json

import numpy as np
import pytest

from formats import run_record
from formats.errors import OrderError
from formats.order.mixture import Mixture
from formats.run_record import Ranks, RunRecord
from tests.formats.loader.made_training import MIXTURES, loader, made
from tests.formats.made_runs import HISTORY, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    snapshot = made(root)
    return root, snapshot, train(root, snapshot).record


def state_of(root, snapshot, step, **changes):
    with loader(root, snapshot, **changes) as one:
        one.seek(step)
        return one.state_dict()


def test_a_record_says_which_ranks_served_every_step(trained):
    _, _, record = trained
    assert record.ranks == (Ranks(0, 3, True), Ranks(9, 7, True), Ranks(17, 2, True))
    expected = [world for num_steps, world in HISTORY for _ in range(num_steps)]
    assert [record.ranks_at(step).dp_world for step in range(23)] == expected
    assert record.state["step"] == 23


def test_it_is_read_as_it_was_written_and_small(trained, tmp_path):
    _, snapshot, record = trained
    run_record.write(tmp_path / "run.json", record)
    assert run_record.read(tmp_path / "run.json") == record
    assert (tmp_path / "run.json").stat().st_size < 2_000
    assert record.order(snapshot).step == 23


def test_a_bare_state_is_a_record_that_knows_no_ranks(trained, tmp_path):
    _, snapshot, record = trained
    (tmp_path / "state.json").write_text(json.dumps(record.state))
    bare = run_record.read(tmp_path / "state.json")
    assert bare == RunRecord(record.state)
    assert bare.ranks_at(3) is None
    assert bare.order(snapshot).step == 23


def test_a_process_that_goes_back_forgets_what_came_behind(trained):
    root, snapshot, record = trained
    back = run_record.begin(state_of(root, snapshot, 12), dp_world=4, before=record)
    assert back.ranks == (Ranks(0, 3, True), Ranks(9, 7, True), Ranks(12, 4, False))
    same = run_record.begin(state_of(root, snapshot, 12), dp_world=7, uneven=True, before=record)
    assert same.ranks == (Ranks(0, 3, True), Ranks(9, 7, True))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": 8}, "seed is 8, expected 7"),
        ({"chunk": 8}, "chunk"),
        ({"batches": [(0, 12), (5, 6)]}, "batches"),
        ({"mixture": [MIXTURES[0], Mixture(60, {"web": 1})]}, "mixtures"),
    ],
)
def test_a_state_of_another_run_is_refused(trained, change, says):
    root, snapshot, record = trained
    other = state_of(root, snapshot, 10, **change)
    with pytest.raises(OrderError, match=says):
        record.at(other)
    with pytest.raises(OrderError, match=says):
        run_record.begin(other, dp_world=3, before=record)


@pytest.mark.parametrize("field", ["mixtures", "batches", "step", "position"])
@pytest.mark.parametrize("value", [None, [None], {"a": 1}])
def test_a_record_whose_state_is_none_is_refused_when_it_is_gone_on_with(trained, field, value):
    root, snapshot, record = trained
    broken = RunRecord({**record.state, field: value}, record.ranks)
    with pytest.raises(OrderError):
        run_record.begin(state_of(root, snapshot, 10), dp_world=3, before=broken)


def test_a_later_change_of_the_mixture_is_of_the_run(trained):
    root, snapshot, record = trained
    changed = [*MIXTURES, Mixture(23 * 12, {"web": 1}, lanes=3, run=2)]
    assert record.at(state_of(root, snapshot, 25, mixture=changed)).state["step"] == 25


def test_the_record_of_another_split_is_refused(trained):
    root, snapshot, record = trained
    with pytest.raises(OrderError, match="split is train, expected val"):
        run_record.begin(state_of(root, snapshot, 3), dp_world=1, split="val", before=record)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "other"}, "format"),
        ({"version": 2}, "version"),
        ({"split": "test"}, "split: expected one of train, val"),
        ({"split": "../etc"}, "split"),
        ({"ranks": {}}, "ranks: expected a list"),
        ({"ranks": [{"step": 0, "dp_world": 0, "uneven": False}]}, r"ranks\[0\].dp_world"),
        ({"ranks": [{"step": 0}]}, r"ranks\[0\].dp_world: missing"),
        ({"ranks": [{"step": 3, "dp_world": 2}, {"step": 3, "dp_world": 4}]}, r"ranks\[1\].step: expected more than 3"),
        ({"state": None}, "state: expected the state"),
        ({"more": 1}, "more: unknown"),
    ],
)
def test_what_is_wrong_with_a_record_is_named(trained, change, says):
    _, _, record = trained
    with pytest.raises(OrderError, match=says):
        run_record.from_json({**record.as_json(), **change})


@pytest.mark.parametrize("field", ["format", "version", "split", "ranks", "state"])
def test_what_is_missing_in_a_record_is_named(trained, field):
    value = trained[2].as_json()
    del value[field]
    with pytest.raises(OrderError, match=f"{field}: missing"):
        run_record.from_json(value)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1]", b"null", b"[" * 100_000, b"\xff\xfe", b" " * (1 << 20) + b"{}", b'"state"']
)
def test_a_file_that_is_no_record_is_refused_by_name(tmp_path, data):
    (tmp_path / "run.json").write_bytes(data)
    with pytest.raises(OrderError, match=r"run\.json"):
        run_record.read(tmp_path / "run.json")
    with pytest.raises(OrderError, match="cannot be read"):
        run_record.read(tmp_path / "missing.json")


def test_a_path_may_be_text(trained, tmp_path):
    run_record.write(str(tmp_path / "run.json"), trained[2])
    assert run_record.read(str(tmp_path / "run.json")) == trained[2]


def test_numbers_of_numpy_are_written_as_numbers(trained, tmp_path):
    root, snapshot, _ = trained
    record = run_record.begin(state_of(root, snapshot, 3), dp_world=np.int64(4), uneven=np.bool_(True))
    run_record.write(tmp_path / "run.json", record)
    assert run_record.read(tmp_path / "run.json").ranks == (Ranks(3, 4, True),)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"dp_world": 10**9}, r"ranks\[0\].dp_world: expected a whole number from 1 to 16777216, found 1000000000"),
        ({"dp_world": 0}, r"ranks\[0\].dp_world"),
        ({"dp_world": 4.0}, "dp_world is 4.0, expected a whole number"),
        ({"dp_world": True}, "dp_world is true"),
        ({"uneven": 1}, "uneven is 1, expected True or False"),
        ({"split": "test"}, "split: expected one of train, val"),
    ],
)
def test_a_record_that_could_not_be_read_back_is_not_begun(trained, change, says):
    root, snapshot, _ = trained
    with pytest.raises(OrderError, match=says):
        run_record.begin(state_of(root, snapshot, 3), **{"dp_world": 4, **change})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": 7.5}, "state.seed: expected a whole number, found 7.5"),
        ({"seed": True}, "state.seed"),
        ({"chunk": 0}, "state.chunk"),
        ({"step": None}, "state.step"),
        ({"batches": [[0, 8.0]]}, r"state.batches\[0\]: .* found 0, 8.0"),
        ({"mixtures": [{"position": 0}]}, r"state.mixtures\[0\].weights: missing"),
        ({"snapshot_id": 3}, "snapshot_id is 3"),
        ({"witness": b"ab"}, "state is no JSON"),
        ({"witness": "a" * (1 << 20)}, "bytes, expected at most 1048576"),
    ],
)
def test_a_state_that_could_not_be_read_back_is_not_written(trained, tmp_path, change, says):
    record = trained[2]
    broken = RunRecord({**record.state, **change}, record.ranks)
    with pytest.raises(OrderError, match=says):
        run_record.write(tmp_path / "run.json", broken)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("state", [None, [], {}, {"step": 3}])
def test_what_is_no_state_begins_no_record(state):
    with pytest.raises(OrderError, match="snapshot_id"):
        run_record.begin(state, dp_world=1)


def test_ranks_that_do_not_rise_are_not_written(trained, tmp_path):
    broken = RunRecord(trained[2].state, (Ranks(3, 2), Ranks(3, 4)))
    with pytest.raises(OrderError, match=r"ranks\[1\].step: expected more than 3"):
        run_record.write(tmp_path / "run.json", broken)
