"""Datasets: bytes depend on rows alone, and nothing short or changed is read as fewer rows."""

import errno
import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats import canonical, dataset, durable
from formats.dataset import Dataset, Shard
from formats.errors import CorruptDataError, SchemaMismatchError
from tests import faults

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("text", pa.large_string())])


def batch(*texts: str | None, first: int = 0) -> pa.RecordBatch:
    columns = [pa.array(range(first, first + len(texts)), pa.int64()), pa.array(texts, pa.large_string())]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def write(path: Path, *batches: pa.RecordBatch, row_group_bytes: int = 1 << 20, shard_id: int = 0) -> Shard:
    return dataset.write_shard(shard_id, path, batches, SCHEMA, row_group_bytes=row_group_bytes)


def stored(folder: Path) -> Dataset:
    """A dataset of two shards, 0 and 3, in `folder`."""
    shards = tuple(
        write(folder / f"part-{i:05d}.parquet", batch("a hen", None, "sits", first=i), shard_id=i) for i in (0, 3)
    )
    made = Dataset(SCHEMA, shards, {"dropped": 2})
    dataset.write_manifest(folder, made, {"stage": "test"})
    return made


@given(
    st.lists(st.none() | st.text(max_size=9), max_size=20),
    st.lists(st.integers(0, 20), max_size=5),
    st.sampled_from([1, 24, 40, 1 << 20]),
    st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_how_rows_come_batched_never_shows(tmp_path_factory, texts, cuts, group, before):
    folder = tmp_path_factory.mktemp("cut")
    rows = batch(*texts)
    bounds = sorted({0, len(texts), *(min(cut, len(texts)) for cut in cuts)})
    pieces = (
        [batch(*("x" * before, *texts)[1:]).slice(a, z - a) for a, z in itertools.pairwise(bounds)] if before else []
    )
    pieces = pieces or [rows.slice(a, z - a) for a, z in itertools.pairwise(bounds)]
    whole, cut = write(folder / "a", rows, row_group_bytes=group), write(folder / "b", *pieces, row_group_bytes=group)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    assert (whole.rows, whole.sha256, whole.num_bytes) == (cut.rows, cut.sha256, cut.num_bytes)
    assert dataset.read_table(Dataset(SCHEMA, (whole,))).to_pydict() == rows.to_pydict()


@pytest.mark.parametrize("writer", [dataset.write_shard, dataset.write_plain_shard])
def test_many_pages_of_rows_give_the_same_bytes_however_batched(tmp_path, writer):
    """Enough rows for several Parquet pages, which are cut where chunks end."""
    texts = [f"{i * i} hens" * (i % 40) for i in range(20_000)]
    whole = batch(*texts)
    pieces = [whole.slice(i, 37) for i in range(0, len(texts), 37)]
    one = writer(0, tmp_path / "a", [whole], SCHEMA, row_group_bytes=1 << 20)
    assert one.sha256 == writer(0, tmp_path / "b", pieces, SCHEMA, row_group_bytes=1 << 20).sha256
    assert dataset.read_table(Dataset(SCHEMA, (one,))).equals(pa.Table.from_batches([whole]))


@given(st.lists(st.none() | st.text(max_size=9), max_size=20), st.integers(0, 20))
def test_a_row_weighs_its_strings_and_eight_bytes_a_number(texts, first):
    rows = batch(*texts).slice(first)
    expected = [8 + len((text or "").encode()) for text in texts[first:]]
    assert dataset.row_sizes(rows).tolist() == expected


def test_a_plain_shard_is_not_compressed(tmp_path):
    dataset.write_plain_shard(0, tmp_path / "a", [batch("a hen " * 1000)], SCHEMA, row_group_bytes=1 << 20)
    group = pq.read_metadata(tmp_path / "a").row_group(0)
    assert {group.column(i).compression for i in range(group.num_columns)} == {"UNCOMPRESSED"}


@given(st.lists(st.integers(0, 30), max_size=30), st.integers(1, 60))
def test_row_groups_are_filled_greedily(sizes, limit):
    rows = batch(*("x" * size for size in sizes))
    groups: list[int] = []
    room = -1
    for size in sizes:
        if groups and 8 + size <= room:
            groups[-1] += 1
        else:
            groups.append(1)
            room = limit
        room -= 8 + size
    assert [table.num_rows for table in dataset.cut_row_groups([rows], SCHEMA, limit)] == groups


def test_batches_never_span_row_groups(tmp_path):
    shard = write(tmp_path / "a", batch(*["hen"] * 5), row_group_bytes=22)
    assert [b.num_rows for b in dataset.read_shard(shard)] == [2, 2, 1]
    assert [b.num_rows for b in dataset.read_shard(shard, batch_rows=1)] == [1] * 5


def test_columns_come_in_the_order_asked_for(tmp_path):
    made = Dataset(SCHEMA, (write(tmp_path / "a", batch("x")),))
    assert dataset.read_table(made, columns=["text", "k"]).column_names == ["text", "k"]


def test_a_failed_write_leaves_nothing(tmp_path):
    def broken() -> Any:
        yield batch("x")
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        dataset.write_shard(0, tmp_path / "sub" / "a", broken(), SCHEMA, row_group_bytes=9)
    assert list((tmp_path / "sub").iterdir()) == []


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (batch("x").select(["text", "k"]), "columns"),
        (batch("x").drop_columns(["text"]), "columns"),
        (batch("x").set_column(0, "k", pa.array([None], pa.int64())), "k"),
        (batch("x").set_column(0, "k", pa.array([2**63], pa.uint64())), "k"),
        (batch("x").set_column(1, "text", pa.array([[1]])), "text"),
    ],
)
def test_rows_of_another_schema_are_refused_by_column(tmp_path, bad, field):
    with pytest.raises(SchemaMismatchError, match=f"{field} is"):
        write(tmp_path / "a", bad)
    assert list(tmp_path.iterdir()) == []


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


