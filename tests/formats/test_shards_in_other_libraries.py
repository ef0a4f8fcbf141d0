"""Corpus shards open in the libraries that people have: columns, types, rows and their order."""

import duckdb
import pytest

from formats import corpus_shard
from formats.corpus_shard import Doc, read_shards, write_shards

TEXTS = ["Tom has a red ball.", "\u00a1Hola! \u4f60\u597d \U0001f43b", "", "A line\nand\tanother\u0000.", "x" * 70_000]
NAMES = corpus_shard.SCHEMA.names


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """(the shards' folder, its rows in order)."""
    folder = tmp_path_factory.mktemp("corpus") / "made"
    docs = [
        Doc(f"web:{k}", f"{text} {k}", "web", {"url": f"https://made.test/{k}", "license_spdx": "CC0-1.0"})
        for k, text in enumerate(TEXTS * 3)
    ]
    write_shards(docs, folder, dataset="made", version="v1", shard_rows=4)
    return folder, list(read_shards(folder))


def held(found, docs):
    """Texts, ids and digests are those written, in order."""
    assert [row["id"] for row in found] == [doc.id for doc in docs]
    assert [row["text"] for row in found] == [doc.text for doc in docs]
    assert [row["n_chars"] for row in found] == [len(doc.text) for doc in docs]
    assert all(row["source_id"] == "web" and row["license_spdx"] == "CC0-1.0" for row in found)
    assert all(len(row["sha256"]) == 32 for row in found)


def test_duckdb(shards):
    folder, docs = shards
    answer = duckdb.sql(f"select * from read_parquet('{folder}/shard-*.parquet') order by id")
    assert answer.columns == NAMES
    held([dict(zip(NAMES, row, strict=True)) for row in answer.fetchall()], docs)


def test_polars(shards):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    folder, docs = shards
    frame = polars.read_parquet(f"{folder}/shard-*.parquet")
    assert frame.columns == NAMES
    held(frame.to_dicts(), docs)


def test_hugging_face_datasets(shards, tmp_path):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    folder, docs = shards
    files = sorted(str(path) for path in folder.glob("shard-*.parquet"))
    where = {"data_files": files, "split": "train", "cache_dir": tmp_path}
    for streaming in (False, True):
        read = datasets.load_dataset("parquet", streaming=streaming, **where)
        assert read.column_names == NAMES
        held(list(read), docs)
