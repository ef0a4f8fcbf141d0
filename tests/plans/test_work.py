"""Stage outputs by identity: made once, whole or not at all, by however many at the same time."""

import json
import multiprocessing
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.plans.work import Output, buckets_for, identity, stage_at_work
from formats import dataset
from formats.dataset import Dataset
from formats.errors import ConfigError, CorruptDataError, SchemaMismatchError
from formats.layout import Layout
from tests import faults
from tests.plans.tampering import as_they_lie

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False)])
SETTINGS = {"a": 1, "b": [2, 3]}


def write(folder: Path, rows: int = 3) -> Dataset:
    batch = pa.record_batch([pa.array(range(rows), pa.int64())], schema=SCHEMA)
    shard = dataset.write_shard(0, folder / "part-00000.parquet", [batch], SCHEMA, row_group_bytes=1 << 20)
    return Dataset(SCHEMA, (shard,), {"seen": rows})


def output(root: Path, maker: Any = write, **changes: Any) -> Output:
    schema = changes.pop("schema", SCHEMA)
    parts = {"settings": SETTINGS, "inputs": {"documents": "d" * 64}, "libraries": ("pyarrow",), **changes}
    ident = identity(parts.pop("stage", "doc_signals"), parts.pop("code_version", "1"), **parts)
    return Output(Layout(root), ident, schema, maker, "web@tiny.v1")


def test_an_output_is_made_once_and_read_back(tmp_path: Path) -> None:
    calls = []
    for _ in range(2):
        made = output(tmp_path, lambda folder: calls.append(folder) or write(folder)).make()
        assert made == output(tmp_path).open()
        assert dataset.read_table(made).column("k").to_pylist() == [0, 1, 2]
        assert made.notes == {"seen": 3}
    assert len(calls) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"stage": "filtered_docs"},
        {"code_version": "2"},
        {"settings": {**SETTINGS, "a": 2}},
        {"inputs": {"documents": "e" * 64}},
        {"inputs": {"signals": "d" * 64}},
        {"libraries": ("pyarrow", "numpy")},
        {"schema": SCHEMA.append(pa.field("n", pa.int64()))},
        {"schema": pa.schema([SCHEMA.field(0).with_name("rank")])},
        {"schema": pa.schema([SCHEMA.field(0).with_type(pa.int32())])},
        {"schema": pa.schema([SCHEMA.field(0).with_nullable(True)])},
        {"schema": SCHEMA.with_metadata({"version": "2"})},
    ],
)
def test_whatever_can_change_a_byte_gives_another_identity(tmp_path: Path, change: dict[str, Any]) -> None:
    assert output(tmp_path, **change).identity.digest != output(tmp_path).identity.digest


def test_another_schema_is_another_output_and_not_a_stored_one_that_is_refused(tmp_path: Path) -> None:
    """A column more in a stage's table makes its next build write that table, though the old one lies there."""
    output(tmp_path).make()
    wider = pa.schema([*SCHEMA, pa.field("n", pa.int64())])

    def make(folder: Path) -> Dataset:
        batch = pa.record_batch([pa.array([7]), pa.array([8])], schema=wider)
        path = folder / "part-00000.parquet"
        return Dataset(wider, (dataset.write_shard(0, path, [batch], wider, row_group_bytes=1 << 20),))

    assert dataset.read_table(output(tmp_path, make, schema=wider).make()).to_pylist() == [{"k": 7, "n": 8}]


def test_the_order_of_settings_and_libraries_is_no_part_of_an_identity(tmp_path: Path) -> None:
    one = output(tmp_path, libraries=("pyarrow", "numpy"))
    other = output(tmp_path, libraries=("numpy", "pyarrow"), settings=dict(reversed(SETTINGS.items())))
    assert one.identity.digest == other.identity.digest


def test_what_was_not_made_says_what_to_materialize(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"doc_signals of web@tiny\.v1 is not made .* materialize doc_signals first"):
        output(tmp_path).open()
    assert list(tmp_path.iterdir()) == []


def test_a_maker_that_raises_leaves_nothing_and_does_not_stop_the_next_one(tmp_path: Path) -> None:
    def fail(folder: Path) -> Dataset:
        write(folder)
        write(folder / "steps")
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        output(tmp_path, fail).make()
    assert list((tmp_path / "corpus/work/doc_signals").iterdir()) == []
    assert output(tmp_path).make().rows == 3


def test_the_stage_at_work_is_told_to_threads_too_and_no_longer_than_it_works(tmp_path: Path) -> None:
    """Also where one output is made on the way to another, and where a maker raises."""
    told: list[str] = []

    def look() -> None:
        thread = Thread(target=lambda: told.append(stage_at_work()))
        thread.start()
        thread.join()

    def inner(_folder: Path) -> Dataset:
        look()
        raise ConfigError("no")

    def outer(folder: Path) -> Dataset:
        with suppress(ConfigError):
            output(tmp_path, maker=inner, stage="inner").make()
        look()
        return write(folder)

    output(tmp_path, maker=outer, stage="outer").make()
    look()
    assert told == ["inner", "outer", ""]


def test_the_steps_to_a_result_are_not_kept(tmp_path: Path) -> None:
    def make(folder: Path) -> Dataset:
        write(folder / "sorted")
        (folder / "left-over.txt").write_text("x")
        return write(folder)

    made = output(tmp_path, make)
    made.make()
    assert {path.name for path in made.folder.iterdir()} == {"part-00000.parquet", dataset.MANIFEST}


