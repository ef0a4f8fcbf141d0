"""Run record: what a trainer saves so that everything any rank saw can be said later. Spec: run_record.md.

It holds the loader's state as it was saved last, and what the state leaves out because the order does not depend on
it: the split, and which number of ranks served which steps.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from formats import durable
from formats.errors import OrderError
from formats.json_fields import Choice, Flag, Kind, Problem, Whole
from formats.json_tables import Keyed, Rules, table
from formats.json_words import described
from formats.order import rules
from formats.order import state as loader_state
from formats.order.numbers import flag, whole
from formats.order.saved_order import SavedOrder, saved_order, snapshot_of
from formats.snapshot.manifest import SPLITS, Snapshot

FORMAT, VERSION = "run-record", 1
MAX_BYTES = 1024 * 1024
_TODO = "save it with formats.run_record.write, or take the checkpoint's own"


@dataclass(frozen=True)
class Ranks(Rules):
    """From `step` on, `dp_world` ranks served each global batch; `uneven`: some of them one sequence more."""

    step: Annotated[int, Whole()]
    dp_world: Annotated[int, Whole(1, 1 << 24)]
    uneven: Annotated[bool, Flag()] = False


class _State(Kind):
    """The loader's own, which `saved_order` holds to a snapshot."""

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield path, f"expected the state that the loader saved, found {described(value)}"

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"format": {"const": loader_state.FORMAT}}, "required": ["format"]}


class _History(Kind):
    """A list of Ranks, rising by step."""

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, list):
            yield path, f"expected a list, found {described(value)}"
            return
        last = -1
        for i, entry in enumerate(value):
            problems = [*table(Ranks).problems(entry, f"{path}[{i}]")]
            yield from problems
            if problems:
                return
            if entry["step"] <= last:
                yield f"{path}[{i}].step", f"expected more than {last}, found {entry['step']}"
            last = entry["step"]

    def build(self, value: Any) -> tuple[Ranks, ...]:
        return tuple(table(Ranks).build(entry) for entry in value)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": table(Ranks).schema()}


_RECORD = Keyed(
    {
        "format": Choice((FORMAT,)),
        "version": Whole(VERSION, VERSION),
        "split": Choice(SPLITS),
        "ranks": _History(),
        "state": _State(),
    },
    ("format", "version", "split", "ranks", "state"),
)


@dataclass(frozen=True)
class RunRecord:
    """`state` is the loader's, as JSON values; `ranks` rise by step, and say nothing of steps before the first."""

    state: Mapping[str, Any]
    ranks: tuple[Ranks, ...] = ()
    split: str = "train"

    @property
    def snapshot_id(self) -> str:
        return snapshot_of(self.state)

    def at(self, state: Mapping[str, Any]) -> "RunRecord":
        """The record to save with this state of the same process. Raises OrderError for the state of another run."""
        _same_run(self.state, state)
        return replace(self, state=state)

    def ranks_at(self, step: int) -> Ranks | None:
        """How many ranks served a step; None where nobody wrote it down."""
        return next((entry for entry in reversed(self.ranks) if entry.step <= step), None)

    def order(self, snapshot: Snapshot) -> SavedOrder:
        """The order of the run. Raises OrderError where the record is not of this snapshot, or was changed."""
        return saved_order(self.state, snapshot.snapshot_id, snapshot.buckets(self.split))

    def as_json(self) -> dict[str, Any]:
        ranks = [{"step": one.step, "dp_world": one.dp_world, "uneven": one.uneven} for one in self.ranks]
        head = {"format": FORMAT, "version": VERSION, "split": self.split}
        return {**head, "ranks": ranks, "state": dict(self.state)}


