"""Datasets: found again as they were written, and a changed shard or manifest is refused by name."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from formats import canonical, dataset
from formats.dataset import Dataset
from formats.errors import CorruptDataError, SchemaMismatchError
from tests import faults
from tests.formats.made_shards import SCHEMA, batch, write


def stored(folder: Path) -> Dataset:
    """A dataset of two shards, 0 and 3, in `folder`."""
    shards = tuple(
        write(folder / f"part-{i:05d}.parquet", batch("a hen", None, "sits", first=i), shard_id=i) for i in (0, 3)
    )
    made = Dataset(SCHEMA, shards, {"dropped": 2})
    dataset.write_manifest(folder, made, {"stage": "test"})
    return made


def test_columns_come_in_the_order_asked_for(tmp_path):
    made = Dataset(SCHEMA, (write(tmp_path / "a", batch("x")),))
    assert dataset.read_table(made, columns=["text", "k"]).column_names == ["text", "k"]


def test_a_dataset_is_found_again_as_it_was_written(tmp_path):
    made = stored(tmp_path)
    found = dataset.open_folder(tmp_path, SCHEMA)
    assert found == made
    assert [row["k"] for row in dataset.read_table(found).to_pylist()] == [0, 1, 2, 3, 4, 5]
    assert (found.rows, found.shard(3), found.shard(1)) == (6, made.shards[1], None)


def test_the_digest_names_content_not_place(tmp_path):
    here, there = stored(tmp_path / "here"), stored(tmp_path / "there")
    assert here.digest == there.digest
    shorter = Dataset(SCHEMA, here.shards[:1])
    renamed = Dataset(SCHEMA.set(0, pa.field("n", pa.int64(), nullable=False)), here.shards)
    assert len({here.digest, shorter.digest, renamed.digest}) == 3


def test_concat_renumbers_and_refuses_another_schema(tmp_path):
    one = stored(tmp_path)
    assert [shard.id for shard in dataset.concat([one, one]).shards] == [0, 1, 2, 3]
    with pytest.raises(SchemaMismatchError):
        dataset.concat([one, Dataset(SCHEMA.remove(1), ())])


@pytest.mark.parametrize("change", faults.every_change(b"0123456789"))
def test_a_changed_shard_is_reported_by_length_or_hash(tmp_path, change):
    made = stored(tmp_path)
    path = Path(made.shards[1].path)
    path.write_bytes(faults.every_change(path.read_bytes())[change])
    with pytest.raises(CorruptDataError, match=rf"{path.name}: (length|sha256) is"):
        dataset.read_table(made)


def test_a_missing_shard_is_named(tmp_path):
    made = stored(tmp_path)
    Path(made.shards[0].path).unlink()
    with pytest.raises(CorruptDataError, match="part-00000"):
        dataset.read_table(made)


def manifest_with(**keys: Any) -> Any:
    return lambda manifest: {**manifest, **keys}


def shard_with(**keys: Any) -> Any:
    return lambda manifest: {**manifest, "shards": [{**manifest["shards"][0], **keys}, manifest["shards"][1]]}


BAD_MANIFESTS = {
    "another format": manifest_with(format="evidence"),
    "a newer version": manifest_with(version=3),
    "no shards": lambda manifest: {k: v for k, v in manifest.items() if k != "shards"},
    "shards are a number": manifest_with(shards=3),
    "notes are a number": manifest_with(notes=3),
    "a list": lambda manifest: [manifest],
    "null": lambda _: None,
    "another column": manifest_with(schema=[["k", "int64", False]]),
    "ids repeat": shard_with(id=3),
    "ids descend": shard_with(id=4),
    "id is text": shard_with(id="0"),
    "rows are negative": shard_with(rows=-1),
    "rows are true": shard_with(rows=True),
    "a way out": shard_with(name="../part-00000.parquet"),
    "an absolute way out": shard_with(name="/part-00000.parquet"),
    "name is a number": shard_with(name=7),
}


@pytest.mark.parametrize("name", BAD_MANIFESTS)
def test_bad_manifest_is_refused(tmp_path, name):
    stored(tmp_path)
    path = tmp_path / dataset.MANIFEST
    bad = BAD_MANIFESTS[name](json.loads(path.read_bytes()))
    if isinstance(bad, dict):  # its own digest is right, so that it is refused for what it says
        bad["sha256"] = canonical.digest({key: value for key, value in bad.items() if key != "sha256"})
    path.write_text(json.dumps(bad))
    with pytest.raises(CorruptDataError, match=r"_DATASET\.json: (?!sha256)"):
        dataset.open_folder(tmp_path, SCHEMA)


@pytest.mark.parametrize(
    ("said", "instead"), [('"dropped": 2', '"dropped": 3'), ('"id": 3', '"id": 7'), ("test", "rest")]
)
def test_a_digit_changed_in_a_manifest_that_is_still_valid_is_refused(tmp_path, said, instead):
    """Notes are published as counts, and shards of two stages are joined by id: neither has a hash of its own."""
    stored(tmp_path)
    path = tmp_path / dataset.MANIFEST
    text = path.read_text()
    assert text.count(said) == 1
    path.write_text(text.replace(said, instead))
    with pytest.raises(CorruptDataError, match=r"_DATASET\.json: sha256 of its other keys is"):
        dataset.open_folder(tmp_path, SCHEMA)


@pytest.mark.parametrize("change", faults.every_change(b"0123456789"))
def test_no_damage_of_a_manifest_is_read(tmp_path, change):
    """Not even what says the same: a file without its last byte is short."""
    stored(tmp_path)
    path = tmp_path / dataset.MANIFEST
    path.write_bytes(faults.every_change(path.read_bytes())[change])
    with pytest.raises(CorruptDataError, match=r"_DATASET\.json"):
        dataset.open_folder(tmp_path, SCHEMA)


def test_a_manifest_without_its_digest_is_refused(tmp_path):
    stored(tmp_path)
    path = tmp_path / dataset.MANIFEST
    manifest = json.loads(path.read_bytes())
    del manifest["sha256"]
    path.write_text(json.dumps(manifest))
    with pytest.raises(CorruptDataError, match=r"_DATASET\.json"):
        dataset.open_folder(tmp_path, SCHEMA)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", None])
def test_unreadable_or_missing_manifest_is_refused(tmp_path, data):
    if data is not None:
        (tmp_path / dataset.MANIFEST).write_bytes(data)
    with pytest.raises(CorruptDataError, match=r"_DATASET\.json"):
        dataset.open_folder(tmp_path, SCHEMA)


def test_digest_is_the_canonical_json_of_schema_and_shards(tmp_path):
    made = stored(tmp_path)
    shards = [[shard.id, shard.rows, shard.sha256] for shard in made.shards]
    schema = [["k", "int64", False], ["text", "large_string", True]]
    assert made.digest == canonical.digest({"schema": schema, "shards": shards})
