"""Snapshots: named by their content, read back as written, refused when a byte is another."""

import json

import numpy as np
import pytest

from formats import durable
from formats.errors import ConfigError, CorruptDataError, SchemaMismatchError
from formats.order.order import Bucket
from formats.snapshot import manifest, token_shard
from formats.snapshot.manifest_rules import dtype_for
from tests import faults
from tests.formats.snapshot.made_snapshots import SEQ_LEN, document_of, make_snapshot, sequences_of


def test_a_snapshot_is_read_as_it_was_written(tmp_path):
    snapshot = make_snapshot(tmp_path)
    assert snapshot.snapshot_id == manifest.id_of(snapshot.document)
    assert snapshot.buckets("train") == [Bucket("books", (4,)), Bucket("web", (5, 3))]
    assert snapshot.buckets("val") == [Bucket("web", (1,))]
    assert [shard.name for shard in snapshot.shards("train")] == [
        "train/books/00000.bin", "train/web/00000.bin", "train/web/00001.bin",
    ]  # fmt: skip
    for split in manifest.SPLITS:
        for shard in snapshot.shards(split):
            found = token_shard.open_sequences(snapshot, shard, verify=True)
            assert np.array_equal(found, sequences_of(split, shard.bucket, shard.number, shard.sequences))


def test_tokens_that_change_before_the_manifest_is_written_are_refused(tmp_path, monkeypatch):
    def write_and_damage(path, data):
        whole(path, data)
        if path.suffix == ".bin":
            faults.flip_byte(path, 3)

    whole = durable.write_file
    monkeypatch.setattr(durable, "write_file", write_and_damage)
    snapshot = make_snapshot(tmp_path)
    with pytest.raises(CorruptDataError, match=r"\.bin: sha256"):
        token_shard.open_sequences(snapshot, snapshot.shards("train")[0], verify=True)


def test_one_shard_is_the_one_of_the_list(tmp_path):
    snapshot = make_snapshot(tmp_path, {("train", "books"): (4,), ("train", "web"): (5, 3), ("val", "web"): (1,)})
    for split in ("train", "val"):
        shards = snapshot.shards(split)
        assert [snapshot.shard(split, number) for number in range(snapshot.num_shards(split))] == shards


def test_equal_content_has_equal_names_and_other_content_another(tmp_path):
    first, second = make_snapshot(tmp_path / "a"), make_snapshot(tmp_path / "b")
    assert first.snapshot_id == second.snapshot_id
    assert make_snapshot(tmp_path / "c", tokens="other").snapshot_id != first.snapshot_id


def test_a_shard_opens_with_memmap_alone(tmp_path):
    snapshot = make_snapshot(tmp_path)
    shard = snapshot.shards("train")[1]
    found = np.memmap(snapshot.folder / shard.name, "<u2", "r").reshape(-1, SEQ_LEN)
    assert np.array_equal(found, sequences_of("train", "web", 0, 5))


def test_boundaries_are_those_of_the_documents_within_a_sequence(tmp_path):
    snapshot = make_snapshot(tmp_path)
    index = token_shard.read_index(snapshot, snapshot.shards("train")[2])  # web 1: 3 sequences, 21 tokens
    assert token_shard.boundaries(index, 0, SEQ_LEN) == [(0, 5, "web:100"), (5, 8, "web:101")]
    assert token_shard.boundaries(index, 1, SEQ_LEN) == [(0, 2, "web:101"), (2, 7, "web:102"), (7, 8, "web:103")]
    assert token_shard.boundaries(index, 2, SEQ_LEN) == [(0, 4, "web:103"), (4, 5, "web:104")]


@pytest.mark.parametrize("at", [0, 40, -1])
def test_a_flipped_byte_of_a_shard_is_reported(tmp_path, at):
    snapshot = make_snapshot(tmp_path)
    shard = snapshot.shards("train")[0]
    faults.flip_byte(snapshot.folder / shard.name, at)
    with pytest.raises(CorruptDataError, match="sha256"):
        token_shard.open_sequences(snapshot, shard, verify=True)


@pytest.mark.parametrize("at", [0, 200, -1])
def test_a_flipped_byte_of_an_index_or_a_manifest_is_reported(tmp_path, at):
    snapshot = make_snapshot(tmp_path)
    shard = snapshot.shards("train")[0]
    faults.flip_byte(snapshot.folder / shard.index_name, at)
    with pytest.raises(CorruptDataError, match="sha256"):
        token_shard.read_index(snapshot, shard)
    faults.flip_byte(snapshot.folder / manifest.NAME_ON_DISK, at)
    with pytest.raises(CorruptDataError, match="sha256"):
        manifest.read(tmp_path, snapshot.snapshot_id)


def test_a_short_or_missing_shard_is_reported_without_reading_it(tmp_path):
    snapshot = make_snapshot(tmp_path)
    first, second, _ = snapshot.shards("train")
    faults.truncate(snapshot.folder / first.name, 1)
    (snapshot.folder / second.name).unlink()
    for shard, says in ((first, "length is 63, expected 64"), (second, "file is missing, expected 80 bytes")):
        with pytest.raises(CorruptDataError, match=says):
            token_shard.open_sequences(snapshot, shard)


@pytest.mark.parametrize("name", ["", "sha256:", "sha256:" + "A" * 64, "../" + "a" * 64, "a" * 64, "sha256:../../etc"])
def test_what_is_no_id_never_becomes_a_path(tmp_path, name):
    with pytest.raises(ConfigError, match="64 hex digits"):
        manifest.read(tmp_path, name)


def test_a_snapshot_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CorruptDataError, match="missing"):
        manifest.read(tmp_path, "sha256:" + "a" * 64)


@pytest.mark.parametrize(("change", "field"), [
    ({"version": 2}, "format and version"),
    ({"format": "corpus"}, "format and version"),
    ({"seq_len": 0}, "seq_len"),
    ({"seq_len": "8"}, "seq_len"),
    ({"dtype": "<u4"}, "dtype"),
    ({"vocab_size": 65_537}, "dtype"),
    ({"eos_id": 60_000}, "eos_id"),
    ({"pad_id": -1}, "pad_id"),
    ({"splits": {"train": {}}}, "splits"),
    ({"splits": {"train": {"web": {}}, "val": {}}}, "splits.train.web"),
    ({"more": 1}, "keys"),
])  # fmt: skip
def test_a_manifest_that_is_wrong_is_refused_by_the_first_key_that_is(tmp_path, change, field):
    with pytest.raises(SchemaMismatchError) as caught:
        manifest.write(tmp_path, document_of([], **change))
    assert caught.value.field == field
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("column", "value"), [
    ("sequences", [5, -1]), ("sequences", [5]), ("tokens", [41, 24]), ("documents", [1, 1.5]), ("sha256", ["a", "b"]),
    ("sha256", ["a" * 64 + "\n" + "b" * 64, "c" * 64]), ("tokens", [True, 24]),
])  # fmt: skip
def test_wrong_columns_are_refused(tmp_path, column, value):
    document = json.loads(json.dumps(make_snapshot(tmp_path).document))
    document["splits"]["train"]["web"][column] = value
    with pytest.raises(SchemaMismatchError, match=r"splits\.train\.web"):
        manifest.validate(document)


def test_the_dtype_holds_every_id():
    assert [dtype_for(size) for size in (1, 65_536, 65_537, 200_000)] == ["<u2", "<u2", "<u4", "<u4"]