def test_a_shard_that_its_hash_vouches_for_is_still_held_to_its_rows(tmp_path):
    shard = stored(tmp_path).shards[0]
    with pytest.raises(CorruptDataError, match="rows is 3, expected 4"):
        list(dataset.read_shard(Shard(0, shard.path, 4, shard.num_bytes, shard.sha256)))
    junk = tmp_path / "junk"
    junk.write_bytes(b"PAR1 is not all there is PAR1")
    with pytest.raises(CorruptDataError, match="content"):
        list(dataset.read_shard(Shard(0, str(junk), 1, junk.stat().st_size, durable.sha256_of(junk))))


def test_pages_that_cannot_be_decompressed_are_corrupt_data(tmp_path):
    path = tmp_path / "a"
    write(path, batch(*[f"{i} hens" for i in range(999)]))
    offset = pq.ParquetFile(path).metadata.row_group(0).column(1).data_page_offset
    for at in range(offset + 40, offset + 60):
        faults.flip_byte(path, at)
    with pytest.raises(CorruptDataError, match="content is"):
        list(dataset.read_shard(Shard(0, str(path), 999, path.stat().st_size, durable.sha256_of(path))))


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


def test_a_byte_that_changes_while_a_shard_is_written_is_refused_by_its_first_reader(tmp_path):
    def batches():
        yield batch("".join(map(str, range(20_000))))
        yield batch("b", first=1)
        yield batch("c", first=2)  # by now the first row group is on the disk
        faults.flip_byte(next(tmp_path.glob(".*.tmp")), 100)

    shard = dataset.write_shard(0, tmp_path / "part-00000.parquet", batches(), SCHEMA, row_group_bytes=1)
    with pytest.raises(CorruptDataError, match="sha256"):
        next(dataset.read_shard(shard))


def test_what_arrow_cannot_write_names_the_file(tmp_path, monkeypatch):
    """Arrow's error of a full disk has its number, and no name."""

    class Full(pq.ParquetWriter):
        def write_table(self, *_: Any, **__: Any) -> None:
            raise OSError(errno.ENOSPC, "Error writing bytes to file")

    monkeypatch.setattr(pq, "ParquetWriter", Full)
    with pytest.raises(OSError, match="part-00000") as raised:
        write(tmp_path / "part-00000.parquet", batch("x"))
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(tmp_path / "part-00000.parquet"))
    assert list(tmp_path.iterdir()) == []


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
