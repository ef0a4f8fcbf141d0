"""Parquet files: written whole or not at all, and nothing short or changed is read as fewer rows."""

import errno
from typing import Any

import pyarrow.parquet as pq
import pytest

from formats import dataset, durable
from formats.errors import CorruptDataError
from formats.parquet_file import Shard
from tests import faults
from tests.formats.made_shards import SCHEMA, batch, write


def test_a_plain_shard_is_not_compressed(tmp_path):
    dataset.write_plain_shard(0, tmp_path / "a", [batch("a hen " * 1000)], SCHEMA, row_group_bytes=1 << 20)
    group = pq.read_metadata(tmp_path / "a").row_group(0)
    assert {group.column(i).compression for i in range(group.num_columns)} == {"UNCOMPRESSED"}


def test_batches_never_span_row_groups(tmp_path):
    shard = write(tmp_path / "a", batch(*["hen"] * 5), row_group_bytes=22)
    assert [b.num_rows for b in dataset.read_shard(shard)] == [2, 2, 1]
    assert [b.num_rows for b in dataset.read_shard(shard, batch_rows=1)] == [1] * 5


def test_a_failed_write_leaves_nothing(tmp_path):
    def broken() -> Any:
        yield batch("x")
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        dataset.write_shard(0, tmp_path / "sub" / "a", broken(), SCHEMA, row_group_bytes=9)
    assert list((tmp_path / "sub").iterdir()) == []


def test_a_shard_that_its_hash_vouches_for_is_still_held_to_its_rows(tmp_path):
    shard = write(tmp_path / "a", batch("a hen", None, "sits"))
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
