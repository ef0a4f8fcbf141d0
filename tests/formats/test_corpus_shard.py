"""Corpus shards: the contract's sentences."""

import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.corpus_shard import SCHEMA, Doc, name_pattern, permilles, read_shards, shard_name, split_of, write_shards
from tests.formats.made_docs import META, SETTINGS, column, doc, files_of
from tests.golden import make_corpus_shard as golden


def test_worked_example_of_the_spec(tmp_path):
    manifest = write_shards(golden.DOCS, tmp_path / "toy", **golden.SETTINGS)
    out = tmp_path / "toy"
    assert column(out, "id") == ["books:0", "web:10", "web:2"]
    assert column(out, "minhash_cluster") == [0, 1, 1]
    assert column(out, "split") == ["val", "train", "train"]
    assert column(out, "pii_redactions") == [0, 1, 0]
    assert column(out, "lang") == ["und", "en", "en"]
    assert column(out, "sha256")[0] == hashlib.sha256(b"Mia naps.").digest()
    assert permilles(pa.array(column(out, "sha256"), pa.binary(32))).tolist() == [248, 826, 697]
    assert [shard["rows"] for shard in manifest["shards"]] == [2, 1]
    assert manifest["pii"] == {"emails": 1, "phones": 0, "cards": 0, "ips": 0, "keys": 0}
    assert [d.id for d in read_shards(out, "val")] == ["books:0"]


def test_bytes_of_the_worked_example_are_the_golden_ones(tmp_path):
    expected, found = json.loads(golden.GOLDEN.read_text()), golden.digests(tmp_path / "toy")
    assert found["logical"] == expected["logical"]
    assert found == expected, "pyarrow is another one? then run python -m tests.golden.make_corpus_shard"


@pytest.mark.parametrize(("permille", "split"), [(248, "train"), (249, "val"), (0, "train"), (1000, "val")])
def test_permille_itself_is_train(permille, split):
    assert split_of(hashlib.sha256(b"Mia naps.").digest(), permille) == split


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=20), st.integers(0, 1000), st.integers(0, 5))
def test_permilles_say_what_split_of_says(digests, val_permille, start):
    rows = pa.array(digests, pa.binary(32))[start:]
    expected = [split_of(digest, val_permille) == "val" for digest in digests[start:]]
    assert (permilles(rows) < val_permille).tolist() == expected


def test_a_shard_holds_the_pinned_columns_and_no_metadata(tmp_path):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    file = pq.ParquetFile(tmp_path / "c" / shard_name(0, 1))
    assert file.schema_arrow == SCHEMA
    assert file.schema_arrow.metadata is None
    assert all(field.nullable for field in file.schema_arrow)
    assert {file.metadata.row_group(0).column(i).compression for i in range(len(SCHEMA))} == {"ZSTD"}


def test_an_empty_corpus_has_one_empty_shard(tmp_path):
    manifest = write_shards([], tmp_path / "c", **SETTINGS)
    assert (manifest["n_docs"], manifest["n_shards"], manifest["shards"][0]["rows"]) == (0, 1, 0)
    assert list(read_shards(tmp_path / "c")) == []
    assert pq.read_table(tmp_path / "c" / manifest["shards"][0]["name"]).schema == SCHEMA


@pytest.mark.parametrize(("docs", "rows"), [(1, [1]), (2, [2]), (3, [2, 1]), (4, [2, 2])])
def test_shards_are_cut_every_shard_rows(tmp_path, docs, rows):
    manifest = write_shards([doc(i) for i in range(docs)], tmp_path / "c", **SETTINGS)
    assert [shard["rows"] for shard in manifest["shards"]] == rows


def test_names_of_more_than_99999_shards_stay_whole():
    assert shard_name(123456, 200000) == "shard-123456-of-200000.parquet"
    assert name_pattern(7).format(id=3) == "shard-00003-of-00007.parquet"


def test_ids_sort_as_utf8_bytes(tmp_path):
    ids = ["a:10", "a:2", "\U00010000:0", "\uffff:0", "A:0", "é:0", "a\x00:1"]
    write_shards([Doc(i, "x", "s", META) for i in ids], tmp_path / "c", **SETTINGS)
    assert column(tmp_path / "c", "id") == sorted(ids, key=str.encode)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({}, [0, 1, 2, 3]),
        ({2: "farm:2", 3: "farm:2"}, [0, 1, 2, 2]),
        ({1: "gone:9", 3: "gone:9"}, [0, 1, 2, 1]),  # the root itself was dropped
        ({0: "farm:3"}, [0, 1, 2, 0]),  # the root names no cluster: it is in its own
        ({0: 7, 2: 7}, [0, 1, 0, 3]),  # as read from other shards
    ],
)
def test_minhash_cluster_is_the_first_row_of_the_cluster(tmp_path, named, expected):
    docs = [doc(i, minhash_cluster=named.get(i)) for i in range(4)]
    write_shards(docs, tmp_path / "c", **SETTINGS)
    assert column(tmp_path / "c", "minhash_cluster") == expected


def test_pii_counts_are_summed_by_kind_and_row(tmp_path):
    docs = [doc(0, pii={"email": 2, "key": 1}), doc(1, pii={"email": 1}, pii_redactions=1), doc(2, pii_redactions=4)]
    manifest = write_shards(docs, tmp_path / "c", **SETTINGS)
    assert manifest["pii"] == {"emails": 3, "phones": 0, "cards": 0, "ips": 0, "keys": 1}
    assert column(tmp_path / "c", "pii_redactions") == [3, 1, 4]


def test_what_was_read_can_be_written_again_as_the_same_shards(tmp_path):
    write_shards([doc(i, minhash_cluster="farm:1") for i in range(3)], tmp_path / "a", **SETTINGS)
    write_shards(read_shards(tmp_path / "a"), tmp_path / "b", **SETTINGS)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_a_version_may_be_written_from_itself(tmp_path):
    write_shards([doc(i) for i in range(3)], tmp_path / "c", **SETTINGS)
    before = files_of(tmp_path)
    write_shards(read_shards(tmp_path / "c"), tmp_path / "c", **SETTINGS)
    assert files_of(tmp_path) == before