def begin(
    state: Mapping[str, Any],
    *,
    dp_world: int,
    uneven: bool = False,
    split: str = "train",
    before: RunRecord | None = None,
) -> RunRecord:
    """The record of a process that goes on at `state` with `dp_world` ranks; `before` is the record it resumes from.

    Call it once when the process starts and after each state that is loaded, and save `.at(loader.state_dict())` with
    every checkpoint. Steps that were served but not saved are served again, so what `before` says of them goes.
    `formats.loader.data_loader.DataLoader.run_record` calls it with its own split and ranks. Raises OrderError where
    `before` is of another run, and for what `read` would refuse.
    """
    snapshot_of(state)  # which says what is no state
    world, is_uneven = whole(dp_world, "dp_world"), flag(uneven, "uneven")
    kept: tuple[Ranks, ...] = ()
    if before is not None:
        if before.split != split:
            raise OrderError(f"run record: split is {before.split}, expected {split}; resume with the run's own")
        _same_run(before.state, state)
        kept = tuple(entry for entry in before.ranks if entry.step < state["step"])
    now = Ranks(state.get("step", 0), world, is_uneven)
    is_as_before = bool(kept) and (kept[-1].dp_world, kept[-1].uneven) == (world, is_uneven)
    record = RunRecord(state, kept if is_as_before else (*kept, now), split)
    _check(record.as_json())
    return record


def _same_run(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Both states are of one past, whichever is later."""
    for name in ("snapshot_id", "seed", "chunk"):
        if before.get(name) != after.get(name):
            what = f"{name} is {described(after.get(name))}, expected {described(before.get(name))}"
            raise OrderError(f"run record: {what}; begin a new record for another run")
    for name, begins in (("mixtures", "position"), ("batches", "step")):
        try:
            common = max(1, min(before[begins], after[begins]))
            one, other = ([e for e in state[name] if _begin_of(e) < common] for state in (before, after))
        except (KeyError, TypeError, IndexError, ValueError):
            raise OrderError(f"run record: {name} are missing or none in a state; {_TODO}") from None
        if one != other:
            raise OrderError(f"run record: {name} of the past are others; begin a new record for another run")


def _begin_of(entry: Any) -> int:
    """The position of a mixture, the first step of a batch size."""
    return int(entry["position"] if isinstance(entry, Mapping) else entry[0])


def from_json(value: Any, where: object = "run record") -> RunRecord:
    """A run record, or a bare loader state as a record that says nothing of ranks. Raises OrderError for neither."""
    if isinstance(value, dict) and value.get("format") == loader_state.FORMAT:
        return RunRecord(value)
    _hold(value, where)
    return RunRecord(value["state"], _RECORD.build(value)["ranks"], value["split"])


def _check(value: Any) -> None:
    """Raises OrderError for a record that `read` would refuse, or then `RunRecord.order` in whatever snapshot."""
    _hold(value, "run record")
    for field, wrong in rules.state_problems(value["state"]):
        raise OrderError(f"run record: state.{field}: {wrong}; {_TODO}")


def _hold(value: Any, where: object) -> None:
    for path, wrong in _RECORD.problems(value, ""):
        raise OrderError(f"{where}: {path + ': ' if path else ''}{wrong}; {_TODO}")


def to_bytes(record: RunRecord) -> bytes:
    """The record as a file holds it. Raises OrderError for one that `read` would refuse."""
    snapshot_of(record.state)
    value = record.as_json()
    _check(value)
    try:
        data = (json.dumps(value, indent=1, sort_keys=True) + "\n").encode("ascii")
    except (TypeError, ValueError) as error:
        raise OrderError(f"run record: state is no JSON ({str(error)[:100]}); {_TODO}") from None
    if len(data) > MAX_BYTES:
        raise OrderError(f"run record: {len(data)} bytes, expected at most {MAX_BYTES}; {_TODO}")
    return data


def write(path: Path | str, record: RunRecord) -> None:
    """Write the record whole or not at all. Raises OrderError for one that `read` would refuse."""
    durable.write_file(Path(path), to_bytes(record))


def read(path: Path | str) -> RunRecord:
    """The record, or the bare loader state, in a file. Raises OrderError for what is none."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise OrderError(f"{path}: cannot be read ({error.strerror}); name the file that the trainer saved") from None
    if len(data) > MAX_BYTES:
        raise OrderError(f"{path}: more than {MAX_BYTES} bytes, expected a run record; {_TODO}")
    try:
        value = durable.json_value(data)
    except (ValueError, RecursionError) as error:
        raise OrderError(f"{path}: is no JSON ({str(error)[:100]}); {_TODO}") from None
    return from_json(value, path)