def test_the_manifest_tells_what_an_output_was_made_of(tmp_path: Path) -> None:
    made = output(tmp_path)
    made.make()
    told = json.loads((made.folder / dataset.MANIFEST).read_bytes())["identity"]
    assert told == made.identity.as_json()
    assert told["settings"] == SETTINGS
    assert set(told["libraries"]) == {"pyarrow"}


BROKEN_MANIFESTS = {
    "cut": lambda data: data[:-20],
    "empty": lambda _: b"",
    "no JSON": lambda _: b"\xff\xfe{}",
    "of another kind": lambda _: b"[]",
    "of another format": lambda data: data.replace(b'"dataset"', b'"evidence"'),
    "without rows": lambda data: data.replace(b'"rows": 3', b'"rows": null'),
    "out of the folder": lambda data: data.replace(b"part-00000", b"../part-00000"),
}


@pytest.mark.parametrize("damage", BROKEN_MANIFESTS)
def test_a_broken_manifest_is_named_and_never_made_over(tmp_path: Path, damage: str) -> None:
    made = output(tmp_path)
    made.make()
    path = made.folder / dataset.MANIFEST
    path.write_bytes(BROKEN_MANIFESTS[damage](path.read_bytes()))
    before = as_they_lie(tmp_path)
    for action in ("open", "make"):
        with pytest.raises(CorruptDataError, match="delete its folder and materialize the stage again") as raised:
            getattr(output(tmp_path), action)()
        assert raised.value.path == str(path)
    assert as_they_lie(tmp_path) == before


def test_a_missing_manifest_and_other_columns_are_named(tmp_path: Path) -> None:
    made = output(tmp_path)
    stored = made.make()
    renamed = pa.schema([field.with_name(f"other_{field.name}") for field in stored.schema])
    dataset.write_manifest(made.folder, replace(stored, schema=renamed), made.identity.as_json())
    with pytest.raises(SchemaMismatchError, match="schema"):
        output(tmp_path).open()
    (made.folder / dataset.MANIFEST).unlink()
    with pytest.raises(CorruptDataError, match="manifest is missing"):
        output(tmp_path).open()


@pytest.mark.parametrize("at", [0, 40, -1])
def test_a_flipped_byte_of_a_shard_is_named_where_it_is_read(tmp_path: Path, at: int) -> None:
    made = output(tmp_path).make()
    faults.flip_byte(Path(made.shards[0].path), at)
    with pytest.raises(CorruptDataError, match=r"part-00000\.parquet: sha256 is"):
        dataset.read_table(output(tmp_path).open())


def _make_for_ever(root: Path, writing: Any) -> None:
    """A maker that has written half its rows, and waits."""

    def maker(folder: Path) -> Dataset:
        write(folder / "steps")
        writing.set()
        while True:
            signal.pause()

    output(root, maker).make()


def test_what_a_killed_maker_left_is_removed_when_its_stage_is_made_next(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writing = context.Event()
    process = context.Process(target=_make_for_ever, args=(tmp_path, writing))
    process.start()
    assert writing.wait(600)
    stage = tmp_path / "corpus/work/doc_signals"
    left = set(stage.iterdir())
    assert any((folder / "steps").is_dir() for folder in left)

    output(tmp_path, stage="documents").make()
    one = output(tmp_path, settings={"a": 3})
    one.make()
    assert set(stage.iterdir()) == {*left, one.folder}  # nothing of a maker that lives

    process.kill()
    process.join(600)
    other = output(tmp_path, settings={"a": 4})
    other.make()
    assert set(stage.iterdir()) == {one.folder, other.folder}


def test_a_folder_without_a_lock_and_a_lock_without_a_folder_are_left_overs_too(tmp_path: Path) -> None:
    stage = tmp_path / "corpus/work/doc_signals"
    write(stage / f"{'a' * 64}.0123abcd.tmp")
    (stage / f".{'b' * 64}.0123abcd.tmp.lock").touch()
    made = output(tmp_path)
    made.make()
    assert list(stage.iterdir()) == [made.folder]


def _make_together(root: Path, meet: Any, digests: Any) -> None:
    """Make the output; both makers are in the middle of it at the same moment."""

    def maker(folder: Path) -> Dataset:
        meet.wait(600)
        made = write(folder)
        meet.wait(600)
        return made

    digests.put(output(root, maker).make().digest)


def test_two_processes_that_make_one_output_at_once_give_one_whole_result(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    meet, digests = context.Barrier(2), context.Queue()
    processes = [context.Process(target=_make_together, args=(tmp_path, meet, digests)) for _ in range(2)]
    for process in processes:
        process.start()
    found = {digests.get(timeout=600) for _ in processes}
    for process in processes:
        process.join(600)
        assert process.exitcode == 0
    made = output(tmp_path)
    assert found == {made.open().digest}
    assert [path.name for path in made.folder.parent.iterdir()] == [made.identity.digest]
    assert dataset.read_table(made.open()).num_rows == 3


@pytest.mark.parametrize(("rows", "buckets"), [(0, 1), (1, 1), (10, 1), (11, 2), (20, 2), (21, 3)])
def test_buckets_grow_with_the_rows_alone(rows: int, buckets: int) -> None:
    assert buckets_for(rows, 10) == buckets
