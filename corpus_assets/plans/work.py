"""Stage outputs by identity: what a stage would compute again is taken from `corpus/work`, also across versions.

An identity is the hash of everything that can change a byte: the stage's code version, its slice of the config, the
digests of its inputs and models, the versions of the libraries it names, and the columns it writes.
"""

import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa

from formats import canonical, dataset, durable
from formats.dataset import Dataset
from formats.errors import NotMadeError
from formats.layout import Layout

_may_make: ContextVar[bool] = ContextVar("_may_make", default=True)
_asked_for: ContextVar[set[Path] | None] = ContextVar("_asked_for", default=None)


@cache
def library_version(name: str) -> str:
    """The installed version of a distribution."""
    return metadata.version(name)


@dataclass(frozen=True)
class Identity:
    """What one stage output is made of; `digest` names its folder. `columns` are those of the output; None for what is
    no table.
    """

    stage: str
    code_version: str
    settings: Mapping[str, Any]
    inputs: Mapping[str, str]
    libraries: Mapping[str, str]
    columns: Any = None

    def as_json(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "code_version": self.code_version,
            "settings": dict(self.settings),
            "inputs": dict(self.inputs),
            "libraries": dict(self.libraries),
            "columns": self.columns,
        }

    @cached_property
    def digest(self) -> str:
        return canonical.digest(self.as_json())


def identity(
    stage: str,
    code_version: str,
    *,
    settings: Mapping[str, Any],
    inputs: Mapping[str, str],
    libraries: Iterable[str],
) -> Identity:
    """The identity of a stage run here, with the versions of `libraries` (distribution names) as installed."""
    return Identity(stage, code_version, settings, inputs, {name: library_version(name) for name in sorted(libraries)})


@dataclass(frozen=True)
class Output:
    """One stage output: what it is, and how it would be made. Nothing is read or written until it is asked for.

    The schema becomes part of the identity here, so that no plan can forget it.
    """

    layout: Layout
    identity: Identity
    schema: pa.Schema
    maker: Callable[[Path], Dataset]
    belongs_to: str

    def __post_init__(self) -> None:
        # Metadata is written into the files, so it counts as the columns do.
        metadata = {key.decode(): value.decode() for key, value in (self.schema.metadata or {}).items()}
        columns = {"schema": dataset.schema_as_json(self.schema), "metadata": metadata}
        object.__setattr__(self, "identity", replace(self.identity, columns=columns))
        if (seen := _asked_for.get()) is not None:
            seen.add(self.folder)

    @property
    def folder(self) -> Path:
        return self.layout.work(self.identity.stage, self.identity.digest)

    def open(self) -> Dataset:
        """The stored output. Raises NotMadeError when it was not made yet, CorruptDataError when it is broken."""
        return self._stored

    @cached_property
    def _stored(self) -> Dataset:
        """What lies under an identity never changes, so its manifest is read once."""
        if not self.folder.exists():
            raise NotMadeError(
                f"{self.identity.stage} of {self.belongs_to} is not made for its present inputs and settings; "
                f"materialize {self.identity.stage} first"
            )
        return dataset.open_folder(self.folder, self.schema)

    def make(self) -> Dataset:
        """The output as stored, or made now and published whole by one rename. Within `nothing_is_made`: `open`.

        The maker writes below the folder it is given; what its result does not name is removed before publication.
        What killed makers of the stage left behind is removed first.
        """
        if self.folder.exists() or not may_make():
            return self.open()
        gate = self.layout.work("locks", self.identity.stage)
        with being_made(self.folder, gate) as temporary:
            with at_work(self.identity.stage):
                made = self.maker(temporary)
            _keep_only(temporary, made)
            dataset.write_manifest(temporary, made, self.identity.as_json())
            try:
                temporary.rename(self.folder)
            except OSError:
                if not self.folder.exists():
                    raise
                # Another run published the same identity first; its bytes are the same by construction.
        return self.open()


_at_work = ""


@contextmanager
def at_work(stage: str) -> Iterator[None]:
    """Let progress that is told meanwhile, from any thread of this process, be of this stage."""
    global _at_work
    before, _at_work = _at_work, stage
    try:
        yield
    finally:
        _at_work = before


def stage_at_work() -> str:
    """The stage that this process makes now; empty where none says so."""
    return _at_work


@contextmanager
def nothing_is_made() -> Iterator[None]:
    """For who only looks: some plans make a small output before they can say what theirs is made of. Within this, what
    is not there is told as `Output.open` tells it.
    """
    token = _may_make.set(False)
    try:
        yield
    finally:
        _may_make.reset(token)


def may_make() -> bool:
    """Whether a plan may make what it needs: not within `nothing_is_made`."""
    return _may_make.get()


@contextmanager
def folders_asked_for() -> Iterator[set[Path]]:
    """The folders of all outputs that plans speak of meanwhile, those on the way included."""
    seen: set[Path] = set()
    token = _asked_for.set(seen)
    try:
        yield seen
    finally:
        _asked_for.reset(token)


@contextmanager
def being_made(out: Path, gate: Path) -> Iterator[Path]:
    """A temporary folder beside `out`, locked while it is in use and removed at the end, if it is still there."""
    temporary = out.with_name(f"{out.name}.{secrets.token_hex(4)}.tmp")
    with ExitStack() as held:
        with durable.one_at_a_time(gate):  # so that no run sweeps a folder before its owner has locked it
            _sweep(out.parent)
            held.enter_context(durable.one_at_a_time(lock_of(temporary)))
            held.callback(lock_of(temporary).unlink)  # before it is let go, and after the folder
            held.callback(shutil.rmtree, temporary, ignore_errors=True)
            temporary.mkdir()
        yield temporary


def being_made_now(out: Path) -> bool:
    """Whether a living process works on what will be `out`."""
    return any(durable.is_held(lock_of(folder)) for folder in out.parent.glob(f"{out.name}.*.tmp"))


def lock_of(temporary: Path) -> Path:
    """Held by who fills the temporary folder."""
    return temporary.with_name(f".{temporary.name}.lock")


def _sweep(stage: Path) -> None:
    """Remove the temporary folders of a stage whose makers are gone, and their locks."""
    for folder in stage.glob("*.tmp"):
        if not durable.is_held(lock_of(folder)):
            shutil.rmtree(folder, ignore_errors=True)
    for lock in stage.glob(".*.tmp.lock"):
        if not durable.is_held(lock):
            lock.unlink(missing_ok=True)


def _keep_only(folder: Path, made: Dataset) -> None:
    """Remove the steps that led to the result."""
    keep = {Path(shard.path) for shard in made.shards}
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path not in keep:
            path.unlink()


def buckets_for(rows: int, rows_per_bucket: int = 2_000_000) -> int:
    """How many buckets a sort of `rows` is cut into: a function of the data alone, never of the worker count."""
    return max(1, -(-rows // rows_per_bucket))
