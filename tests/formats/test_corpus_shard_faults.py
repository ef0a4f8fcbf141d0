"""Writers that fail or are killed, and shards that changed since they were written."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from formats import corpus_manifest, durable
from formats.corpus_shard import Doc, read_shards, shard_name, write_shards
from formats.errors import CorruptDataError
from tests import faults
from tests.formats.made_docs import SETTINGS, doc, files_of


def test_a_failed_run_leaves_the_old_output_and_no_scraps(tmp_path, monkeypatch):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    before = files_of(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(corpus_manifest, "write", full)
    with pytest.raises(OSError, match="space"):
        write_shards([doc(i) for i in range(5)], tmp_path / "c", **SETTINGS)
    assert files_of(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


KILLED = """
import os, sys, shutil
from pathlib import Path
from tests.formats.made_docs import SETTINGS, doc
from formats.corpus_shard import write_shards
left = int(sys.argv[2])
def counted(real):
    def step(*args, **kwargs):
        global left
        if left == 0:
            os._exit(9)
        left -= 1
        return real(*args, **kwargs)
    return step
Path.rename, Path.replace, shutil.rmtree = map(counted, (Path.rename, Path.replace, shutil.rmtree))
write_shards([doc(7), doc(8), doc(9)], sys.argv[1], **SETTINGS)
"""


@pytest.mark.slow
def test_a_kill_before_any_rename_or_deletion_leaves_the_old_or_the_new(tmp_path):
    out = tmp_path / "c"
    seen = set()
    for step in range(20):
        write_shards([doc(0)], out, **SETTINGS)
        old = files_of(out)
        root = Path(__file__).parents[2]
        done = subprocess.run([sys.executable, "-c", KILLED, str(out), str(step)], cwd=root, check=False)
        with pytest.raises(ValueError, match="url"):
            write_shards(
                [Doc("a:0", "x", "a", {"license_spdx": "MIT"})], out, **SETTINGS
            )  # a start that goes no further
        assert [path.name for path in tmp_path.iterdir()] == ["c"]
        ids = [d.id for d in read_shards(out)]
        seen.add(tuple(ids))
        assert files_of(out) == old or ids == ["farm:7", "farm:8", "farm:9"]
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert seen == {("farm:0",), ("farm:7", "farm:8", "farm:9")}


def test_what_a_killed_run_set_aside_is_put_back_at_the_next_start(tmp_path):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    before = files_of(tmp_path / "c")
    (tmp_path / "c").rename(tmp_path / "c.old")
    (tmp_path / "c.tmp").mkdir()
    (tmp_path / "c.tmp" / "half").write_text("half")
    with pytest.raises(ValueError, match="shard_rows"):
        write_shards([], tmp_path / "c", **{**SETTINGS, "shard_rows": 0})
    assert files_of(tmp_path) == {f"c/{name}": data for name, data in before.items()}


def changes() -> list[str]:
    return list(faults.every_change(b"0123456789"))


@pytest.mark.parametrize("change", changes())
def test_a_changed_shard_is_reported_by_hash_before_a_document_is_given(tmp_path, change):
    write_shards([doc(0), doc(1), doc(2)], tmp_path / "c", **SETTINGS)
    path = tmp_path / "c" / shard_name(1, 2)
    path.write_bytes(faults.every_change(path.read_bytes())[change])
    docs = read_shards(tmp_path / "c")
    assert [next(docs).id, next(docs).id] == ["farm:0", "farm:1"]
    with pytest.raises(CorruptDataError, match="sha256"):
        next(docs)


def test_a_rewritten_shard_is_refused_though_its_rows_are_equal(tmp_path):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    faults.rewrite_parquet(tmp_path / "c" / shard_name(0, 1))
    with pytest.raises(CorruptDataError, match="sha256"):
        list(read_shards(tmp_path / "c"))


def forge(out: Path, table: pa.Table | bytes) -> None:
    """Put other content into the only shard, with its right hash in the manifest."""
    manifest = corpus_manifest.read(out)
    path = out / manifest["shards"][0]["name"]
    if isinstance(table, bytes):
        path.write_bytes(table)
    else:
        pq.write_table(table, path)
    manifest["shards"][0]["sha256"] = durable.sha256_of(path)
    corpus_manifest.write(out, manifest)


def test_a_shard_that_its_hash_vouches_for_is_still_held_to_columns_and_rows(tmp_path):
    out = tmp_path / "c"
    write_shards([doc(0), doc(1)], out, **SETTINGS)
    table = pq.read_table(out / shard_name(0, 1))
    for forged, field in {
        "rows": table.slice(1),
        "columns": table.drop_columns(["lang"]),
        "column n_chars": table.set_column(6, "n_chars", table["n_chars"].cast(pa.int64())),
        "schema metadata": table.replace_schema_metadata({"a": "b"}),
        "content": b"PAR1 not really PAR1",
    }.items():
        forge(out, field)
        with pytest.raises(CorruptDataError, match=forged):
            list(read_shards(out))


def test_a_missing_shard_and_a_missing_manifest_are_named(tmp_path):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    (tmp_path / "c" / shard_name(0, 1)).unlink()
    with pytest.raises(CorruptDataError, match="shard-00000-of-00001"):
        list(read_shards(tmp_path / "c"))
    with pytest.raises(CorruptDataError, match="_MANIFEST"):
        read_shards(tmp_path / "nothing")
